package behaviour_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// Timeout cancels the message's context exactly when the claim has to be
// settled, and leaves it cancelled after a success.
func TestTimeoutOutsideAndInside(t *testing.T) {
	const timeout = 100 * time.Millisecond
	for name, outside := range map[string]bool{"outside": true, "inside": false} {
		t.Run(name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				d := r.leased()
				chain := []message.HandlerMiddleware{d.wrap, middleware.Timeout(timeout)}
				if outside {
					chain = []message.HandlerMiddleware{middleware.Timeout(timeout), d.wrap}
				}
				r.consume(func(msg *message.Message) error {
					job, run := r.start(msg)
					<-msg.Context().Done()
					if job == secret+"obeys" && run == 1 {
						return msg.Context().Err()
					}
					r.ledger.effect(job)
					return nil
				}, chain...)
				r.run()
				r.publish(1, "obeys", "ignores")
				r.awaitAcks(2)

				r.eachOnce()
				d.expect(t, map[dedup.Outcome]int{dedup.Processed: 2, dedup.Failed: 1})
				for _, job := range []string{"obeys", "ignores"} {
					if got := stateOf(t, r.store, handlerName, job); got != store.Done {
						t.Errorf("job %q is %s, want done", job, got)
					}
				}
			})
		})
	}
}

func TestTimeoutOutsideEndsTheWaitOfACopy(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		const timeout = 200 * time.Millisecond
		var outside errorsSeen
		r.consume(r.work(time.Second), outside.wrap, middleware.Timeout(timeout), d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		r.eachOnce()
		c := r.ledger.counts()
		if c.nacked < 1 || c.nacked > 6*(crowd-1) {
			t.Errorf("want each waiting copy nacked about once per timeout, got %+v", c)
		}
		if errs := outside.all(); len(errs) > 0 {
			t.Errorf("waiting copies left as errors: %v", errs)
		}
		d.expect(t, map[dedup.Outcome]int{dedup.Processed: 1, dedup.Held: c.nacked, dedup.Duplicate: crowd - 1})
	})
}
