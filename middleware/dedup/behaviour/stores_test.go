package behaviour_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// op names an operation of a store.
type op string

const (
	opClaim    op = "claim"
	opRenew    op = "renew"
	opComplete op = "complete"
	opRelease  op = "release"
)

var errStore = errors.New("the store fails on purpose")

// interposed stands between the middleware and its store. An error of before
// keeps the operation from the store; an error of after replaces the answer of
// one that took effect.
type interposed struct {
	store.Store
	before, after func(op, store.Key) error
	calls         atomic.Int64
}

func (s *interposed) around(o op, key store.Key, call func() error) error {
	s.calls.Add(1)
	if s.before != nil {
		if err := s.before(o, key); err != nil {
			return err
		}
	}
	if err := call(); err != nil {
		return err
	}
	if s.after != nil {
		return s.after(o, key)
	}
	return nil
}

func (s *interposed) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (c store.Claim, err error) {
	err = s.around(opClaim, key, func() (err error) {
		c, err = s.Store.Claim(ctx, key, token, lease)
		return err
	})
	if err != nil {
		return store.Claim{}, err
	}
	return c, nil
}

func (s *interposed) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) (st store.State, err error) {
	return s.state(opRenew, key, func() (store.State, error) { return s.Store.Renew(ctx, key, token, lease) })
}

func (s *interposed) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	return s.state(opComplete, key, func() (store.State, error) { return s.Store.Complete(ctx, key, token, retention) })
}

func (s *interposed) Release(ctx context.Context, key store.Key, token string) (store.State, error) {
	return s.state(opRelease, key, func() (store.State, error) { return s.Store.Release(ctx, key, token) })
}

func (s *interposed) state(o op, key store.Key, call func() (store.State, error)) (st store.State, err error) {
	err = s.around(o, key, func() (err error) {
		st, err = call()
		return err
	})
	if err != nil {
		return 0, err
	}
	return st, nil
}

// breakable makes the rig's store fail at once while the switch is on.
func (r *rig) breakable() *atomic.Bool {
	var down atomic.Bool
	r.store = &interposed{Store: r.store, before: func(op, store.Key) error {
		if down.Load() {
			return errStore
		}
		return nil
	}}
	return &down
}

// counted counts the calls to the rig's store.
func (r *rig) counted() *atomic.Int64 {
	s := &interposed{Store: r.store}
	r.store = s
	return &s.calls
}

// claimElsewhere claims a job as another process would.
func claimElsewhere(t *testing.T, s store.Store, scope, job string, lease time.Duration) {
	t.Helper()
	found, err := s.Claim(t.Context(), store.Key{Scope: scope, ID: secret + job}, "another process", lease)
	noError(t, err)
	if found.State != store.Acquired {
		t.Fatalf("claim elsewhere found %s", found.State)
	}
}

// releaseElsewhere ends such a claim.
func releaseElsewhere(t *testing.T, s store.Store, scope, job string) {
	t.Helper()
	_, err := s.Release(t.Context(), store.Key{Scope: scope, ID: secret + job}, "another process")
	noError(t, err)
}

// stateOf returns the state of a job as another process would see it. It
// leaves nothing behind.
func stateOf(t *testing.T, s store.Store, scope, job string) store.State {
	t.Helper()
	state, err := s.Renew(t.Context(), store.Key{Scope: scope, ID: secret + job}, "a probe", time.Second)
	noError(t, err)
	return state
}

// Namespace is the inner store's.
func (s *interposed) Namespace() string { return s.Store.(store.Namespacer).Namespace() }
