package behaviour_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// The lease is renewed while the handler runs. On Redis Streams the message is
// idle for so long that another process gets it too.
func TestHandlerSlowerThanItsLeaseRunsOnce(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		ps.maxIdle = time.Second
		shape := func(c *dedup.Config) {
			c.Lease = 3 * time.Second
			c.HeldWait = 300 * time.Millisecond
		}
		first := newRig(t, ps)
		first.consume(first.work(7*time.Second), first.leased(shape).wrap)
		first.run()
		other := first.successor()
		other.consume(other.work(7*time.Second), other.leased(shape).wrap)
		other.run()
		first.publish(crowd, "a")
		first.await("a copy is acked", func() bool { return first.ledger.counts().acked > 0 })
		first.await("nothing is pending", func() bool { return ps.pending(t, handlerName) == 0 })
		first.eachOnce()
		if c := first.ledger.counts(); c.runs != 1 {
			t.Errorf("want one run, got %+v, outcomes %v and %v", c, first.instances, other.instances)
		}
	})
}

// lateness is by how much this machine is late at times, so that a busy one
// does not fail a test of the middleware's own punctuality.
type lateness struct {
	worst atomic.Int64
	stop  chan struct{}
}

func (l *lateness) watch() {
	const nap = 5 * time.Millisecond
	for {
		from := time.Now()
		select {
		case <-l.stop:
			return
		case <-time.After(nap):
		}
		if late := int64(time.Since(from) - nap); late > l.worst.Load() {
			l.worst.Store(late)
		}
	}
}

func TestHungRedisCancelsEveryHandlerWithinItsLease(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		const lease = time.Second
		const handlers = 4
		server := newHungRedis(t)
		r := newRig(t, ps)
		r.store = openRedisStore(t, server.Addr, "behaviour")
		r.subscriptions = handlers
		d := r.leased(func(c *dedup.Config) { c.Lease = lease })
		var mu sync.Mutex
		var cancelled []time.Time
		var hung atomic.Bool
		var running atomic.Int64
		var seen errorsSeen
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			if hung.Load() {
				r.ledger.effect(job)
				return nil
			}
			running.Add(1)
			<-msg.Context().Done()
			running.Add(-1)
			mu.Lock()
			defer mu.Unlock()
			cancelled = append(cancelled, time.Now())
			if cause := context.Cause(msg.Context()); !errors.Is(cause, dedup.ErrLeaseLost) {
				t.Errorf("the handler's context was cancelled because %v, want ErrLeaseLost", cause)
			}
			return errHandler
		}, seen.wrap, d.wrap)
		r.run()
		r.publish(1, jobs("j", 4*handlers)...)
		r.await("handlers run", func() bool { return r.ledger.counts().runs >= handlers })
		time.Sleep(lease) // so that leases are being renewed

		late := &lateness{stop: make(chan struct{})}
		go late.watch()
		server.hang()
		stopped, ran := time.Now(), int(running.Load())
		time.Sleep(3 * time.Second) // the outage
		hung.Store(true)
		server.resume()
		close(late.stop)

		mu.Lock()
		limit := lease*11/10 + time.Duration(late.worst.Load())
		if len(cancelled) != ran || ran < handlers {
			t.Errorf("%d of %d handlers were cancelled", len(cancelled), ran)
		}
		var slowest time.Duration
		for _, at := range cancelled {
			took := at.Sub(stopped)
			slowest = max(slowest, took)
			if took > limit {
				t.Errorf("a handler's context was cancelled %s after Redis stopped, want at most %s", took, limit)
			}
		}
		mu.Unlock()
		t.Logf("%d handlers cancelled, the last %s after Redis stopped", ran, slowest)
		r.awaitAcks(4 * handlers)
		r.eachOnce()
		// The error of a handler that lost its lease is nobody's concern.
		if errs := seen.all(); len(errs) > 0 {
			t.Errorf("handlers that lost their lease left with an error: %v", errs)
		}
		if got := d.count(dedup.LeaseLost); got != ran {
			t.Errorf("%d handlers lost their lease, counted %d", ran, got)
		}
	})
}

func TestLostLeaseRecordsASuccess(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.store = &interposed{Store: r.store, before: func(o op, _ store.Key) error {
			if o == opRenew {
				return errStore
			}
			return nil
		}}
		d := r.leased(func(c *dedup.Config) { c.Lease = 500 * time.Millisecond })
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			<-msg.Context().Done()
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.LeaseLost: 1})
		if got := stateOf(t, ps.store, handlerName, "a"); got != store.Done {
			t.Errorf("the job is %s, want done", got)
		}
	})
}

// disowning answers every renewal as if somebody else had taken the claim.
type disowning struct{ *interposed }

func (disowning) Renew(context.Context, store.Key, string, time.Duration) (store.State, error) {
	return store.Held, nil
}

func TestClaimTakenByAnotherCancelsTheHandlerAtOnce(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		r.store = &disowning{&interposed{Store: r.store}}
		const lease = 6 * time.Second
		d := r.leased(func(c *dedup.Config) { c.Lease = lease })
		r.consume(func(msg *message.Message) error {
			job, _ := r.start(msg)
			started := time.Now()
			<-msg.Context().Done()
			if took := time.Since(started); took > lease*3/4 {
				t.Errorf("the handler was cancelled after %s, want with the first renewal", took)
			}
			if cause := context.Cause(msg.Context()); !errors.Is(cause, dedup.ErrLeaseLost) {
				t.Errorf("the handler's context was cancelled because %v, want ErrLeaseLost", cause)
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.LeaseLost: 1})
	})
}
