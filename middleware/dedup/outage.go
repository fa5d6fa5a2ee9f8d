package dedup

import (
	"sync/atomic"

	"github.com/ThreeDotsLabs/watermill"
)

// outage logs the beginning and the end of a store's failure once each. A
// store that fails at once would otherwise log every attempt of every copy.
type outage struct {
	logger watermill.LoggerAdapter
	down   atomic.Bool
}

// note takes the error of a call to the store, or nil.
func (o *outage) note(err error) {
	switch {
	case err != nil:
		if !o.down.Swap(true) {
			o.logger.Error("Deduplication store fails; further failures are not logged until it answers", err, nil)
		}
	case o.down.Load():
		if o.down.Swap(false) {
			o.logger.Info("Deduplication store answers again", nil)
		}
	}
}
