package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

const (
	lease     = 3 * time.Second
	retention = 24 * time.Hour
	token     = "0123456789abcdef0123456789abcdef"
)

// way runs jobs once each.
type way struct {
	name string
	// run does what a first copy needs before and after its effect.
	run func(ctx context.Context, id string) error
	// skip does what a copy of a job that is done needs.
	skip func(ctx context.Context, id string) error
}

var errUnexpected = errors.New("unexpected answer")

// ways returns the hand-written commands first: they are what the others are
// compared to.
func ways(client *redis.Client) ([]way, error) {
	s, err := redisstore.New(client, "bench")
	if err != nil {
		return nil, err
	}
	locker := redislock.New(client)

	isDone := func(ctx context.Context, id string, want int64) error {
		n, err := client.Exists(ctx, "done:"+id).Result()
		if err == nil && n != want {
			err = errUnexpected
		}
		return err
	}
	setDone := func(ctx context.Context, id string) error {
		return client.Set(ctx, "done:"+id, 1, retention).Err()
	}
	checkDone := func(ctx context.Context, id string) error { return isDone(ctx, id, 1) }

	return []way{
		{
			name: "by hand (EXISTS, SET NX PX, SET EX)",
			run: func(ctx context.Context, id string) error {
				if err := isDone(ctx, id, 0); err != nil {
					return err
				}
				if err := client.SetArgs(ctx, "claim:"+id, token, redis.SetArgs{Mode: "NX", TTL: lease}).Err(); err != nil {
					return err
				}
				return setDone(ctx, id)
			},
			skip: checkDone,
		},
		{
			name: "redisstore",
			run: func(ctx context.Context, id string) error {
				key := store.Key{Scope: "jobs", ID: id}
				c, err := s.Claim(ctx, key, token, lease)
				if err == nil && c.State != store.Acquired {
					err = fmt.Errorf("%w: %s", errUnexpected, c.State)
				}
				if err != nil {
					return err
				}
				state, err := s.Complete(ctx, key, token, retention)
				if err == nil && state != store.Acquired {
					err = fmt.Errorf("%w: %s", errUnexpected, state)
				}
				return err
			},
			skip: func(ctx context.Context, id string) error {
				c, err := s.Claim(ctx, store.Key{Scope: "jobs", ID: id}, token, lease)
				if err == nil && c.State != store.Done {
					err = fmt.Errorf("%w: %s", errUnexpected, c.State)
				}
				return err
			},
		},
		{
			name: "bsm/redislock and a done key",
			run: func(ctx context.Context, id string) error {
				if err := isDone(ctx, id, 0); err != nil {
					return err
				}
				lock, err := locker.Obtain(ctx, "claim:"+id, lease, nil)
				if err != nil {
					return err
				}
				if err := setDone(ctx, id); err != nil {
					return err
				}
				return lock.Release(ctx)
			},
			skip: checkDone,
		},
	}, nil
}
