package dedup

import (
	"context"
	"time"
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

// spinPause is how long a message is kept that goes back for a reason that will
// not pass by itself: most subscribers redeliver at once, and would spin.
const spinPause = 100 * time.Millisecond

// pauseAfterClose slows down a message that is nacked because of Close: a
// router that is still open would get it back at once, over and over.
func pauseAfterClose(ctx context.Context) {
	timer := time.NewTimer(spinPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-closingFrom(ctx):
	}
}
