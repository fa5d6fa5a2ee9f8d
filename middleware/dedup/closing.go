package dedup

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// closingKey is the context key of a subscription's closing channel.
type closingKey struct{}

// withClosing stamps a message's context with a channel that is closed when
// its subscription ends. A message's own context does not always tell: some
// subscribers hand out redelivered messages with a context that never ends.
func withClosing(ctx context.Context, closing <-chan struct{}) context.Context {
	return context.WithValue(ctx, closingKey{}, closing)
}

// closingFrom returns the stamped channel, or nil, which never closes.
func closingFrom(ctx context.Context) <-chan struct{} {
	closing, _ := ctx.Value(closingKey{}).(<-chan struct{})
	return closing
}

// spinPause is the least time that a message is kept before it goes back
// without its handler having run. What ended its time may have ended before it
// came, most subscribers redeliver at once, and both together would spin.
const spinPause = 100 * time.Millisecond

// avoidSpin waits until a message that came at arrived may go back.
func avoidSpin(msg *message.Message, arrived time.Time) {
	if !acked(msg) { // or it cannot come back
		time.Sleep(spinPause - time.Since(arrived))
	}
}
