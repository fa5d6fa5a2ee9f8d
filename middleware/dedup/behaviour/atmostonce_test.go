package behaviour_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

func TestAtMostOnceCountsAHeldClaimAsDone(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		// A copy is acked while the handler runs.
		r.acksUndone = true
		d := r.instance(dedup.AtMostOnce, jobKey)
		holder := r.gate()
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			holder.wait()
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(1)
		if c := r.ledger.counts(); c.effects != 0 || c.nacked != 0 {
			t.Errorf("a copy should be acked while the first runs: %+v", c)
		}
		holder.open()
		r.awaitAcks(crowd)
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: crowd - 1})
	})
}

func TestAtMostOnceReturnsAFailureOnceAndNeverRunsAgain(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.acksUndone = true
		d := r.instance(dedup.AtMostOnce, jobKey)
		var seen errorsSeen
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			switch job {
			case secret + "panics":
				panic("on purpose")
			case secret + "nacks":
				msg.Nack()
				return nil
			}
			return errHandler
		}, seen.wrap, d.wrap)
		r.run()
		r.publish(2, "fails", "panics", "nacks")
		r.awaitAcks(6)
		if c := r.ledger.counts(); c.runs != 3 || c.nacked != 3 {
			t.Errorf("want each job run and nacked once, got %+v", c)
		}
		if errs := seen.all(); len(errs) != 1 {
			t.Errorf("want the handler's error once, got %v", errs)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Lost: 3, dedup.Duplicate: 6})
	})
}

func TestAtMostOnceFailsClosed(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		d := r.instance(dedup.AtMostOnce, jobKey, func(c *dedup.Config) { c.HeldWait = 150 * time.Millisecond })
		poison, poisoned := r.poisonQueue()
		r.consume(r.work(0), poison, d.wrap)
		down.Store(true)
		r.run()
		r.publish(1, "a")
		r.await("it was sent back", func() bool { return r.ledger.counts().nacked >= 2 })
		if c := r.ledger.counts(); c.runs != 0 || c.acked != 0 {
			t.Errorf("ran or acked without a claim: %+v", c)
		}
		down.Store(false)
		r.awaitAcks(1)
		r.eachOnce()
		if n := len(poisoned.jobs()); n != 0 {
			t.Errorf("%d copies were poisoned", n)
		}
		d.only(t, dedup.StoreError, dedup.Processed)
	})
}
