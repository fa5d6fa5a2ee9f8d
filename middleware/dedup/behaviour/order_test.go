package behaviour_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// orders are the sane orders of Watermill's middlewares around dedup, the
// outermost first. A PoisonQueue inside has a test of its own.
var orders = []string{
	"dedup",
	"Recoverer PoisonQueue dedup Limit Retry Timeout",
	"Recoverer PoisonQueue dedup Retry",
	"PoisonQueue Recoverer dedup Timeout Retry",
	"Recoverer PoisonQueue Retry dedup",
	"PoisonQueue Retry Recoverer dedup Limit",
	"Retry PoisonQueue dedup Recoverer",
	"Timeout PoisonQueue Retry dedup",
	"Recoverer Retry dedup Timeout",
}

// chain builds an order.
func (r *rig) chain(order string, d *instance) (mw []message.HandlerMiddleware, poisoned *outlet) {
	r.t.Helper()
	poison, poisoned := r.poisonQueue()
	known := map[string]message.HandlerMiddleware{
		"dedup":       d.wrap,
		"Limit":       dedup.Limit(20),
		"PoisonQueue": poison,
		"Recoverer":   middleware.Recoverer,
		"Retry":       middleware.Retry{MaxRetries: 2, InitialInterval: 10 * time.Millisecond, ResetContextOnRetry: true}.Middleware,
		"Timeout":     middleware.Timeout(patience),
	}
	for _, name := range strings.Fields(order) {
		mw = append(mw, known[name])
	}
	return mw, poisoned
}

const broken = "broken"

// mixedWork has a job that always fails and one slower than the tests'
// HeldWait.
func (r *rig) mixedWork() message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		job, _ := r.start(msg)
		switch job {
		case secret + broken:
			return errHandler
		case secret + "slow":
			time.Sleep(300 * time.Millisecond)
		}
		r.ledger.effect(job)
		return nil
	}
}

func TestOnlyAFailingHandlerIsPoisonedInEverySaneOrder(t *testing.T) {
	for _, order := range orders {
		t.Run(order, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				down := r.breakable()
				d := r.leased(func(c *dedup.Config) { c.HeldWait = dedup.MinHeldWait })
				mw, poisoned := r.chain(order, d)
				r.consume(r.mixedWork(), mw...)
				names := append(jobs("j", 6), "slow")
				copies, broke := 2, 0
				if strings.Contains(order, "PoisonQueue") {
					// Elsewhere it would come back for ever.
					broke = 1
					r.acksUndone = true
				}

				down.Store(true)
				r.run()
				r.publish(copies, names...)
				r.publish(broke, broken)
				time.Sleep(300 * time.Millisecond) // the outage
				if c := r.ledger.counts(); c.acked != 0 {
					t.Errorf("%d messages were acked while the store was down", c.acked)
				}
				down.Store(false)
				r.awaitAcks(copies*len(names) + broke)

				missing, duplicates := r.ledger.wrong()
				if missing != broke || duplicates != 0 {
					t.Errorf("%d jobs missing, %d duplicates", missing-broke, duplicates)
				}
				if took := poisoned.jobs(); len(took) != broke || broke > 0 && took[0] != secret+broken {
					t.Errorf("poisoned %v, want only the job that always fails", took)
				}
				if errs := r.routerLogs.errorsWith("Panic"); len(errs) > 0 {
					t.Errorf("something panicked: %s", errs[0])
				}
				if got := stateOf(t, r.store, handlerName, broken); got == store.Done {
					t.Error("the job that always fails is recorded as done")
				}
			})
		})
	}
}

func TestNothingIsPoisonedWhileRedisHangs(t *testing.T) {
	for _, order := range []string{
		"Recoverer PoisonQueue dedup Limit Retry Timeout",
		"PoisonQueue Retry Recoverer dedup Limit",
	} {
		t.Run(order, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				server := newHungRedis(t)
				r := newRig(t, ps)
				r.store = openRedisStore(t, server.Addr, "behaviour")
				d := r.leased(func(c *dedup.Config) {
					c.HeldWait = 200 * time.Millisecond
					c.Lease = 3 * time.Second
					c.StoreTimeout = 150 * time.Millisecond
				})
				mw, poisoned := r.chain(order, d)
				r.consume(r.mixedWork(), mw...)
				r.acksUndone = true
				r.run()
				names := append(jobs("j", 10), "slow")
				r.publish(1, names...)
				server.hang()
				r.publish(1, names...)
				r.publish(1, broken)
				time.Sleep(time.Second) // the outage
				server.resume()
				r.awaitAcks(2*len(names) + 1)

				missing, duplicates := r.ledger.wrong()
				if missing != 1 || duplicates != 0 {
					t.Errorf("%d jobs missing, %d duplicates", missing-1, duplicates)
				}
				if took := poisoned.jobs(); len(took) != 1 || took[0] != secret+broken {
					t.Errorf("poisoned %v, want only the job that always fails", took)
				}
			})
		})
	}
}

// To the middleware a PoisonQueue inside it is a handler that succeeds.
func TestPoisonQueueInsideMarksDone(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.acksUndone = true
		d := r.leased()
		poison, poisoned := r.poisonQueue()
		r.consume(func(msg *message.Message) error {
			r.start(msg)
			return errHandler
		}, d.wrap, poison)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		if c := r.ledger.counts(); c.runs != 1 || c.nacked != 0 || len(poisoned.jobs()) != 1 {
			t.Errorf("want one run and one poisoned copy, got %+v and %d", c, len(poisoned.jobs()))
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: crowd - 1})
		if got := stateOf(t, r.store, handlerName, "a"); got != store.Done {
			t.Errorf("the job is %s, want done", got)
		}
	})
}
