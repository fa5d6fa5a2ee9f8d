package behaviour_test

import (
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// Leases end by the store's clock, watched on the local monotonic one; the two
// may disagree about the time of day.
func TestStoreWhoseClockIsAnHourOff(t *testing.T) {
	for name, off := range map[string]time.Duration{"fast": time.Hour, "slow": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				st, err := memstore.New("behaviour", memstore.Config{
					Now: func() time.Time { return time.Now().Add(off) },
				})
				noError(t, err)
				r.store = st
				d := r.leased(func(c *dedup.Config) {
					c.Lease = 2 * time.Second
					c.Retention = time.Minute
				})
				r.subscriptions = 12
				r.consume(func(msg *message.Message) error {
					job, run := r.start(msg)
					time.Sleep(20 * time.Millisecond)
					if job == secret+"slow" {
						time.Sleep(3 * time.Second)
					}
					if run == 1 && job == secret+"fails" {
						return errHandler
					}
					r.ledger.effect(job)
					return nil
				}, d.wrap)
				r.run()
				names := append(jobs("j", 6), "slow", "fails")
				r.publish(3, names...)
				r.awaitAcks(3 * len(names))
				r.eachOnce()
				d.expect(t, map[dedup.Outcome]int{dedup.Processed: len(names), dedup.Failed: 1, dedup.LeaseLost: 0})
			})
		})
	}
}
