package storetest

import "github.com/watermill-dedup/watermill-dedup/store"

var releaseCases = []testCase{
	{
		name: "ReleaseOwn",
		rule: "Release by the owner answers acquired and frees the key at once.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.release(job, "a", store.Acquired)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "ReleaseTwice",
		rule: "A Release that is sent twice answers free the second time.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.release(job, "a", store.Acquired)
			p.release(job, "a", store.Free)
			p.release(job, "a", store.Free)
		},
	},
	{
		name: "ReleaseLate",
		rule: "A Release that arrives again after somebody else claimed answers held and frees nothing.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.release(job, "a", store.Acquired)
			p.claim(job, "b", minute, store.Acquired)
			p.release(job, "a", store.Held)
			p.claim(job, "c", minute, store.Held)
		},
	},
	{
		name: "ReleaseForeign",
		rule: "Release of another's claim answers held and changes nothing.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.release(job, "b", store.Held)
			p.claim(job, "b", minute, store.Held)
			p.renew(job, "a", minute, store.Acquired)
		},
	},
	{
		name: "ReleaseExpired",
		rule: "Release after the lease has passed answers free.",
		check: func(p *probe) {
			p.claim(job, "a", p.unit, store.Acquired)
			p.wait(p.unit)
			p.release(job, "a", store.Free)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "ReleaseDone",
		rule: "Release of a done key answers done and does not undo it.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", minute, store.Acquired)
			p.release(job, "a", store.Done)
			p.release(job, "b", store.Done)
			p.claim(job, "b", minute, store.Done)
		},
	},
}
