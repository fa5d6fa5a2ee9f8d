package dedup

import (
	"context"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// Dedup is the middleware.
type Dedup struct{ cfg Config }

// Leased is a skeleton.
func Leased(s store.Store, key keyextract.Func, cfg Config, logger watermill.LoggerAdapter) (*Dedup, error) {
	cfg, err := cfg.withDefaults()
	return &Dedup{cfg: cfg}, err
}

// Middleware is a skeleton.
func (d *Dedup) Middleware(h message.HandlerFunc) message.HandlerFunc { return h }

// Plugin is a skeleton.
func (d *Dedup) Plugin(r *message.Router) error { return nil }

// Close is a skeleton.
func (d *Dedup) Close(ctx context.Context) error { return nil }

// Limit is a skeleton.
func Limit(n int) message.HandlerMiddleware {
	return func(h message.HandlerFunc) message.HandlerFunc { return h }
}

// Subscriptions is a skeleton.
func Subscriptions(sub message.Subscriber, n int) message.Subscriber { return sub }

// IdempotencyKey is a skeleton.
func IdempotencyKey(ctx context.Context) string { return "" }
