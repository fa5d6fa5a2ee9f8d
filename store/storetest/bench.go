package storetest

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// Bench measures what the middleware asks of a store, with 1, 20 and 64
// goroutines: a first copy (Claim and Complete), a copy that meets done and a
// copy that meets a held claim.
func Bench(b *testing.B, factory Factory) {
	for _, goroutines := range []int{1, 20, 64} {
		for _, m := range measures {
			b.Run(fmt.Sprintf("%s/goroutines=%d", m.name, goroutines), func(b *testing.B) {
				s := factory(b).Store
				if err := m.prepare(s); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				b.ResetTimer()
				if err := share(b.N, goroutines, func(i int) error { return m.copy(s, i) }); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}

type measure struct {
	name    string
	prepare func(store.Store) error
	copy    func(s store.Store, i int) error
}

var measures = []measure{
	{
		name:    "FirstCopy",
		prepare: func(store.Store) error { return nil },
		copy: func(s store.Store, i int) error {
			key := store.Key{Scope: "bench", ID: strconv.Itoa(i)}
			if err := expectClaim(s, key, "a", store.Acquired); err != nil {
				return err
			}
			_, err := s.Complete(context.Background(), key, "a", time.Minute)
			return err
		},
	},
	{
		name: "Duplicate",
		prepare: func(s store.Store) error {
			_, err := s.Complete(context.Background(), job, "a", time.Hour)
			return err
		},
		copy: func(s store.Store, _ int) error { return expectClaim(s, job, "b", store.Done) },
	},
	{
		name: "Held",
		prepare: func(s store.Store) error {
			_, err := s.Claim(context.Background(), job, "a", time.Hour)
			return err
		},
		copy: func(s store.Store, _ int) error { return expectClaim(s, job, "b", store.Held) },
	},
}

func expectClaim(s store.Store, key store.Key, token string, want store.State) error {
	c, err := s.Claim(context.Background(), key, token, time.Minute)
	if err == nil && c.State != want {
		err = fmt.Errorf("claim answered %s, want %s", c.State, want)
	}
	return err
}

// share calls f for 0 to n-1 from a number of goroutines and returns an error
// of one of them.
func share(n, goroutines int, f func(i int) error) error {
	var next atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range goroutines {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(i); err != nil {
					first := err // only a failure is worth an allocation
					failed.Store(&first)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
