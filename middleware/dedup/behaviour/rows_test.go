package behaviour_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// The rows of the table: what the middleware does with each answer to a claim.

func TestAcquiredRunsTheHandlerOnceForManyCopies(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		r.consume(r.work(50*time.Millisecond), d.wrap)
		r.run()
		r.publish(20, "a")
		r.awaitAcks(20)

		r.eachOnce()
		if c := r.ledger.counts(); c.runs != 1 || c.nacked != 0 {
			t.Errorf("want one run and no nack, got %+v", c)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: 19})
	})
}

func TestDoneIsAckedWithoutTheHandler(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		calls := r.counted()
		d := r.leased()
		r.consume(r.work(0), d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)
		before := calls.Load()
		r.publish(1, "a")
		r.awaitAcks(2)

		r.eachOnce()
		if c := r.ledger.counts(); c.runs != 1 || c.delivered != 2 {
			t.Errorf("want one run of two deliveries, got %+v", c)
		}
		if got := calls.Load() - before; before != 2 || got != 1 {
			t.Errorf("the first copy took %d store calls and the second %d, want 2 and 1", before, got)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: 1})
		if all, errs := r.logs.linesWith("duplicate"), r.logs.errorsWith(""); len(all) != 1 || len(errs) != 0 {
			t.Errorf("want a duplicate logged once and not as an error: %q %q", all, errs)
		}
	})
}

func TestHeldIsNackedWithoutAnErrorWhenTheHolderOutlivesTheWait(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		const heldWait = 150 * time.Millisecond
		d := r.leased(func(c *dedup.Config) { c.HeldWait = heldWait })
		holder := r.gate()
		poison, poisoned := r.poisonQueue()
		var retried, outside errorsSeen
		retry := middleware.Retry{MaxRetries: 2, InitialInterval: time.Millisecond}
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			holder.wait()
			r.ledger.effect(job)
			return nil
		}, outside.wrap, poison, retry.Middleware, retried.wrap, d.wrap)
		r.run()
		r.publish(crowd, "a")
		started := time.Now()
		r.await("copies were nacked", func() bool { return r.ledger.counts().nacked >= 2*crowd })
		c := r.ledger.counts()
		if most := (int(time.Since(started)/heldWait) + 1) * (crowd - 1); c.nacked > most {
			t.Errorf("%d nacks where %d waits fit", c.nacked, most)
		}
		if c.acked != 0 {
			t.Errorf("acked while the holder runs: %+v", c)
		}
		holder.open()
		r.awaitAcks(crowd)

		r.eachOnce()
		c = r.ledger.counts()
		if c.runs != 1 {
			t.Errorf("want one run, got %+v", c)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: crowd - 1, dedup.Held: c.nacked})
		if errs := append(retried.all(), outside.all()...); len(errs) > 0 {
			t.Errorf("outer middlewares saw errors: %v", errs)
		}
		if n := len(poisoned.published()); n > 0 {
			t.Errorf("%d copies were poisoned", n)
		}
		if lines := r.routerLogs.errorsWith(""); len(lines) > 0 {
			t.Errorf("a waiting copy was logged as a failure: %s", lines[0])
		}
	})
}

func TestHeldRunsWhenTheHolderFails(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		// It takes the failed copy away, so that only the waiting one is left.
		poison, poisoned := r.poisonQueue()
		r.acksUndone = true
		holder := r.gate()
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			if run == 1 {
				holder.wait()
				return errHandler
			}
			r.ledger.effect(job)
			return nil
		}, poison, d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitCrowd()
		holder.open()
		r.awaitAcks(crowd)

		r.eachOnce()
		if c := r.ledger.counts(); c.nacked != 0 || c.runs != 2 || len(poisoned.published()) != 1 {
			t.Errorf("the waiting copy should have run at once: %+v, %d poisoned", c, len(poisoned.published()))
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Failed: 1, dedup.Processed: 1, dedup.Duplicate: crowd - 2})
	})
}

func TestErrorFailsClosedAndDoesNotSpin(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		calls := r.counted()
		const heldWait = 200 * time.Millisecond
		d := r.leased(func(c *dedup.Config) { c.HeldWait = heldWait })
		r.consume(r.work(0), d.wrap)
		r.run()

		down.Store(true)
		r.publish(1, "a")
		started := time.Now()
		time.Sleep(time.Second) // the outage
		c := r.ledger.counts()
		down.Store(false)
		if c.runs != 0 || c.acked != 0 {
			t.Errorf("the handler ran, or the message was acked, without a claim: %+v", c)
		}
		took := time.Since(started)
		if most := int(took/heldWait) + 2; c.delivered > most || calls.Load() > int64(10*most) {
			t.Errorf("%d deliveries and %d store calls in %s: it spins", c.delivered, calls.Load(), took)
		}
		r.awaitAcks(1)
		r.eachOnce()
		d.only(t, dedup.StoreError, dedup.Processed)
		if lines := r.logs.errorsWith(""); len(lines) != 1 {
			t.Errorf("one outage was logged %d times, want once: %q", len(lines), lines)
		}
		if got := stateOf(t, r.store, handlerName, "a"); got != store.Done {
			t.Errorf("the job is %s, want done", got)
		}
	})
}
