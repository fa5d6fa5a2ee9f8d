package behaviour_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestRouterClosedInMidHandlerLosesAndRepeatsNothing(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		ps.maxIdle = time.Second
		names := append(jobs("finishes", 4), jobs("obeys", 4)...)
		handler := func(r *rig) message.NoPublishHandlerFunc {
			return func(msg *message.Message) error {
				job, _ := r.start(msg)
				if strings.Contains(job, "obeys") {
					select {
					case <-msg.Context().Done():
						return msg.Context().Err()
					case <-time.After(300 * time.Millisecond):
					}
				}
				time.Sleep(300 * time.Millisecond)
				r.ledger.effect(job)
				return nil
			}
		}

		first := newRig(t, ps)
		first.subscriptions = 8
		first.consume(handler(first), first.leased().wrap)
		first.run()
		first.publish(2, names...)
		first.await("handlers run", func() bool { return first.ledger.counts().runs >= 3 })
		first.close()

		second := first.successor()
		second.consume(handler(second), second.leased().wrap)
		second.run()
		second.await("nothing is missing and nothing is pending", func() bool {
			missing, _ := second.ledger.wrong()
			return missing == 0 && ps.pending(t, handlerName) == 0
		})
		second.eachOnce()
		for _, job := range names {
			second.await("job is recorded", func() bool {
				return stateOf(t, second.store, handlerName, job) == store.Done
			})
		}
	})
}

func TestRouterClosedInMidHandlerPublishesInTheEnd(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		ps.maxIdle = time.Second
		out := &outlet{}
		handler := func(r *rig) message.HandlerFunc {
			return func(msg *message.Message) ([]*message.Message, error) {
				job, _ := r.start(msg)
				time.Sleep(200 * time.Millisecond)
				r.ledger.effect(job)
				return message.Messages{newJob(job)}, nil
			}
		}

		first := newRig(t, ps)
		// The router closes the publisher while handlers still run.
		first.produce(handler(first), &closable{outlet: out}, first.leased().wrap)
		first.run()
		first.publish(1, jobs("j", 4)...)
		first.await("handlers run", func() bool { return first.ledger.counts().runs >= 2 })
		first.close()

		second := first.successor()
		second.produce(handler(second), out, second.leased().wrap)
		second.run()
		second.await("every output is published and nothing is pending", func() bool {
			published := map[string]bool{}
			for _, job := range out.jobs() {
				published[job] = true
			}
			return len(published) == 4 && ps.pending(t, handlerName) == 0
		})
	})
}

// closable is an outlet that refuses to publish once it is closed.
type closable struct {
	*outlet
	closed atomic.Bool
}

func (c *closable) Publish(topic string, msgs ...*message.Message) error {
	if c.closed.Load() {
		return errPublish
	}
	return c.outlet.Publish(topic, msgs...)
}

func (c *closable) Close() error {
	c.closed.Store(true)
	return nil
}

// Waiting copies must not keep a closing router for HeldWait. The second
// delivery of a Redis Streams message has a context that never ends.
func TestRouterClosedWhileCopiesWaitDoesNotWait(t *testing.T) {
	const heldWait = 20 * time.Second
	const soon = 4 * time.Second
	for _, c := range []struct {
		name        string
		redelivered bool
		subscribes  bool // through Subscriptions, without the plugin
		cancel      bool // Run's context instead of Close
	}{
		{name: "WakeOnClose"},
		{name: "WakeOnClose, redelivered", redelivered: true},
		{name: "WakeOnClose, Run cancelled, redelivered", redelivered: true, cancel: true},
		{name: "Subscriptions", subscribes: true},
		{name: "Subscriptions, redelivered", subscribes: true, redelivered: true},
		{name: "Subscriptions, Run cancelled, redelivered", subscribes: true, redelivered: true, cancel: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				r.noWake = c.subscribes
				calls := r.counted()
				d := r.leased(func(c *dedup.Config) { c.HeldWait = heldWait })
				claimElsewhere(t, r.store, handlerName, "a", time.Minute)

				sub := message.Subscriber(witness{ps.subscriber(handlerName), r.ledger, r.ended})
				if c.subscribes {
					sub = dedup.Subscriptions(sub, 1)
				}
				var first int64
				if c.redelivered {
					first = 1
				}
				r.router.AddConsumerHandler(handlerName, ps.topic, sub, r.work(0)).AddMiddleware(r.sendBackFirst(first), d.wrap)
				r.run()
				r.publish(1, "a")
				r.await("the copy has asked several times", func() bool { return calls.Load() >= 5 })

				started := time.Now()
				if c.cancel {
					r.stop()
					select {
					case <-r.stopped:
					case <-time.After(heldWait):
					}
				} else {
					noError(t, r.router.Close())
				}
				if took := time.Since(started); took > soon {
					t.Errorf("closing took %s, want much less than HeldWait (%s)", took, heldWait)
				}
				if c := r.ledger.counts(); c.acked != 0 || c.runs != 0 {
					t.Errorf("the waiting copy was acked or run: %+v", c)
				}
				r.await("the copy is sent back", func() bool { return d.count(dedup.Held) >= 1 })
			})
		})
	}
}

func TestCloseOfTheMiddlewareEndsTheWait(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		calls := r.counted()
		d := r.leased(func(c *dedup.Config) { c.HeldWait = time.Hour })
		claimElsewhere(t, r.store, handlerName, "a", time.Minute)
		r.consume(r.work(0), d.wrap)
		r.run()
		r.publish(1, "a")
		r.await("the copy has asked several times", func() bool { return calls.Load() >= 5 })
		noError(t, d.Close(context.Background()))
		r.await("the copy is nacked", func() bool { return r.ledger.counts().nacked >= 1 })
		before := r.ledger.counts().nacked
		time.Sleep(time.Second) // in which an open router could spin
		c := r.ledger.counts()
		if c.acked != 0 || c.runs != 0 {
			t.Errorf("the waiting copy was acked or run: %+v", c)
		}
		if nacks := c.nacked - before; nacks > 15 {
			t.Errorf("the copy was nacked %d times in a second, want at most one in 100 ms", nacks)
		}
		d.only(t, dedup.Held)
	})
}
