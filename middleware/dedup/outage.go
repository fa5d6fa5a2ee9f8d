package dedup

import (
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
)

// outage logs the beginning and the end of a store's failure once each. A
// store that fails at once would otherwise log every attempt of every copy.
type outage struct {
	logger watermill.LoggerAdapter
	// calm is how long no call may fail before the outage is over: a server
	// may refuse some operations or keys, and go on answering others.
	calm time.Duration

	down atomic.Bool
	last atomic.Int64 // Unix time of the last failure in ns
}

// note takes the error of a call to the store, or nil.
func (o *outage) note(err error) {
	switch {
	case err != nil:
		o.last.Store(time.Now().UnixNano())
		if !o.down.Swap(true) {
			o.logger.Error("Deduplication store fails; further failures are not logged until it answers", err, nil)
		}
	case o.down.Load() && time.Since(time.Unix(0, o.last.Load())) >= o.calm:
		if o.down.Swap(false) {
			o.logger.Info("Deduplication store answers again", nil)
		}
	}
}
