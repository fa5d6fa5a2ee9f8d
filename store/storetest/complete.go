package storetest

import (
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

var completeCases = []testCase{
	{
		name: "CompleteOwn",
		rule: "Complete by the owner answers acquired and records done.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", minute, store.Acquired)
			p.stays(job, store.Done)
		},
	},
	{
		name: "CompleteTwice",
		rule: "A Complete that is sent twice finds its own done marker and answers done.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", minute, store.Acquired)
			p.complete(job, "a", minute, store.Done)
			p.stays(job, store.Done)
		},
	},
	{
		name: "CompleteFree",
		rule: "Complete of a key that nobody claimed answers free and records done, because the effect has happened.",
		check: func(p *probe) {
			p.complete(job, "a", minute, store.Free)
			p.claim(job, "b", minute, store.Done)
		},
	},
	{
		name: "CompleteReleased",
		rule: "Complete after a release answers free and records done.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.release(job, "a", store.Acquired)
			p.complete(job, "a", minute, store.Free)
			p.claim(job, "b", minute, store.Done)
		},
	},
	{
		name: "CompleteExpired",
		rule: "Complete after the lease has passed answers free and records done.",
		check: func(p *probe) {
			p.claim(job, "a", p.unit, store.Acquired)
			p.wait(p.unit)
			p.complete(job, "a", minute, store.Free)
			p.claim(job, "b", minute, store.Done)
		},
	},
	{
		name: "CompleteOvertaken",
		rule: "A late Complete over another's live claim answers held and records done, and the new owner finds done everywhere.",
		check: func(p *probe) {
			p.claim(job, "a", p.unit, store.Acquired)
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
			p.complete(job, "a", minute, store.Held)
			p.renew(job, "b", minute, store.Done)
			p.release(job, "b", store.Done)
			p.complete(job, "b", minute, store.Done)
			p.claim(job, "c", minute, store.Done)
		},
	},
	{
		name: "CompleteOutlivesLease",
		rule: "A done marker lasts for its retention, not for what is left of the lease.",
		check: func(p *probe) {
			start := p.now()
			p.claim(job, "a", p.unit, store.Acquired)
			p.before(start+p.unit, func() { p.complete(job, "a", minute, store.Acquired) })
			p.wait(2 * p.unit)
			p.claim(job, "b", minute, store.Done)
		},
	},
	{
		name: "CompleteShortensLease",
		rule: "A done marker lasts for its retention, not for a lease that would have lasted longer.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", p.unit, store.Acquired)
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "DoneIsNotShortened",
		rule: "No call shortens a done marker: not a second Complete with a smaller retention, not a claim, renewal or release.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", minute, store.Acquired)
			p.complete(job, "a", p.unit, store.Done)
			p.complete(job, "b", p.unit, store.Done)
			for _, token := range []string{"a", "b"} {
				p.claim(job, token, p.unit, store.Done)
				p.renew(job, token, p.unit, store.Done)
				p.release(job, token, store.Done)
			}
			p.wait(p.unit)
			p.claim(job, "c", minute, store.Done)
		},
	},
	{
		name: "DuplicateExtendsNothing",
		rule: "A duplicate does not extend a done marker.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			start := p.now()
			p.complete(job, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			p.before(start+2*p.unit, func() {
				p.claim(job, "b", minute, store.Done)
				p.claim(job, "a", minute, store.Done)
			})
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "DoneAt",
		rule: "The time of a done marker is zero, or the same for everybody who asks and not after a later marker's.",
		check: func(p *probe) {
			later := store.Key{Scope: job.Scope, ID: "job-2"}
			p.complete(job, "a", minute, store.Free)
			p.wait(p.unit)
			p.complete(later, "a", minute, store.Free)
			first, second := p.doneAt(job), p.doneAt(job)
			if !first.Equal(second) {
				p.failf("the marker's time was %s, then %s", first, second)
			}
			if at := p.doneAt(later); !at.IsZero() && !first.Before(at) {
				p.failf("the marker's time is %s, and that of a marker written %s later is %s", first, p.unit, at)
			}
		},
	},
}

func (p *probe) doneAt(key store.Key) time.Time {
	if p.err != nil {
		return time.Time{}
	}
	c, err := p.Store.Claim(p.ctx, key, "a stranger", minute)
	p.answer(describe("Claim", key, "a stranger", minute), c.State, err, store.Done)
	return c.At
}
