package storetest

import (
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// window is a retention or lease that can be watched until a second before
// its end.
func (p *probe) window() time.Duration {
	if p.Advance != nil {
		return 24 * time.Hour
	}
	return 1500 * time.Millisecond
}

var timeCases = []testCase{
	{
		name: "RetentionWindow",
		rule: "A done marker is there one second before its retention ends, and gone when it has ended.",
		check: func(p *probe) {
			p.claim(job, "a", minute, store.Acquired)
			start := p.now()
			p.complete(job, "a", p.window(), store.Acquired)
			p.wait(p.window() - time.Second)
			p.before(start+p.window(), func() { p.claim(job, "b", minute, store.Done) })
			p.wait(time.Second)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "LeaseWindow",
		rule: "A claim is held one second before its lease ends, and free when it has ended.",
		check: func(p *probe) {
			start := p.now()
			p.claim(job, "a", p.window(), store.Acquired)
			p.wait(p.window() - time.Second)
			p.before(start+p.window(), func() { p.claim(job, "b", minute, store.Held) })
			p.wait(time.Second)
			p.stays(job, store.Free)
			p.claim(job, "b", minute, store.Acquired)
		},
	},
	{
		name: "Units",
		rule: "Durations have the unit of time.Duration: milliseconds are not taken for seconds, or the other way round.",
		check: func(p *probe) {
			start := p.now()
			p.claim(job, "a", 3*p.unit, store.Acquired)
			p.wait(2 * p.unit)
			p.before(start+3*p.unit, func() { p.stays(job, store.Held) })
			p.wait(p.unit)
			p.stays(job, store.Free)

			start = p.now()
			p.complete(job, "a", 3*p.unit, store.Free)
			p.wait(2 * p.unit)
			p.before(start+3*p.unit, func() { p.stays(job, store.Done) })
			p.wait(p.unit)
			p.stays(job, store.Free)
		},
	},
	{
		name: "SubMillisecond",
		rule: "A duration below a millisecond counts as one: it is neither refused nor taken for nothing, for ever or a second.",
		check: func(p *probe) {
			p.claim(job, "a", time.Nanosecond, store.Acquired)
			p.wait(p.unit)
			p.stays(job, store.Free)

			p.claim(job, "a", minute, store.Acquired)
			p.renew(job, "a", time.Nanosecond, store.Acquired)
			p.wait(p.unit)
			p.stays(job, store.Free)

			p.complete(job, "a", time.Nanosecond, store.Free)
			p.wait(p.unit)
			p.stays(job, store.Free)
		},
	},
	{
		name:  "RoundedUp",
		rule:  "Durations are rounded up to a millisecond, so a lease is never shorter than was asked.",
		needs: advance,
		check: func(p *probe) {
			p.claim(job, "a", 1500*time.Microsecond, store.Acquired)
			p.wait(1499 * time.Microsecond)
			p.stays(job, store.Held)
			p.wait(2 * time.Millisecond)
			p.stays(job, store.Free)
		},
	},
	{
		name: "VeryLong",
		rule: "A lease or retention of a hundred years does not overflow into the past.",
		check: func(p *probe) {
			const century = 100 * 365 * 24 * time.Hour
			p.claim(job, "a", century, store.Acquired)
			p.claim(job, "b", century, store.Held)
			p.renew(job, "a", century, store.Acquired)
			p.stays(job, store.Held)
			p.complete(job, "a", century, store.Acquired)
			p.claim(job, "b", century, store.Done)
		},
	},
}
