package memstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := memstore.New("", memstore.Config{}); !errors.Is(err, store.ErrEmptyNamespace) {
		t.Errorf("empty namespace: got %v, want %v", err, store.ErrEmptyNamespace)
	}
	if _, err := memstore.New("test", memstore.Config{MaxKeys: -1}); err == nil || !strings.Contains(err.Error(), "MaxKeys") {
		t.Errorf("negative MaxKeys: got %v, want an error that names it", err)
	}
}

func TestExpiredKeysAreRemoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Config{})
		const jobs = 10_000
		for i := range jobs {
			claim(t, s, i, time.Minute, store.Acquired)
			if i%2 == 0 {
				complete(t, s, i, time.Hour)
			}
		}
		if n := s.Len(); n != jobs {
			t.Fatalf("%d keys are kept, want %d", n, jobs)
		}
		time.Sleep(2 * time.Minute) // the leases have ended, the markers not
		for i := range jobs {
			claim(t, s, jobs+i, time.Second, store.Acquired)
			time.Sleep(time.Second)
		}
		// Half of the first jobs, and what 64 shards have not met again yet.
		if n := s.Len(); n > 3*64 {
			t.Errorf("%d keys are kept when all but one have expired", n)
		}
	})
}

func TestMemoryDoesNotGrow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Config{})
		for i := range 200_000 {
			claim(t, s, i, time.Minute, store.Acquired)
			complete(t, s, i, time.Second)
			time.Sleep(10 * time.Millisecond)
			if n := s.Len(); i%1000 == 0 && n > 100+3*64 {
				t.Fatalf("%d keys are kept after %d jobs of which 100 are live", n, i)
			}
		}
	})
}

func TestFullOfLiveClaims(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Config{MaxKeys: 3})
		for i := range 3 {
			claim(t, s, i, time.Minute, store.Acquired)
		}
		_, err := s.Claim(t.Context(), key(3), "a", time.Minute)
		if !errors.Is(err, memstore.ErrFull) {
			t.Fatalf("fourth claim: got %v, want %v", err, memstore.ErrFull)
		}
		claim(t, s, 0, time.Minute, store.Acquired) // its own, renewed

		// The effect of a claim that was lost has happened: it is recorded
		// even so, and no live claim is evicted for it.
		complete(t, s, 3, time.Hour)
		for i := range 3 {
			if state, err := s.Renew(t.Context(), key(i), "a", time.Minute); state != store.Acquired || err != nil {
				t.Errorf("claim %d: %s, %v, want it live", i, state, err)
			}
		}

		time.Sleep(time.Minute)
		claim(t, s, 4, time.Minute, store.Acquired)
		claim(t, s, 3, time.Minute, store.Done)
	})
}

func TestOldestDoneIsEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newStore(t, memstore.Config{MaxKeys: 3})
		claim(t, s, 0, time.Second, store.Acquired)
		complete(t, s, 1, 2*time.Hour)
		complete(t, s, 2, time.Hour) // ends first
		claim(t, s, 3, time.Minute, store.Acquired)
		claim(t, s, 1, time.Minute, store.Done)
		claim(t, s, 2, time.Minute, store.Acquired) // forgotten; evicts 1
		claim(t, s, 0, time.Minute, store.Acquired) // a claim is never evicted
		if n := s.Len(); n != 3 {
			t.Errorf("%d keys are kept, want 3", n)
		}
	})
}

func TestBoundHoldsOverShards(t *testing.T) {
	t.Parallel()
	const limit = 10_000
	s := newStore(t, memstore.Config{MaxKeys: limit})
	for i := range 3 * limit {
		claim(t, s, i, time.Minute, store.Acquired)
		complete(t, s, i, time.Hour)
	}
	if n := s.Len(); n > limit || n < limit*9/10 {
		t.Errorf("%d keys are kept, want nearly %d", n, limit)
	}
}

// A key is often cut out of a payload, which must not stay in memory for as
// long as the key does.
func TestKeysDoNotPinMessages(t *testing.T) {
	t.Parallel()
	s := newStore(t, memstore.Config{})
	collected := make(chan struct{})
	func() {
		payload := new([1 << 20]byte)
		copy(payload[:], "job-1")
		runtime.AddCleanup(payload, func(c chan struct{}) { close(c) }, collected)
		id := unsafe.String(&payload[0], 5)
		if _, err := s.Claim(t.Context(), store.Key{Scope: "s", ID: id}, "a", time.Hour); err != nil {
			t.Fatal(err)
		}
	}()
	deadline := time.After(10 * time.Second)
	for {
		runtime.GC()
		select {
		case <-collected:
			if c, err := s.Claim(t.Context(), store.Key{Scope: "s", ID: "job-1"}, "b", time.Hour); c.State != store.Held || err != nil {
				t.Errorf("got %s, %v, want held", c.State, err)
			}
			return
		case <-deadline:
			t.Fatal("the payload is still in memory")
		case <-time.After(time.Millisecond):
		}
	}
}

func key(i int) store.Key { return store.Key{Scope: "test", ID: fmt.Sprint(i)} }

func claim(t *testing.T, s *memstore.Store, i int, lease time.Duration, want store.State) {
	t.Helper()
	c, err := s.Claim(context.Background(), key(i), "a", lease)
	if c.State != want || err != nil {
		t.Fatalf("claim of %d: %s, %v, want %s", i, c.State, err, want)
	}
}

func complete(t *testing.T, s *memstore.Store, i int, retention time.Duration) {
	t.Helper()
	if _, err := s.Complete(context.Background(), key(i), "a", retention); err != nil {
		t.Fatal(err)
	}
}
