package behaviour_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

var errHandler = errors.New("the handler fails on purpose")

func TestFailingHandlersLoseAndRepeatNothing(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.subscriptions = 8
		d := r.leased()
		var runs, failures atomic.Int64
		work := r.work(5 * time.Millisecond)
		r.consume(func(msg *message.Message) error {
			if runs.Add(1)%10 == 0 {
				failures.Add(1)
				return errHandler
			}
			return work(msg)
		}, d.wrap)
		r.run()
		r.publish(2, jobs("j", 100)...)
		r.awaitAcks(200)

		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{
			dedup.Processed: 100, dedup.Duplicate: 100, dedup.Failed: int(failures.Load()),
		})
		if failures.Load() < 10 {
			t.Errorf("only %d handlers failed, want at least a tenth", failures.Load())
		}
	})
}

// jobs returns n names.
func jobs(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", prefix, i))
	}
	return names
}

// explode is a function to look for in a stack.
func explode() { panic("the handler panics on purpose") }

func TestPanicReleasesAndKeepsItsStack(t *testing.T) {
	for _, c := range []struct {
		name            string
		outside, inside bool
	}{
		{"Recoverer outside", true, false},
		{"Recoverer inside", false, true},
		{"no Recoverer", false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				d := r.leased()
				var seen errorsSeen
				chain := []message.HandlerMiddleware{d.wrap}
				if c.outside {
					chain = []message.HandlerMiddleware{seen.wrap, middleware.Recoverer, d.wrap}
				}
				if c.inside {
					chain = append(chain, seen.wrap, middleware.Recoverer)
				}
				r.consume(func(msg *message.Message) error {
					job, run := r.start(msg)
					if run == 1 {
						explode()
					}
					r.ledger.effect(job)
					return nil
				}, chain...)
				r.run()
				r.publish(3, "a")
				r.awaitAcks(3)

				r.eachOnce()
				d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Duplicate: 2, dedup.Failed: 1})
				if !c.outside && !c.inside {
					if len(r.routerLogs.errorsWith("explode")) != 1 {
						t.Errorf("the router did not log the panic's stack: %q", r.routerLogs.errorsWith(""))
					}
					return
				}
				var recovered middleware.RecoveredPanicError
				if errs := seen.all(); len(errs) != 1 || !errors.As(errs[0], &recovered) || !strings.Contains(recovered.Stacktrace, "explode") {
					t.Errorf("Recoverer should have seen one panic with its stack, got %v", errs)
				}
			})
		})
	}
}

func TestGoexitIsNackedOneLeaseLater(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		const lease = time.Second
		d := r.leased(func(c *dedup.Config) { c.Lease = lease })
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			if run == 1 {
				runtime.Goexit()
			}
			r.ledger.effect(job)
			return nil
		}, middleware.Recoverer, d.wrap)
		r.run()
		started := time.Now()
		r.publish(1, "a")
		r.awaitAcks(1)

		if took := time.Since(started); took < lease {
			t.Errorf("answered after %s, want a lease (%s) first: somebody might still answer", took, lease)
		}
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Failed: 1})
	})
}

func TestGoexitFreesTheJobForAWaitingCopy(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased(func(c *dedup.Config) { c.Lease = 2 * time.Second })
		holder := r.gate()
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			if run == 1 {
				holder.wait()
				runtime.Goexit()
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitCrowd()
		holder.open()
		r.awaitAcks(1)
		if c := r.ledger.counts(); c.nacked != 0 {
			t.Errorf("the waiting copy should run before the other is nacked: %+v", c)
		}
		r.awaitAcks(crowd)
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Failed: 1, dedup.Duplicate: crowd - 1})
	})
}

func TestHandlerThatNacksItselfHasFailed(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			if run < 3 {
				msg.Nack()
				return nil
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)

		r.eachOnce()
		if c := r.ledger.counts(); c.runs != 3 || c.nacked != 2 {
			t.Errorf("want three runs and two nacks, got %+v", c)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Failed: 2})
	})
}
