// Package memstore keeps claims and done markers in the memory of one process.
//
// What it remembers is one process's window: a second replica has its own, and
// a restart forgets everything. It suits tests, command-line programs and a
// service that runs as exactly one process and can afford to repeat the jobs
// in flight when it dies. For several replicas use redisstore or a database.
//
// It starts no goroutine. Expired keys are removed by later calls, at most a
// few in each, so memory follows the number of keys that are still live.
package memstore

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// ErrFull is returned by Claim when MaxKeys is reached and every key is a live
// claim, which is never evicted. The key was not claimed.
var ErrFull = errors.New("memstore is full of live claims")

// Config tunes a Store. Its zero value works.
type Config struct {
	// MaxKeys bounds the number of keys. A claim that would exceed it evicts
	// the done marker that ends first, which shortens the window in which
	// duplicates are recognised, silently. It never evicts a live claim:
	// where there is nothing else, Claim fails with ErrFull. Only a Complete
	// that lost its claim can exceed the bound, because its effect has
	// happened. From 2,048 on the bound is split over shards by hash, so the
	// first eviction can come a few percent early.
	// Default: 0, unbounded; memory follows the rate of jobs times retention.
	MaxKeys int

	// Now is the clock. Only differences between its answers matter, so it
	// may be any amount off.
	// Default: time.Now.
	Now func() time.Time
}

// Store is a store.Store in memory. It is safe for concurrent use.
type Store struct {
	namespace string
	now       func() time.Time
	start     time.Time
	seed      maphash.Seed
	shards    []shard
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Namespacer = (*Store)(nil)
	_ store.Local      = (*Store)(nil)
)

const (
	maxShards = 64
	// minShardKeys keeps the shards of a bounded store so large that their
	// fill levels differ by a few percent only.
	minShardKeys = 1024
)

// New returns an empty store. Two stores never share keys, whatever their
// namespaces; the namespace is mixed into idempotency keys.
//
// It returns store.ErrEmptyNamespace for an empty namespace, and an error that
// names the field for a Config that makes no sense.
func New(namespace string, cfg Config) (*Store, error) {
	if namespace == "" {
		return nil, store.ErrEmptyNamespace
	}
	if cfg.MaxKeys < 0 {
		return nil, fmt.Errorf("Config.MaxKeys must not be negative, got %d", cfg.MaxKeys)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}

	n := maxShards
	if cfg.MaxKeys > 0 {
		n = min(maxShards, max(1, cfg.MaxKeys/minShardKeys))
	}
	s := &Store{
		namespace: namespace,
		now:       cfg.Now,
		start:     cfg.Now(),
		seed:      maphash.MakeSeed(),
		shards:    make([]shard, n),
	}
	for i := range s.shards {
		s.shards[i].entries = make(map[store.Key]*entry)
		s.shards[i].limit = cfg.MaxKeys / n
		if i < cfg.MaxKeys%n {
			s.shards[i].limit++
		}
	}
	return s, nil
}

// Namespace returns the name that the store was built with.
func (s *Store) Namespace() string { return s.namespace }

// Local tells callers that no operation waits.
func (s *Store) Local() {}

// Len returns how many keys are kept. It can include some that have expired
// and were not removed yet.
func (s *Store) Len() int {
	n := 0
	for i := range s.shards {
		sh := &s.shards[i]
		sh.mu.Lock()
		n += len(sh.entries)
		sh.mu.Unlock()
	}
	return n
}

// Claim takes the key for token until lease has passed. It returns ErrFull
// when MaxKeys live claims are kept.
func (s *Store) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (store.Claim, error) {
	lease, err := check(ctx, "lease", lease)
	if err != nil {
		return store.Claim{}, fmt.Errorf("could not claim: %w", err)
	}
	sh, now := s.open(key)
	defer sh.mu.Unlock()

	e, state := sh.find(key, token, now)
	switch state {
	case store.Free:
		e, err = sh.add(key)
		if err != nil {
			return store.Claim{}, fmt.Errorf("could not claim: %w", err)
		}
		e.token = token
		sh.keep(e, store.Acquired, after(now, lease))
	case store.Acquired:
		sh.keep(e, store.Acquired, after(now, lease))
	case store.Done:
		return store.Claim{State: store.Done, At: s.start.Add(e.doneAt)}, nil
	case store.Held:
		return store.Claim{State: store.Held}, nil
	}
	return store.Claim{State: store.Acquired}, nil
}

// Renew restarts the lease of a claim that token still owns.
func (s *Store) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) (store.State, error) {
	lease, err := check(ctx, "lease", lease)
	if err != nil {
		return 0, fmt.Errorf("could not renew: %w", err)
	}
	sh, now := s.open(key)
	defer sh.mu.Unlock()

	e, state := sh.find(key, token, now)
	if state == store.Acquired {
		sh.keep(e, store.Acquired, after(now, lease))
	}
	return state, nil
}

// Complete records the key as done for retention. Where it finds done it
// changes nothing.
func (s *Store) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	retention, err := check(ctx, "retention", retention)
	if err != nil {
		return 0, fmt.Errorf("could not complete: %w", err)
	}
	sh, now := s.open(key)
	defer sh.mu.Unlock()

	e, state := sh.find(key, token, now)
	if state == store.Done {
		return state, nil
	}
	if state == store.Free {
		e = sh.addAnyway(key)
	}
	e.token = ""
	e.doneAt = now
	sh.keep(e, store.Done, after(now, retention))
	return state, nil
}

// Release gives up a claim that token still owns.
func (s *Store) Release(ctx context.Context, key store.Key, token string) (store.State, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("could not release: %w", err)
	}
	sh, now := s.open(key)
	defer sh.mu.Unlock()

	e, state := sh.find(key, token, now)
	if state == store.Acquired {
		sh.remove(e)
	}
	return state, nil
}

// check refuses ended contexts and bad durations, and rounds the duration up
// to a millisecond.
func check(ctx context.Context, name string, d time.Duration) (time.Duration, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	ms, err := store.Millis(name, d)
	if err != nil {
		return 0, err
	}
	if ms > int64(forever/time.Millisecond) {
		return forever, nil
	}
	return time.Duration(ms) * time.Millisecond, nil
}

// open locks the key's shard and returns the time since the store's start,
// read inside the lock so that time never runs backwards within a shard.
func (s *Store) open(key store.Key) (*shard, time.Duration) {
	h := maphash.String(s.seed, key.Scope)*31 + maphash.String(s.seed, key.ID)
	sh := &s.shards[h%uint64(len(s.shards))]
	sh.mu.Lock()
	now := s.now().Sub(s.start)
	sh.expire(now)
	return sh, now
}
