package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

// servers are what a run needs.
type servers struct {
	redisURL, storeURL, postgres string
	stops                        []func() error
}

// startServers starts the servers for which no address was given.
func startServers(ctx context.Context, s settings) (_ *servers, err error) {
	on := &servers{redisURL: s.Redis, storeURL: s.StoreRedis, postgres: s.Postgres}
	defer func() {
		if err != nil {
			err = errors.Join(err, on.stop())
		}
	}()
	if on.redisURL == "" {
		r, err := testserver.StartRedis(ctx, testserver.RedisOptions{})
		if err != nil {
			return nil, fmt.Errorf("could not start Redis (-redis names one that runs): %w", err)
		}
		on.stops = append(on.stops, r.Stop)
		on.redisURL = "redis://" + r.Addr
	}
	if on.storeURL == "" {
		on.storeURL = on.redisURL
	}
	if on.postgres == "" {
		p, err := testserver.StartPostgres(ctx, testserver.PostgresOptions{})
		if err != nil {
			return nil, fmt.Errorf("could not start Postgres (-postgres names one that runs): %w", err)
		}
		on.stops = append(on.stops, p.Stop)
		on.postgres = p.DSN
	}
	return on, nil
}

func (on *servers) stop() error {
	var errs []error
	for _, stop := range on.stops {
		errs = append(errs, stop())
	}
	return errors.Join(errs...)
}
