package behaviour_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// A copy that waits for a claim held elsewhere, at default settings, costs
// next to nothing. Not parallel: it measures the CPU time of the process.
func TestHeldClaimOfFiveSecondsCostsNextToNothing(t *testing.T) {
	const held = 5 * time.Second
	copies := []*waiting{
		newWaiting(t, "gochannel", onGoChannel(t)),
		newWaiting(t, "redisstream", onRedisStream(t)),
	}
	spent, started := cpuTime(t), time.Now()
	for i := 0; time.Since(started) < held; i++ {
		for _, w := range copies {
			w.publishOther(fmt.Sprint("other-", i))
		}
		time.Sleep(100 * time.Millisecond)
	}
	spent = cpuTime(t) - spent
	for _, w := range copies {
		w.check(held)
	}
	if limit := held * 3 / 10; spent > limit {
		t.Errorf("%s of CPU time in %s, want less than %s", spent, held, limit)
	}
	t.Logf("CPU time %s in %s", spent, held)
}

func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	noError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// waiting is a consumer with one copy that waits, and with a second handler
// that has work all the time.
type waiting struct {
	name  string
	r     *rig
	d     *instance
	calls atomic.Int64 // to the store, for the copy

	mu      sync.Mutex
	sent    map[string]time.Time
	slowest time.Duration
	others  int
}

const (
	heldJob    = "held"
	otherTopic = "-other"
)

func newWaiting(t *testing.T, name string, ps *pubSub) *waiting {
	t.Helper()
	w := &waiting{name: name, r: newRig(t, ps), sent: map[string]time.Time{}}
	claimElsewhere(t, ps.store, handlerName, heldJob, time.Minute)
	w.r.store = &interposed{Store: ps.store, before: func(_ op, key store.Key) error {
		if key.ID == secret+heldJob {
			w.calls.Add(1)
		}
		return nil
	}}
	w.d = w.r.leased()
	w.r.consume(w.r.work(0), w.d.wrap)
	w.r.consumeAs("other", ps.topic+otherTopic, func(msg *message.Message) error {
		job, _ := w.r.start(msg)
		w.r.ledger.effect(job)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.others++
		w.slowest = max(w.slowest, time.Since(w.sent[job]))
		return nil
	}, w.d.wrap)
	w.r.run()
	w.r.publish(1, heldJob)
	w.r.await("the copy waits", func() bool { return w.calls.Load() >= 2 })
	return w
}

func (w *waiting) publishOther(job string) {
	w.mu.Lock()
	w.sent[secret+job] = time.Now()
	w.mu.Unlock()
	w.r.publishTo(w.r.ps.topic+otherTopic, 1, job)
}

func (w *waiting) check(held time.Duration) {
	t := w.r.t
	t.Helper()
	var deliveries int
	w.r.ledger.note(func(l *ledger) { deliveries = l.delivered[secret+heldJob] })
	calls := w.calls.Load()
	if seconds := int64(held / time.Second); deliveries > 20 || calls > 20*seconds {
		t.Errorf("%s: %d deliveries and %d store calls in %s, want at most 20, and 20 a second", w.name, deliveries, calls, held)
	}
	w.r.await("the other handler's work is done", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return w.others == len(w.sent)
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.slowest > time.Second {
		t.Errorf("%s: a message of another subscription took %s", w.name, w.slowest)
	}
	if w.d.count(dedup.Processed) != w.others {
		t.Errorf("%s: %d other jobs, outcomes %s", w.name, w.others, w.d)
	}
	t.Logf("%s: %d deliveries, %d store calls, slowest other message %s", w.name, deliveries, calls, w.slowest)
}
