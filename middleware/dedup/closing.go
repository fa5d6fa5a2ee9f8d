package dedup

import "context"

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
