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
		storetest.Run(t, func(tb testing.TB) storetest.Harness {
			var offset atomic.Int64
			offset.Store(int64(-time.Hour))
			frozen := time.Now()
			return storetest.Harness{
				Store: newStore(tb, memstore.Config{
					Now: func() time.Time { return frozen.Add(time.Duration(offset.Load())) },
				}),
				Advance: func(d time.Duration) { offset.Add(int64(d)) },
			}
		})
	})
	t.Run("Bounded", func(t *testing.T) {
		t.Parallel()
		storetest.Run(t, func(tb testing.TB) storetest.Harness {
			return storetest.Harness{Store: newStore(tb, memstore.Config{MaxKeys: 1000})}
		})
	})
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
