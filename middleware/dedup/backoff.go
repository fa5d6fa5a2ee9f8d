package dedup

import (
	"math/rand/v2"
	"time"
)

// The waits between two questions to the store: short at first, because most
// handlers are, and long enough at last that a copy costs it about seven calls
// a second.
const (
	firstPoll  = 10 * time.Millisecond
	maxPoll    = 150 * time.Millisecond
	pollFactor = 1.5
)

// backoff yields growing waits. The zero value starts at firstPoll.
type backoff struct{ last time.Duration }

// next returns the next wait with a jitter of a fifth either way, so that the
// copies of a burst do not ask at the same moment for ever.
func (b *backoff) next() time.Duration {
	if b.last == 0 {
		b.last = firstPoll
	} else {
		b.last = min(maxPoll, time.Duration(float64(b.last)*pollFactor))
	}
	return time.Duration(float64(b.last) * (0.8 + 0.4*rand.Float64()))
}
