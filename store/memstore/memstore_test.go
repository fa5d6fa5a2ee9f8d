package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store/memstore"
	"github.com/watermill-dedup/watermill-dedup/store/storetest"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	t.Run("RealTime", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(tb testing.TB) storetest.Harness {
			return storetest.Harness{
				Store:     newStore(tb, memstore.Config{}),
				Neighbour: newStore(tb, memstore.Config{}),
			}
		})
	})
	t.Run("ClockAnHourOff", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(tb testing.TB) storetest.Harness { return clocked(tb, memstore.Config{}) })
	})
	t.Run("Bounded", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(tb testing.TB) storetest.Harness { return clocked(tb, memstore.Config{MaxKeys: 1000}) })
	})
}

// clocked is a store whose clock is an hour behind and moves only when told.
func clocked(tb testing.TB, cfg memstore.Config) storetest.Harness {
	start := time.Now().Add(-time.Hour)
	var passed atomic.Int64
	cfg.Now = func() time.Time { return start.Add(time.Duration(passed.Load())) }
	return storetest.Harness{
		Store:   newStore(tb, cfg),
		Advance: func(d time.Duration) { passed.Add(int64(d)) },
	}
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(tb testing.TB) storetest.Harness {
		return storetest.Harness{Store: newStore(tb, memstore.Config{})}
	})
}

func newStore(tb testing.TB, cfg memstore.Config) *memstore.Store {
	tb.Helper()
	s, err := memstore.New("test", cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
