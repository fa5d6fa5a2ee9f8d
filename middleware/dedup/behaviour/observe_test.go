package behaviour_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

func TestObserveChangesNothingAndCounts(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.instance(dedup.Observe, jobKey)
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			time.Sleep(20 * time.Millisecond)
			r.ledger.effect(job)
			if job == secret+"fails" && run == 1 {
				return errHandler
			}
			return nil
		}, d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)
		if c := r.ledger.counts(); c.runs != crowd || c.nacked != 0 {
			t.Errorf("want every copy run, got %+v", c)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: crowd - 1})

		// A failed run is released, so its redelivery is no duplicate.
		r.publish(1, "fails")
		r.awaitAcks(crowd + 1)
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 2, dedup.Failed: 1, dedup.Duplicate: crowd - 1})
	})
}

func TestObserveDoesNotHoldOutARealInstance(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		watching := r.instance(dedup.Observe, jobKey)
		protected := r.leased(func(c *dedup.Config) { c.HeldWait = dedup.MinHeldWait })
		r.consume(r.work(0), watching.wrap, protected.wrap)
		r.run()
		r.publish(2, "a")
		r.awaitAcks(2)
		r.eachOnce()
		if c := r.ledger.counts(); c.nacked != 0 {
			t.Errorf("the observing instance held the real one out: %+v", c)
		}
		protected.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: 1})
		watching.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: 1})
	})
}

func TestObserveIsDelayedByAFailingStoreForItsTimeoutOnly(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		server := newHungRedis(t)
		r := newRig(t, ps)
		r.store = openRedisStore(t, server.Addr, "behaviour")
		const timeout = 300 * time.Millisecond
		d := r.instance(dedup.Observe, jobKey, func(c *dedup.Config) { c.StoreTimeout = timeout })
		r.consume(r.work(0), d.wrap)
		r.run()
		server.hang()
		r.publish(1, "a")
		r.awaitAcks(1)
		r.eachOnce()
		d.mu.Lock()
		if d.longest > timeout+500*time.Millisecond {
			t.Errorf("the handler was delayed by %s, want at most StoreTimeout (%s)", d.longest, timeout)
		}
		d.mu.Unlock()
		d.expect(t, map[dedup.Outcome]int{dedup.StoreError: 1})
		server.resume()
	})
}

func TestObserveAttachedTwiceCountsOnce(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.instance(dedup.Observe, jobKey)
		r.router.AddMiddleware(d.wrap)
		r.consume(r.work(0), d.wrap)
		r.run()
		names := jobs("j", 3)
		r.publish(1, names...)
		r.awaitAcks(len(names))
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: len(names), dedup.Duplicate: 0})
	})
}
