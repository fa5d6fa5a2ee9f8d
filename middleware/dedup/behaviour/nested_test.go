package behaviour_test

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// stepScope keeps an inner instance's memory apart from the outer one's.
func stepScope(c *dedup.Config) {
	c.Scope = func(handler string) string { return handler + "/step" }
}

func TestNestedInstancesWithTwoKeysBothRecord(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		outer := r.leased()
		inner := r.leased(stepScope)
		failOnce := func(h message.HandlerFunc) message.HandlerFunc {
			return func(msg *message.Message) ([]*message.Message, error) {
				if r.ledger.run(msg.Metadata.Get(jobField)) == 1 {
					return nil, errHandler
				}
				return h(msg)
			}
		}
		r.consume(func(msg *message.Message) error {
			time.Sleep(20 * time.Millisecond)
			r.ledger.effect(msg.Metadata.Get(jobField))
			return nil
		}, outer.wrap, inner.wrap, failOnce)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		r.eachOnce()
		for name, d := range map[string]*instance{"outer": outer, "inner": inner} {
			if d.count(dedup.Processed) != 1 || d.count(dedup.Failed) != 1 {
				t.Errorf("%s instance: want one failed and one processed, got %s", name, d)
			}
		}
		for _, scope := range []string{handlerName, handlerName + "/step"} {
			if got := stateOf(t, r.store, scope, "a"); got != store.Done {
				t.Errorf("scope %s is %s, want done", scope, got)
			}
		}
	})
}

func TestInnerInstanceThatNacksLeavesTheOuterUndone(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		outer := r.leased()
		inner := r.leased(stepScope, func(c *dedup.Config) { c.HeldWait = 150 * time.Millisecond })
		r.consume(r.work(0), outer.wrap, inner.wrap)
		claimElsewhere(t, r.store, handlerName+"/step", "a", time.Minute)
		r.run()
		r.publish(1, "a")
		r.await("the inner instance has nacked", func() bool { return r.ledger.counts().nacked >= 1 })
		if got := stateOf(t, r.store, handlerName, "a"); got == store.Done {
			t.Error("the outer instance recorded a job that an inner one had sent back")
		}
		releaseElsewhere(t, r.store, handlerName+"/step", "a")
		r.awaitAcks(1)

		r.eachOnce()
		nacks := r.ledger.counts().nacked
		for name, d := range map[string]*instance{"outer": outer, "inner": inner} {
			if d.count(dedup.Processed) != 1 || d.count(dedup.Held) != nacks {
				t.Errorf("%s instance: want one processed and %d held, got %s", name, nacks, d)
			}
		}
	})
}

func TestAttachedOnRouterAndHandlerPassesThrough(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		r.router.AddMiddleware(d.wrap)
		r.consume(r.work(20*time.Millisecond), d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Bypassed: 1, dedup.Duplicate: crowd - 1})
	})
}

func TestTwoInstancesOnOneStorePassThrough(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		outer, inner := r.leased(), r.leased()
		r.router.AddMiddleware(outer.wrap)
		r.consume(r.work(20*time.Millisecond), inner.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		r.eachOnce()
		outer.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: crowd - 1})
		inner.expect(t, map[dedup.Outcome]int{dedup.Bypassed: 1})
	})
}

// Two stores on one database and namespace are one memory, which the
// middleware cannot know.
func TestTwoStoresOfOneNamespaceDoNotHoldEachOtherOut(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		addr := testserver.SharedRedis(t).Addr
		namespace := rand.Text()
		r := newRig(t, ps)
		r.store = openRedisStore(t, addr, namespace)
		outer := r.leased()
		r.store = openRedisStore(t, addr, namespace)
		inner := r.leased()
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			time.Sleep(20 * time.Millisecond)
			if run == 1 {
				return errHandler
			}
			r.ledger.effect(job)
			return nil
		}, outer.wrap, inner.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		r.eachOnce()
		if c := r.ledger.counts(); c.nacked != 1 {
			t.Errorf("only the failed run should be nacked, got %+v", c)
		}
		outer.only(t, dedup.Failed, dedup.Processed, dedup.Duplicate)
		inner.only(t, dedup.Failed, dedup.Processed)
	})
}
