package behaviour_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

func TestWaitingCopiesTakeNoSlot(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.subscriptions = 8
		d := r.leased()
		holder := r.gate()
		var running, most atomic.Int64
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			most.Store(max(most.Load(), running.Add(1)))
			defer running.Add(-1)
			if job == secret+"holder" {
				holder.wait()
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap, dedup.Limit(2))
		r.run()
		r.publish(crowd, "holder")
		r.awaitCrowd()
		// One slot is left for these, however many copies wait. Up to eight can
		// be stuck behind the copies, in Redis Streams subscriptions.
		names := jobs("j", 20)
		r.publish(1, names...)
		r.await("other jobs are done", func() bool { return r.ledger.counts().effects >= 20-2*crowd })
		holder.open()
		r.awaitAcks(crowd + len(names))
		r.eachOnce()
		if most.Load() > 2 {
			t.Errorf("%d handlers ran at a time, want at most 2", most.Load())
		}
		d.only(t, dedup.Processed, dedup.Duplicate)
	})
}

func TestClaimThatWaitsForASlotIsRenewed(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.subscriptions = 8
		d := r.leased(func(c *dedup.Config) {
			c.Lease = 3 * time.Second
			c.HeldWait = 300 * time.Millisecond
		})
		r.consume(r.work(5*time.Second), d.wrap, dedup.Limit(1))
		r.run()
		r.publish(crowd, "a", "b")
		r.awaitAcks(2 * crowd)
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 2, dedup.Duplicate: 2*crowd - 2, dedup.LeaseLost: 0})
	})
}

func TestWaitForASlotThatEndsIsNackedAndNoFailure(t *testing.T) {
	for _, c := range []struct {
		name    string
		timeout time.Duration // around Limit; 0 is none
		end     func(r *rig, d *instance)
	}{
		{"context", 300 * time.Millisecond, func(*rig, *instance) {}},
		{"router", 0, func(r *rig, _ *instance) { go r.router.Close() }},
		{"middleware", 0, func(_ *rig, d *instance) { go d.Close(context.Background()) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				d := r.leased()
				holder := r.gate()
				var seen errorsSeen
				// Redelivered, so that no context of the router helps.
				chain := []message.HandlerMiddleware{seen.wrap, r.sendBackFirst(crowd), d.wrap}
				if c.timeout > 0 {
					chain = append(chain, middleware.Timeout(c.timeout))
				}
				r.consume(func(msg *message.Message) error {
					job, _ := r.start(msg)
					holder.wait()
					r.ledger.effect(job)
					return nil
				}, append(chain, dedup.Limit(1))...)
				r.run()
				r.publish(1, jobs("j", crowd)...)
				// Two messages in flight have been sent back, and one runs.
				r.await("one message runs and another waits", func() bool {
					passes, _ := d.sums()
					return passes >= 2 && r.ledger.counts().runs == 1
				})
				time.Sleep(50 * time.Millisecond) // so that the second waits
				nacked := r.ledger.counts().nacked
				c.end(r, d)
				r.await("a wait ended", func() bool { return d.count(dedup.Held) > 0 })
				r.await("it was nacked", func() bool { return r.ledger.counts().nacked > nacked })
				if c := r.ledger.counts(); c.acked != 0 || c.runs != 1 {
					t.Errorf("the message was acked or run: %+v", c)
				}
				if errs := seen.all(); len(errs) > 0 {
					t.Errorf("it left as an error: %v", errs)
				}
				if d.count(dedup.Failed) > 0 {
					t.Errorf("it was counted as a failure: %s", d)
				}
			})
		})
	}
}

// A handler may wait for another one's work: slots shared by all handlers
// would deadlock here.
func TestEveryHandlerHasSlotsOfItsOwn(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		answered := r.gate()
		r.router.AddMiddleware(d.wrap, dedup.Limit(1))
		r.consumeAs("asks", ps.topic, func(msg *message.Message) error {
			r.publishTo(ps.topic+"-questions", 1, "question")
			answered.wait()
			r.ledger.effect(msg.Metadata.Get(jobField))
			return nil
		})
		r.consumeAs("answers", ps.topic+"-questions", func(msg *message.Message) error {
			r.ledger.effect(msg.Metadata.Get(jobField))
			answered.open()
			return nil
		})
		r.run()
		r.publish(1, "a")
		r.awaitAcks(2)
		r.eachOnce()
	})
}
