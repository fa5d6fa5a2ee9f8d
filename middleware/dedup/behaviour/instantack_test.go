package behaviour_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// Behind InstantAck nothing can be sent back to the broker any more.
func TestInstantAckMakesAHeldCopyAnError(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.acksUndone = true
		d := r.leased(func(c *dedup.Config) { c.HeldWait = 150 * time.Millisecond })
		var seen errorsSeen
		holder := r.gate()
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			holder.wait()
			r.ledger.effect(job)
			return nil
		}, seen.wrap, middleware.InstantAck, d.wrap)
		r.run()
		r.publish(2, "a")
		r.await("the copy has failed", func() bool { return len(seen.all()) == 1 })
		holder.open()
		r.await("the job is recorded", func() bool { return d.count(dedup.Processed) == 1 })

		r.eachOnce()
		if err := seen.all()[0]; !errors.Is(err, dedup.ErrAlreadyAcked) {
			t.Errorf("the copy failed with %v, want ErrAlreadyAcked", err)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Held: 1})
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.ackedEarly != 2 {
			t.Errorf("%d of 2 passes were counted as acked early", d.ackedEarly)
		}
		if errs := r.routerLogs.errorsWith("Panic"); len(errs) > 0 {
			t.Errorf("something panicked: %s", errs[0])
		}
	})
}

func TestInstantAckStillPublishesAndRecords(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.acksUndone = true
		d := r.leased()
		out := &outlet{behind: ps.publisher()}
		r.produce(func(msg *message.Message) ([]*message.Message, error) {
			job, _ := r.start(msg)
			r.ledger.effect(job)
			return message.Messages{newJob(job), newJob(job)}, nil
		}, out, middleware.InstantAck, d.wrap)
		r.run()
		r.publish(2, "a")
		r.await("both copies are settled", func() bool {
			return d.count(dedup.Processed) == 1 && d.count(dedup.Duplicate) == 1
		})
		r.await("the outputs are published", func() bool { return len(out.jobs()) == 2 })
		r.eachOnce()
		if got := stateOf(t, r.store, handlerName, "a"); got != store.Done {
			t.Errorf("the job is %s, want done", got)
		}
	})
}
