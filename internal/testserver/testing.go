package testserver

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
)

var (
	sharedRedis = sync.OnceValues(func() (*Redis, error) {
		return StartRedis(context.Background(), RedisOptions{})
	})
	sharedPostgres = sync.OnceValues(func() (*Postgres, error) {
		return StartPostgres(context.Background(), PostgresOptions{})
	})
)

// SharedRedis returns the one Redis server of this test binary, which ends
// with it. Tests keep apart by their key prefixes and must not stop, stop
// answering or flush it.
//
// Without a server to start the test is skipped, or fails if the environment
// says REQUIRE_SERVERS=1. That holds for every function here that takes a
// testing.TB.
func SharedRedis(t testing.TB) *Redis {
	t.Helper()
	r, err := sharedRedis()
	requireServer(t, err)
	return r
}

// NewRedis starts a Redis server for this test alone, and stops it when the
// test ends.
func NewRedis(t testing.TB, opts RedisOptions) *Redis {
	t.Helper()
	r, err := StartRedis(t.Context(), opts)
	requireServer(t, err)
	stopAtEnd(t, r)
	return r
}

// SharedPostgres returns the one Postgres server of this test binary, which
// ends with it. Tests keep apart by their schemas.
func SharedPostgres(t testing.TB) *Postgres {
	t.Helper()
	p, err := sharedPostgres()
	requireServer(t, err)
	return p
}

// NewPostgres starts a Postgres server for this test alone, and stops it when
// the test ends.
func NewPostgres(t testing.TB, opts PostgresOptions) *Postgres {
	t.Helper()
	p, err := StartPostgres(t.Context(), opts)
	requireServer(t, err)
	stopAtEnd(t, p)
	return p
}

func requireServer(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, ErrMissing) && os.Getenv("REQUIRE_SERVERS") != "1":
		t.Skipf("SKIPPED, NOT TESTED: %v", err)
	default:
		t.Fatalf("this test needs a server: %v", err)
	}
}

func stopAtEnd(t testing.TB, s interface{ Stop() error }) {
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("could not stop the test's server: %v", err)
		}
	})
}
