package dedup

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestMemoryForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var u jobMemory
	key := func(i int) store.Key { return store.Key{ID: strconv.Itoa(i)} }
	for i := range maxRemembered + 1 {
		u.add(rememberedJob{key: key(i), until: time.Now().Add(time.Hour)})
	}
	u.add(rememberedJob{key: key(1), until: time.Now().Add(time.Hour)})
	if len(u.byKey) != maxRemembered || u.order.Len() != maxRemembered {
		t.Errorf("keeps %d keys in a list of %d", len(u.byKey), u.order.Len())
	}
	if _, ok := u.get(key(0)); ok {
		t.Error("the oldest is still there")
	}
	if _, ok := u.get(key(1)); !ok {
		t.Error("a younger one is gone")
	}
	u.forget(key(1), time.Now().Add(2*time.Hour))
	if job, ok := u.get(key(1)); !ok || time.Until(job.until) > time.Hour {
		t.Error("forgetting prolonged the memory")
	}
	u.forget(key(1), time.Now())
	u.forget(key(0), time.Now())
	if _, ok := u.get(key(1)); ok {
		t.Error("a job is remembered beyond its time")
	}
	for i := range maxRemembered + 1 {
		u.forget(key(i), time.Now())
	}
	if len(u.byKey) != 0 || u.order.Len() != 0 || u.count.Load() != 0 {
		t.Errorf("%d keys in a list of %d are kept beyond their time", len(u.byKey), u.order.Len())
	}
}

func TestUnrecordedJobIsRecordedWithoutRunningAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		s.hook(failing("complete"), nil)
		runs := 0
		h := d.Middleware(counting(&runs))
		first, second := newCopy("1"), newCopy("1")
		for _, msg := range []*message.Message{first, second} {
			if _, err := h(msg); err != nil || !nacked(msg) {
				t.Fatalf("returned %v, nacked %t; want a nack while the marker is missing", err, nacked(msg))
			}
		}
		s.hook(nil, nil)
		for range 2 {
			msg := newCopy("1")
			if _, err := h(msg); err != nil || nacked(msg) {
				t.Fatalf("returned %v, nacked %t", err, nacked(msg))
			}
		}
		if runs != 1 {
			t.Errorf("handler ran %d times", runs)
		}
		seen.want(t, Unrecorded, StoreError, Replayed, Duplicate)
	})
}

// Copies that wait since before the effect must not run it again when its
// claim ends before its marker is written.
func TestWaitingCopiesOfAnUnrecordedJobDoNotRunIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		s.hook(failing("complete"), nil)
		var runs atomic.Int32
		h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
			runs.Add(1)
			time.Sleep(100 * time.Millisecond)
			return nil, nil
		})
		var copies sync.WaitGroup
		for range 10 {
			copies.Go(func() {
				msg := newCopy("1")
				for {
					if _, err := h(msg); err != nil {
						t.Error(err)
					}
					if !nacked(msg) {
						return
					}
					msg = msg.Copy()
				}
			})
		}
		time.Sleep(10 * time.Second)
		s.hook(nil, nil)
		copies.Wait()
		if runs.Load() != 1 {
			t.Errorf("handler ran %d times with outcomes %v", runs.Load(), seen.all)
		}
	})
}
