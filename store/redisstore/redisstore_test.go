package redisstore_test

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
	"github.com/watermill-dedup/watermill-dedup/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness)
}

func harness(tb testing.TB) storetest.Harness {
	addr := testserver.SharedRedis(tb).Addr
	namespace := randomNamespace()
	s := open(tb, addr, namespace)
	raw := newClient(tb, addr)
	return storetest.Harness{
		Store:     s,
		Neighbour: open(tb, addr, namespace+"-2"),
		WriteNewer: func(ctx context.Context, key store.Key, state store.State) error {
			value := "2Csomething else"
			if state == store.Done {
				value = "2D"
			}
			return raw.Set(ctx, "dedup:"+namespace+":"+key.Scope+":"+key.ID, value, 2*time.Minute).Err()
		},
		Break: func() { _ = s.Close() },
	}
}

func BenchmarkStore(b *testing.B) { storetest.Bench(b, harness) }

func randomNamespace() string { return "test-" + rand.Text() }

func open(tb testing.TB, addr, namespace string) *redisstore.Store {
	tb.Helper()
	return openAs(tb, addr, "", "", namespace)
}

func openAs(tb testing.TB, addr, user, password, namespace string) *redisstore.Store {
	tb.Helper()
	s, err := redisstore.Open(&redis.Options{Addr: addr, Username: user, Password: password}, namespace)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

func newClient(tb testing.TB, addr string) *redis.Client {
	tb.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { _ = c.Close() })
	return c
}
