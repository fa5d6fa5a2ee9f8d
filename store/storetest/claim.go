package storetest

import (
	"strconv"
	"strings"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// job is the key of the cases that need only one.
var job = store.Key{Scope: "consumer", ID: "job-1"}

var claimCases = []testCase{
	{
		name: "ClaimFree",
		rule: "A claim of a free key answers acquired.",
		check: func(p *probe) {
			p.stays(job, store.Free)
			p.claim(job, "a", minute, store.Acquired)
			p.stays(job, store.Held)
		},
	},
	{
		name: "ClaimHeld",
		rule: "While one token's lease runs, a claim with another token answers held.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.claim(job, "b", minute, store.Held)
			p.claim(job, "b", minute, store.Held)
			p.renew(job, "a", minute, store.Acquired)
		},
	},
	{
		name: "ClaimDone",
		rule: "A claim of a done key answers done, to its owner too.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.complete(job, "a", minute, store.Acquired)
			p.claim(job, "b", minute, store.Done)
			p.claim(job, "a", minute, store.Done)
			p.claim(job, "b", minute, store.Done)
		},
	},
	{
		name: "ClaimTwice",
		rule: "A claim that finds its own token answers acquired, because clients resend after a timeout.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			p.claim(job, "a", minute, store.Acquired)
			p.claim(job, "b", minute, store.Held)
			p.complete(job, "a", minute, store.Acquired)
		},
	},
	{
		name: "ClaimTwiceRestartsLease",
		rule: "A claim that finds its own token restarts the lease.",
		check: func(p *probe) {
			first := p.now()
			p.claim(job, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			second := p.now()
			p.before(first+2*p.unit, func() { p.claim(job, "a", 2*p.unit, store.Acquired) })
			p.wait(p.unit + p.unit/2)
			p.before(second+2*p.unit, func() { p.claim(job, "b", minute, store.Held) })
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "ClaimExpired",
		rule: "When a lease has passed, the next claim answers acquired and the old owner owns nothing.",
		check: func(p *probe) {
			p.claim(job, "a", p.unit, store.Acquired)
			p.wait(p.unit)
			p.claim(job, "b", minute, store.Acquired)
			p.claim(job, "a", minute, store.Held)
			p.renew(job, "a", minute, store.Held)
			p.release(job, "a", store.Held)
			p.renew(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "ClaimExtendsNothing",
		rule: "A claim that answers held does not extend the lease it met.",
		check: func(p *probe) {
			start := p.now()
			p.claim(job, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			p.before(start+2*p.unit, func() { p.claim(job, "b", minute, store.Held) })
			p.wait(p.unit)
			p.claim(job, "c", minute, store.Acquired)
		},
	},
	{
		name: "TokensAreWhole",
		rule: "Tokens that differ in one byte, in case or in length are different owners.",
		check: func(p *probe) {
			long := strings.Repeat("0123456789abcdef", 8)
			tokens := []string{"a", "A", "b", "ab", "a ", long, long + "0", long[:127] + "0", "1" + long[1:]}
			for i, token := range tokens {
				key := store.Key{Scope: "tokens", ID: strconv.Itoa(i)}
				p.claim(key, token, minute, store.Acquired)
				for _, other := range tokens {
					if other != token {
						p.renew(key, other, minute, store.Held)
					}
				}
				p.renew(key, token, minute, store.Acquired)
			}
		},
	},
}
