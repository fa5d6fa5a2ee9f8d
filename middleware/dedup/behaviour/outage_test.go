package behaviour_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// underLoad publishes two copies of a job every 40 ms, lets the store be away
// meanwhile, and checks that no job is lost, none acked before it is done, and
// none repeated: every copy comes back to the process that had it.
func underLoad(t *testing.T, r *rig, away func()) {
	t.Helper()
	const handler = 30 * time.Millisecond
	r.subscriptions = 20
	r.checkRecords()
	d := r.leased(func(c *dedup.Config) {
		c.Lease = 3 * time.Second
		c.HeldWait = 2 * time.Second
	})
	r.consume(r.work(handler), d.wrap, dedup.Limit(20))
	r.run()

	over := make(chan struct{})
	go func() {
		defer close(over)
		time.Sleep(500 * time.Millisecond)
		away()
		time.Sleep(500 * time.Millisecond)
	}()
	published := 0
	for i, loading := 0, true; loading; i++ {
		r.publish(2, fmt.Sprint("j-", i))
		published += 2
		select {
		case <-over:
			loading = false
		case <-time.After(40 * time.Millisecond):
		}
	}
	r.awaitAcks(published)

	r.eachOnce()
	if d.count(dedup.StoreError) == 0 {
		t.Errorf("the outage was not noticed: %s", d)
	}
	t.Logf("%d messages: %s", published, d)
}

const outage = 10 * time.Second

func TestStoreFailingForTenSecondsUnderLoad(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		down := r.breakable()
		underLoad(t, r, func() {
			down.Store(true)
			time.Sleep(outage)
			down.Store(false)
		})
	})
}

func TestRedisKilledForTenSecondsUnderLoad(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		server := testserver.NewRedis(t, testserver.RedisOptions{Persist: true})
		r := newRig(t, ps)
		r.store = openRedisStore(t, server.Addr, "behaviour")
		underLoad(t, r, func() {
			if err := server.Kill(); err != nil {
				t.Error(err)
			}
			time.Sleep(outage)
			if err := server.Start(); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestRedisHangingForTenSecondsUnderLoad(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		server := newHungRedis(t)
		r := newRig(t, ps)
		r.store = openRedisStore(t, server.Addr, "behaviour")
		underLoad(t, r, func() {
			server.hang()
			time.Sleep(outage)
			server.resume()
		})
	})
}
