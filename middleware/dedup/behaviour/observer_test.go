package behaviour_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// Every test checks that each pass has one outcome. This one makes sure that
// the sum is taken over as many different ones as possible.
func TestOutcomesOfAMixedRunAddUpToItsPasses(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.acksUndone = true // the keyless messages are dropped
		r.subscriptions = 8
		down := r.breakable()
		d := r.leased(func(c *dedup.Config) {
			c.Lease = time.Second
			c.StoreTimeout = 500 * time.Millisecond
			c.HeldWait = dedup.MinHeldWait
			c.MissingKey = dedup.MissingKeyDrop
		})
		var runs atomic.Int64
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			switch job {
			case secret + "unrecorded":
				down.Store(true)
			case secret + "panics":
				if run == 1 {
					panic("on purpose")
				}
			default:
				if runs.Add(1)%5 == 0 {
					return errHandler
				}
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap, d.wrap, dedup.Limit(4))
		r.run()
		claimElsewhere(t, ps.store, handlerName, "held", time.Minute)
		r.publish(crowd, append(jobs("j", 15), "held", "panics")...)
		r.publishKeyless(3)
		r.await("a copy was held out", func() bool { return d.count(dedup.Held) > 0 })
		releaseElsewhere(t, ps.store, handlerName, "held")
		r.awaitAcks(crowd*17 + 3)
		r.publish(1, "unrecorded")
		r.await("the store's outage is noticed", func() bool { return d.count(dedup.Unrecorded) == 1 })
		r.publish(1, jobs("k", 5)...)
		r.await("copies are turned away", func() bool { return d.count(dedup.StoreError) >= 3 })
		down.Store(false)
		r.awaitAcks(crowd*17 + 3 + 1 + 5)
		r.eachOnce()

		for _, o := range []dedup.Outcome{
			dedup.Processed, dedup.Replayed, dedup.Duplicate, dedup.Held, dedup.Failed,
			dedup.MissingKey, dedup.StoreError, dedup.Unrecorded, dedup.Bypassed,
		} {
			if d.count(o) == 0 {
				t.Errorf("the mixture lacks the outcome %s", o)
			}
		}
		if got := d.count(dedup.Processed) + d.count(dedup.Replayed); got != 17+1+5 {
			t.Errorf("%d jobs were processed or replayed, want 23", got)
		}
		passes, observed := d.sums()
		t.Logf("%d passes, %d outcomes: %s", passes, observed, d)
	})
}
