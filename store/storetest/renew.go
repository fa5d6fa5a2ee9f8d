package storetest

import "github.com/watermill-dedup/watermill-dedup/store"

var renewCases = []testCase{
	{
		name: "RenewOwn",
		rule: "Renew by the owner answers acquired and restarts the lease.",
		check: func(p *probe) {
			first := p.now()
			p.claim(job, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			second := p.now()
			p.before(first+2*p.unit, func() { p.renew(job, "a", 2*p.unit, store.Acquired) })
			p.wait(p.unit + p.unit/2)
			p.before(second+2*p.unit, func() { p.claim(job, "b", minute, store.Held) })
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "RenewTwice",
		rule: "Renew may be sent twice and answers acquired both times.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.renew(job, "a", minute, store.Acquired)
			p.renew(job, "a", minute, store.Acquired)
		},
	},
	{
		name: "RenewFree",
		rule: "Renew of a key that nobody claimed answers free and creates nothing.",
		check: func(p *probe) {
			p.renew(job, "a", minute, store.Free)
			p.renew(job, "a", minute, store.Free)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "RenewExpired",
		rule: "Renew after the lease has passed answers free and does not bring the claim back.",
		check: func(p *probe) {
			p.claim(job, "a", p.unit, store.Acquired)
			p.wait(p.unit)
			p.renew(job, "a", minute, store.Free)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "RenewForeign",
		rule: "Renew of another's claim answers held and changes nothing, neither owner nor lease.",
		check: func(p *probe) {
			start := p.now()
			p.claim(job, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			p.before(start+2*p.unit, func() {
				p.renew(job, "b", minute, store.Held)
				p.claim(job, "b", minute, store.Held)
			})
			p.wait(p.unit)
			p.claim(job, "c", minute, store.Acquired)
		},
	},
	{
		name: "RenewDone",
		rule: "Renew of a done key answers done and neither undoes nor extends it.",
		check: func(p *probe) {
			start := p.now()
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			p.before(start+2*p.unit, func() {
				p.renew(job, "a", minute, store.Done)
				p.renew(job, "b", minute, store.Done)
				p.claim(job, "b", minute, store.Done)
			})
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
}
