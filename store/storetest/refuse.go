package storetest

import (
	"context"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// personal is a key that must not show up in an error.
var personal = store.Key{Scope: "consumer-of-secrets", ID: "jane.doe@example.com"}

var refusalCases = []testCase{
	{
		name: "BadLease",
		rule: "A claim with a zero or negative lease is refused with store.ErrInvalidDuration and writes nothing.",
		check: func(p *probe) {
			for _, d := range badDurations {
				_, err := p.Store.Claim(p.ctx, personal, "a", d)
				p.refused(describe("Claim", personal, "a", d), personal, err, store.ErrInvalidDuration)
			}
			p.stays(personal, store.Free)
		},
	},
	{
		name: "BadRenewal",
		rule: "Renew with a zero or negative lease is refused with store.ErrInvalidDuration and changes nothing.",
		check: func(p *probe) {
			p.claim(personal, "a", minute, store.Acquired)
			for _, d := range badDurations {
				_, err := p.Store.Renew(p.ctx, personal, "a", d)
				p.refused(describe("Renew", personal, "a", d), personal, err, store.ErrInvalidDuration)
			}
			p.renew(personal, "a", minute, store.Acquired)
		},
	},
	{
		name: "BadRetention",
		rule: "Complete with a zero or negative retention is refused with store.ErrInvalidDuration and changes nothing.",
		check: func(p *probe) {
			p.claim(personal, "a", minute, store.Acquired)
			for _, d := range badDurations {
				_, err := p.Store.Complete(p.ctx, personal, "a", d)
				p.refused(describe("Complete", personal, "a", d), personal, err, store.ErrInvalidDuration)
			}
			p.renew(personal, "a", minute, store.Acquired)
			p.claim(personal, "b", minute, store.Held)
		},
	},
	{
		name: "EndedContextClaim",
		rule: "A claim whose context has ended gives the context's error and writes nothing.",
		check: func(p *probe) {
			for ctx, want := range endedContexts() {
				_, err := p.Store.Claim(ctx, personal, "a", minute)
				p.refused(describe("Claim", personal, "a", minute), personal, err, want)
			}
			p.stays(personal, store.Free)
		},
	},
	{
		name: "EndedContextRenew",
		rule: "Renew whose context has ended gives the context's error and restarts no lease.",
		check: func(p *probe) {
			start := p.now()
			p.claim(personal, "a", 2*p.unit, store.Acquired)
			p.wait(p.unit)
			for ctx, want := range endedContexts() {
				_, err := p.Store.Renew(ctx, personal, "a", minute)
				p.refused(describe("Renew", personal, "a", minute), personal, err, want)
			}
			p.before(start+2*p.unit, func() { p.stays(personal, store.Held) })
			p.wait(p.unit)
			p.stays(personal, store.Free)
		},
	},
	{
		name: "EndedContextComplete",
		rule: "Complete whose context has ended gives the context's error and records nothing.",
		check: func(p *probe) {
			p.claim(personal, "a", minute, store.Acquired)
			for ctx, want := range endedContexts() {
				_, err := p.Store.Complete(ctx, personal, "a", minute)
				p.refused(describe("Complete", personal, "a", minute), personal, err, want)
			}
			p.stays(personal, store.Held)
		},
	},
	{
		name: "EndedContextRelease",
		rule: "Release whose context has ended gives the context's error and frees nothing.",
		check: func(p *probe) {
			p.claim(personal, "a", minute, store.Acquired)
			for ctx, want := range endedContexts() {
				_, err := p.Store.Release(ctx, personal, "a")
				p.refused(describe("Release", personal, "a", 0), personal, err, want)
			}
			p.stays(personal, store.Held)
		},
	},
	{
		name:  "Unreachable",
		rule:  "A store whose database cannot be reached gives an error from every call, and the error does not show the key.",
		needs: breakable,
		check: func(p *probe) {
			p.claim(personal, "a", minute, store.Acquired)
			if p.err != nil {
				return
			}
			p.Break()
			ctx, cancel := context.WithTimeout(p.ctx, time.Second)
			defer cancel()
			_, err := p.Store.Claim(ctx, personal, "a", minute)
			p.refused(describe("Claim", personal, "a", minute), personal, err, nil)
			_, err = p.Store.Renew(ctx, personal, "a", minute)
			p.refused(describe("Renew", personal, "a", minute), personal, err, nil)
			_, err = p.Store.Complete(ctx, personal, "a", minute)
			p.refused(describe("Complete", personal, "a", minute), personal, err, nil)
			_, err = p.Store.Release(ctx, personal, "a")
			p.refused(describe("Release", personal, "a", 0), personal, err, nil)
		},
	},
}

var badDurations = []time.Duration{0, -1, -time.Hour, -1 << 63}

// endedContexts returns contexts that have ended, with their errors.
func endedContexts() map[context.Context]error {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	cancel()
	return map[context.Context]error{cancelled: context.Canceled, late: context.DeadlineExceeded}
}
