package behaviour_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// forward is a handler that returns a message with the context it was handled
// under.
func (r *rig) forward() message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		job, _ := r.start(msg)
		r.ledger.effect(job)
		out := message.NewMessageWithContext(msg.Context(), watermill.NewUUID(), nil)
		out.Metadata.Set(jobField, job)
		return message.Messages{out}, nil
	}
}

func TestOutputsAreRecordedOnlyOnceTheyArePublished(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased(func(c *dedup.Config) {
			// Long enough for copies to be sent back, and for the lease to end
			// if it were not renewed.
			c.Lease = 2 * time.Second
			c.HeldWait = 150 * time.Millisecond
			c.StoreTimeout = time.Second
		})
		publishing := r.gate()
		var begun atomic.Int64
		out := &outlet{behind: ps.publisher(), before: func(msg *message.Message) error {
			begun.Add(1)
			publishing.wait()
			if err := msg.Context().Err(); err != nil {
				t.Errorf("an output's context ended before it was published: %v", err)
			}
			return nil
		}}
		r.produce(r.forward(), out, d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.await("the output is being published", func() bool { return begun.Load() == 1 })
		for limit := time.Now().Add(3 * time.Second); time.Now().Before(limit); time.Sleep(50 * time.Millisecond) {
			if got := stateOf(t, r.store, handlerName, "a"); got != store.Held {
				t.Fatalf("while its output is being published the job is %s, want held", got)
			}
		}
		if c := r.ledger.counts(); c.runs != 1 || c.nacked == 0 || c.acked != 0 {
			t.Errorf("copies should be sent back meanwhile, got %+v", c)
		}
		publishing.open()
		r.awaitAcks(crowd)

		r.eachOnce()
		r.await("the job is recorded", func() bool { return d.count(dedup.Processed) == 1 })
		if n := len(out.jobs()); n != 1 {
			t.Errorf("published %d times, want once", n)
		}
		d.only(t, dedup.Processed, dedup.Duplicate, dedup.Held)
	})
}

func TestOutputsOfAFailedPublishAreNotLost(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		var publishes atomic.Int64
		out := &outlet{behind: ps.publisher(), before: func(*message.Message) error {
			if publishes.Add(1)%3 != 0 {
				return errPublish
			}
			return nil
		}}
		r.produce(r.forward(), out, d.wrap)
		r.run()
		names := jobs("j", 10)
		r.publish(2, names...)
		r.awaitAcks(2 * len(names))

		published := map[string]int{}
		for _, job := range out.jobs() {
			published[job]++
		}
		for _, job := range names {
			if published[secret+job] != 1 {
				t.Errorf("the output of %s was published %d times, want once", job, published[secret+job])
			}
			r.await("the job is recorded", func() bool {
				return stateOf(t, r.store, handlerName, job) == store.Done
			})
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: len(names)})
		d.only(t, dedup.Processed, dedup.Failed, dedup.Duplicate)
	})
}

// The router's Close does not wait for what happens after an ack.
func TestCloseWaitsForTheRecordOfPublishedOutputs(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		recording := r.gate()
		inner := r.store
		r.store = &interposed{Store: inner, before: func(o op, _ store.Key) error {
			if o == opComplete {
				recording.wait()
			}
			return nil
		}}
		d := r.leased()
		out := &outlet{}
		r.produce(r.forward(), out, d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)
		noError(t, r.router.Close())
		if got := stateOf(t, inner, handlerName, "a"); got != store.Held {
			t.Errorf("before its record the job is %s, want held", got)
		}

		closed := make(chan error, 1)
		go func() { closed <- d.Close(context.Background()) }()
		select {
		case err := <-closed:
			t.Fatalf("Close returned (%v) before the job was recorded", err)
		case <-time.After(200 * time.Millisecond):
		}
		recording.open()
		noError(t, <-closed)
		if got := stateOf(t, inner, handlerName, "a"); got != store.Done {
			t.Errorf("after Close the job is %s, want done", got)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1})
	})
}

func TestCloseGivesUpWhenItsContextEnds(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		d := r.leased()
		out := &outlet{before: func(*message.Message) error {
			down.Store(true)
			return nil
		}}
		r.produce(r.forward(), out, d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)
		noError(t, r.router.Close())
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		started := time.Now()
		if err := d.Close(ctx); err == nil {
			t.Error("Close succeeded although a job could not be recorded")
		}
		if took := time.Since(started); took > dedup.DefaultLease/6 {
			t.Errorf("Close took %s after its context had ended", took)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Unrecorded: 1})
	})
}
