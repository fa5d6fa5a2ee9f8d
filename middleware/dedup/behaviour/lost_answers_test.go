package behaviour_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// loseFirst makes the rig's store lose the first n answers of an operation on
// every key, after it acted.
func (r *rig) loseFirst(n int, which op) *atomic.Int64 {
	var mu sync.Mutex
	var lost atomic.Int64
	seen := map[store.Key]int{}
	r.store = &interposed{Store: r.store, after: func(o op, key store.Key) error {
		if o != which {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[key]++; seen[key] > n {
			return nil
		}
		lost.Add(1)
		return errStore
	}}
	return &lost
}

func TestAnswersLostAfterTheStoreActedHurtNobody(t *testing.T) {
	for _, which := range []op{opClaim, opRenew, opComplete, opRelease} {
		t.Run(string(which), func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				r.subscriptions = 12
				lost := r.loseFirst(2, which)
				// A claim that stayed behind would outlast the test's patience.
				lease := dedup.DefaultLease
				if which == opRenew {
					lease = 3 * time.Second
				}
				d := r.leased(func(c *dedup.Config) { c.Lease = lease })
				var runs atomic.Int64
				r.consume(func(msg *message.Message) error {
					job, _ := r.start(msg)
					if which == opRenew {
						time.Sleep(1500 * time.Millisecond)
					}
					if which == opRelease && runs.Add(1)%3 == 0 {
						return errHandler
					}
					r.ledger.effect(job)
					return nil
				}, d.wrap)
				r.run()
				const n = 12
				r.publish(2, jobs("j", n)...)
				r.awaitAcks(2 * n)

				r.eachOnce()
				if lost.Load() < 3 {
					t.Errorf("only %d answers were lost", lost.Load())
				}
				d.only(t, dedup.Processed, dedup.Replayed, dedup.Duplicate, dedup.Failed)
				for _, job := range jobs("j", n) {
					if got := stateOf(t, r.store, handlerName, job); got != store.Done {
						t.Errorf("job %s is %s, want done", job, got)
					}
				}
			})
		})
	}
}

// Every delivery claims with a token of its own, so a claim whose answer was
// lost would hold out the job's next delivery for the whole lease.
func TestClaimsWithLostAnswersDoNotStayBehind(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		var losing atomic.Bool
		r.store = &interposed{Store: r.store, after: func(o op, _ store.Key) error {
			if o == opClaim && losing.Load() {
				return errStore
			}
			return nil
		}}
		d := r.leased(func(c *dedup.Config) { c.HeldWait = 150 * time.Millisecond })
		r.consume(r.work(0), d.wrap)
		losing.Store(true)
		r.run()
		r.publish(crowd, "a")
		r.await("copies were sent back", func() bool { return r.ledger.counts().nacked >= crowd })
		losing.Store(false)
		started := time.Now()
		r.awaitAcks(crowd)
		if took := time.Since(started); took > dedup.DefaultLease/3 {
			t.Errorf("the job was done %s after the answers came again, with a lease of %s", took, dedup.DefaultLease)
		}
		r.eachOnce()
	})
}

// A Redis that was stopped carries out, when it resumes, the claims whose
// senders have given up.
func TestClaimsThatAHungRedisCarriesOutLateDoNotStayBehind(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		server := newHungRedis(t)
		r := newRig(t, ps)
		r.store = openRedisStore(t, server.Addr, "behaviour")
		d := r.leased(func(c *dedup.Config) {
			c.HeldWait = 200 * time.Millisecond
			c.StoreTimeout = 100 * time.Millisecond
		})
		r.consume(r.work(0), d.wrap)
		r.run()
		r.publish(1, "warms the connections up")
		r.awaitAcks(1)
		server.hang()
		r.publish(crowd, jobs("j", 3)...)
		r.await("copies were sent back", func() bool { return r.ledger.counts().nacked >= crowd })
		server.resume()
		started := time.Now()
		r.awaitAcks(1 + crowd*3)
		if took := time.Since(started); took > dedup.DefaultLease/3 {
			t.Errorf("the jobs were done %s after Redis resumed, with a lease of %s", took, dedup.DefaultLease)
		}
		r.eachOnce()
	})
}
