package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

const testJobs = 100

func TestInMemory(t *testing.T) {
	t.Parallel()
	got := runAll(t, inMemory)

	if r := got["none"]; r.duplicates != testJobs || r.missing != 0 {
		t.Errorf("none: want every job twice, got %+v", r)
	}
	if r := got["stock Deduplicator"]; r.duplicates != 0 || r.missing != testJobs/10 {
		t.Errorf("stock: want one job in ten missing, got %+v", r)
	}
	if r := got["dedup.Leased"]; r.duplicates != 0 || r.missing != 0 {
		t.Errorf("leased: want every job once, got %+v", r)
	}
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	server := testserver.NewRedis(t, testserver.RedisOptions{})
	options := connectTo(t, server)
	got := runAll(t, func() (*place, error) { return onRedis(options) })
	expectEmpty(t, options)

	if r := got["none"]; r.duplicates != testJobs || r.missing != 0 {
		t.Errorf("none: want every job twice, got %+v", r)
	}
	// How many depends on which replica got which copy.
	if r := got["stock Deduplicator"]; r.duplicates == 0 || r.missing == 0 {
		t.Errorf("stock: want jobs missing and repeated, got %+v", r)
	}
	if r := got["dedup.Leased"]; r.duplicates != 0 || r.missing != 0 {
		t.Errorf("leased: want every job once, got %+v", r)
	}
}

func TestInterruptedOnRedis(t *testing.T) {
	t.Parallel()
	options := connectTo(t, testserver.NewRedis(t, testserver.RedisOptions{}))
	leased := approaches[len(approaches)-1]
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupt := errors.New("interrupt")

	client := redis.NewClient(options)
	defer client.Close()
	go func() {
		for ctx.Err() == nil && len(client.Keys(ctx, "dedup:*").Val()) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel(interrupt)
	}()
	_, err := run(ctx, leased, func() (*place, error) { return onRedis(options) }, 10*testJobs)
	if !errors.Is(err, interrupt) {
		t.Errorf("got %v, want %v", err, interrupt)
	}
	expectEmpty(t, options)
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	if _, err := connect(t.Context(), "localhost:6379"); err == nil {
		t.Error("a URL without redis:// was accepted")
	}
	server := testserver.NewRedis(t, testserver.RedisOptions{})
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	_, err := connect(t.Context(), "redis://"+server.Addr)
	if err == nil || strings.Count(err.Error(), server.Addr) != 1 {
		t.Errorf("no server: got %v, want an error that names it once", err)
	}
}

func connectTo(t *testing.T, server *testserver.Redis) *redis.Options {
	t.Helper()
	options, err := connect(t.Context(), "redis://"+server.Addr)
	if err != nil {
		t.Fatal(err)
	}
	return options
}

// expectEmpty checks that the runs removed what they had made.
func expectEmpty(t *testing.T, options *redis.Options) {
	t.Helper()
	client := redis.NewClient(options)
	defer client.Close()
	keys, err := client.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 0 {
		t.Errorf("left in Redis: %d keys, such as %.3q (%v)", len(keys), keys, err)
	}
}

func runAll(t *testing.T, open func() (*place, error)) map[string]result {
	t.Helper()
	got := map[string]result{}
	for _, a := range approaches {
		r, err := run(t.Context(), a, open, testJobs)
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		if r.jobs != testJobs || r.done+r.missing != testJobs {
			t.Errorf("%s: figures do not add up: %+v", a.name, r)
		}
		got[a.name] = r
	}
	return got
}
