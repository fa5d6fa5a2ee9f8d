package main

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// approach is one way to deal with copies.
type approach struct {
	name string
	// protect adds it to the router of a replica that runs at most limit
	// handlers at a time. The returned function is called after the router
	// was closed.
	protect func(router *message.Router, s store.Store, limit int) (func(context.Context) error, error)
	// because says why its row of the table looks as it does.
	because string
	// onReplicas says what more there is to see with several replicas.
	onReplicas string
}

var approaches = []approach{{
	name:    "none",
	protect: none,
	because: "each copy runs until it succeeds",
}, {
	name:       "stock Deduplicator",
	protect:    stock,
	because:    "a key is recorded before the handler runs, so a failed job's retry is dropped",
	onReplicas: "; replicas share nothing",
}, {
	name:    "dedup.Leased",
	protect: leased,
	because: "a failed job gives its claim back, and a copy waits for the one that runs",
}}

func none(router *message.Router, _ store.Store, limit int) (func(context.Context) error, error) {
	router.AddMiddleware(dedup.Limit(limit))
	return doNothing, nil
}

// stock is Watermill's Deduplicator by the same business key. Its memory is the
// replica's own.
func stock(router *message.Router, _ store.Store, limit int) (func(context.Context) error, error) {
	seen, err := middleware.NewMapExpiringKeyRepository(retention)
	if err != nil {
		return nil, err
	}
	d := &middleware.Deduplicator{
		KeyFactory: middleware.NewMessageHasherFromMetadataField(jobField),
		Repository: seen,
	}
	router.AddMiddleware(dedup.Limit(limit), d.Middleware)
	return doNothing, nil
}

// leased is what this library is for. Limit stands inside, so that a copy that
// waits takes no slot from a job that could run.
func leased(router *message.Router, s store.Store, limit int) (func(context.Context) error, error) {
	d, err := dedup.Leased(s, keyextract.Metadata(jobField), dedup.Config{
		Retention:      retention,
		RedeliverAfter: redeliverAfter,
	}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	router.AddPlugin(dedup.WakeOnClose)
	router.AddMiddleware(d.Middleware, dedup.Limit(limit))
	return d.Close, nil
}

// retention is how long jobs are remembered: as long as a copy can arrive. A
// real service says days.
const retention = 10 * time.Minute

func doNothing(context.Context) error { return nil }
