package behaviour_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestUnrecordedEffectIsReplayedAndNotRepeated(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		d := r.leased(func(c *dedup.Config) { c.Lease = time.Second })
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			r.ledger.effect(job)
			down.Store(true)
			return nil
		}, d.wrap)
		r.run()
		r.publish(1, "a")
		r.await("the effect could not be recorded", func() bool { return d.count(dedup.Unrecorded) == 1 })
		if c := r.ledger.counts(); c.acked != 0 {
			t.Errorf("acked without a record: %+v", c)
		}
		down.Store(false)
		r.awaitAcks(1)

		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Unrecorded: 1, dedup.Replayed: 1})
		if got := stateOf(t, r.store, handlerName, "a"); got != store.Done {
			t.Errorf("the job is %s, want done", got)
		}
	})
}

// A copy that was waiting for the claim when the effect happened, or that
// comes back beside the one that replays it, must not run the handler either.
func TestUnrecordedEffectIsNotRepeatedByItsOtherCopies(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		d := r.leased(func(c *dedup.Config) { c.Lease = 2 * time.Second })
		holders := r.gate()
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			holders.wait()
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.subscriptions = 12
		r.run()
		names := jobs("j", 3)
		r.publish(crowd, names...)
		r.await("handlers run and copies wait", func() bool {
			c := r.ledger.counts()
			return c.runs > 0 && c.delivered >= crowd
		})
		down.Store(true)
		holders.open()
		r.await("no effect could be recorded", func() bool {
			n := d.count(dedup.Unrecorded)
			return n > 0 && n == r.ledger.counts().runs
		})
		time.Sleep(300 * time.Millisecond) // so that the leases are over for sure
		down.Store(false)
		r.awaitAcks(crowd * len(names))
		r.eachOnce()
	})
}
