package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// strategy is a way to deduplicate.
type strategy string

const (
	none         strategy = "none"
	checkThenAct strategy = "check-then-act"
	setnx        strategy = "setnx"
	stock        strategy = "watermill"
	leased       strategy = "leased"
	leasedKey    strategy = "leased+idempotency-key"
)

var allStrategies = []strategy{none, checkThenAct, setnx, stock, leased, leasedKey}

// reaches tells whether a consumer with this strategy comes to a kill point.
func (s strategy) reaches(p killPoint) bool {
	switch p {
	case beforeClaim, afterClaim:
		return s == setnx || s.leased()
	case afterComplete:
		return s == checkThenAct || s.leased()
	default:
		return true
	}
}

func (s strategy) leased() bool { return s == leased || s == leasedKey }

// jobField is the metadata field with the business key.
const jobField = "job_id"

// remember is how long a job is remembered as done, or claimed by setnx.
const remember = 24 * time.Hour

// protect adds the strategy to the consumer's router. The baselines work
// inside their handler slots, as hand-written ones do in the handler itself.
// The returned function is called after the router was closed.
func (c *consumer) protect(router *message.Router) (closing func(context.Context) error, err error) {
	limit := dedup.Limit(c.Settings.Handlers)
	closing = func(context.Context) error { return nil }
	switch c.Strategy {
	case none:
		router.AddMiddleware(limit)
	case checkThenAct:
		router.AddMiddleware(limit, c.checkThenAct)
	case setnx:
		router.AddMiddleware(limit, c.claimForEver)
	case stock:
		seen, err := middleware.NewMapExpiringKeyRepository(remember)
		if err != nil {
			return nil, err
		}
		byJob := &middleware.Deduplicator{
			KeyFactory: middleware.NewMessageHasherFromMetadataField(jobField),
			Repository: seen,
		}
		router.AddMiddleware(limit, byJob.Middleware)
	case leased, leasedKey:
		s, err := redisstore.New(c.storeClient, c.Namespace)
		if err != nil {
			return nil, err
		}
		d, err := dedup.Leased(&witness{store: s, ev: c.evidence, killer: &c.killer}, keyextract.Metadata(jobField), dedup.Config{
			Retention:      remember,
			Lease:          c.Settings.Lease,
			RedeliverAfter: c.Settings.MaxIdle,
			Observer: dedup.ObserverFunc(func(p dedup.Pass) {
				c.evidence.write(evOutcome, p.Outcome.String(), "observed")
			}),
		}, c.logger)
		if err != nil {
			return nil, err
		}
		router.AddMiddleware(d.Middleware, limit)
		closing = d.Close
	default:
		return nil, fmt.Errorf("unknown strategy %q", c.Strategy)
	}
	return closing, nil
}

// checkThenAct is the race of a marker that is read, and written after the
// work.
func (c *consumer) checkThenAct(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		done := c.Namespace + ":done:" + msg.Metadata.Get(jobField)
		found, err := c.storeClient.Exists(msg.Context(), done).Result()
		if err != nil {
			return nil, err
		}
		if found > 0 {
			return nil, nil
		}
		out, err := h(msg)
		if err != nil {
			return nil, err
		}
		if err := c.storeClient.Set(msg.Context(), done, 1, remember).Err(); err != nil {
			return nil, err
		}
		c.killer.reached(afterComplete)
		return out, nil
	}
}

// claimForEver is a claim before the work that nobody ever gives back.
func (c *consumer) claimForEver(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		claim := c.Namespace + ":claim:" + msg.Metadata.Get(jobField)
		c.killer.reached(beforeClaim)
		err := c.storeClient.SetArgs(msg.Context(), claim, 1, redis.SetArgs{Mode: "NX", TTL: remember}).Err()
		if errors.Is(err, redis.Nil) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		c.killer.reached(afterClaim)
		return h(msg)
	}
}
