package redisstore_test

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

func TestCheck(t *testing.T) {
	t.Parallel()

	t.Run("Good", func(t *testing.T) {
		t.Parallel()
		s := open(t, testserver.NewRedis(t, testserver.RedisOptions{Persist: true}).Addr, "check")
		expectWarnings(t, s)
	})
	t.Run("Bad", func(t *testing.T) {
		t.Parallel()
		s := open(t, testserver.NewRedis(t, testserver.RedisOptions{
			Args: []string{"--maxmemory-policy", "allkeys-lru"},
		}).Addr, "check")
		expectWarnings(t, s, "appendonly is off", "maxmemory-policy is allkeys-lru")
	})
	t.Run("Replica", func(t *testing.T) {
		t.Parallel()
		s := open(t, testserver.NewRedis(t, testserver.RedisOptions{
			Persist: true,
			Args:    []string{"--replicaof", "127.0.0.1", "1"},
		}).Addr, "check")
		expectWarnings(t, s, "server is a replica")
	})
	t.Run("WrongClientForCluster", func(t *testing.T) {
		t.Parallel()
		s := open(t, startCluster(t, 1)[0], "check")
		expectWarnings(t, s, "appendonly is off", "server is part of a cluster")
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		// Three nodes with one fault are one warning.
		expectWarnings(t, newClusterStore(t, startCluster(t, 3), "check"), "appendonly is off")
	})
	t.Run("Unreachable", func(t *testing.T) {
		t.Parallel()
		s, err := redisstore.Open(&redis.Options{Addr: "127.0.0.1:1"}, "check")
		if err != nil {
			t.Fatal(err)
		}
		if warnings, err := s.Check(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "could not check redis: ") {
			t.Errorf("got %q, %v, want an error", warnings, err)
		}
	})
}

func expectWarnings(t *testing.T, s *redisstore.Store, prefixes ...string) {
	t.Helper()
	warnings, err := s.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ok := len(warnings) == len(prefixes)
	for i := 0; ok && i < len(prefixes); i++ {
		ok = strings.HasPrefix(warnings[i], prefixes[i])
	}
	if !ok {
		t.Errorf("got %q, want sentences that begin with %q", warnings, prefixes)
	}
}
