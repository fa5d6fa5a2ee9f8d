package behaviour_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestFailOpenRunsUnprotectedAndStillRecords(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		d := r.leased(func(c *dedup.Config) {
			c.FailOpen = true
			c.HeldWait = 150 * time.Millisecond
		})
		during := r.gate()
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			if job == secret+"heals" {
				during.wait()
				down.Store(false)
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		down.Store(true)
		r.run()
		r.publish(1, "heals")
		r.await("the handler runs without a claim", func() bool { return r.ledger.counts().runs == 1 })
		during.open()
		r.awaitAcks(1)
		d.expect(t, map[dedup.Outcome]int{dedup.Bypassed: 1})
		if got := stateOf(t, r.store, handlerName, "heals"); got != store.Done {
			t.Errorf("the job is %s, want done: the effect happened", got)
		}

		down.Store(true)
		r.publish(1, "a")
		r.awaitAcks(2)
		d.expect(t, map[dedup.Outcome]int{dedup.Bypassed: 2})
		down.Store(false)
		r.publish(1, "a", "heals")
		r.awaitAcks(4)
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Bypassed: 2, dedup.Replayed: 1, dedup.Duplicate: 1})
	})
}

// Without a claim, too, the outputs have to be out before the record.
func TestFailOpenDoesNotLoseOutputs(t *testing.T) {
	for name, heals := range map[string]bool{"store heals meanwhile": true, "store stays away": false} {
		t.Run(name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				down := r.breakable()
				d := r.leased(func(c *dedup.Config) {
					c.FailOpen = true
					c.HeldWait = dedup.MinHeldWait
				})
				var publishes atomic.Int64
				out := &outlet{before: func(*message.Message) error {
					if publishes.Add(1) == 1 {
						return errPublish
					}
					return nil
				}}
				forward := r.forward()
				r.produce(func(msg *message.Message) ([]*message.Message, error) {
					if heals {
						down.Store(false)
					}
					return forward(msg)
				}, out, d.wrap)
				down.Store(true)
				r.run()
				r.publish(1, "a")
				r.awaitAcks(1)
				if n := len(out.jobs()); n == 0 {
					t.Errorf("the message was acked and its output never published: %s", d)
				}
			})
		})
	}
}
