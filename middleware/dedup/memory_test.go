package dedup

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestUnrecordedForgetsTheOldest(t *testing.T) {
	t.Parallel()
	var u unrecorded
	key := func(i int) store.Key { return store.Key{ID: strconv.Itoa(i)} }
	for i := range maxUnrecorded + 1 {
		u.add(unrecordedJob{key: key(i), until: time.Now().Add(time.Hour)})
	}
	u.add(unrecordedJob{key: key(1), until: time.Now().Add(time.Hour)})
	if len(u.byKey) != maxUnrecorded || u.order.Len() != maxUnrecorded {
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
	for i := range maxUnrecorded + 1 {
		u.forget(key(i), time.Now())
	}
	if len(u.byKey) != 0 || u.order.Len() != 0 || u.count.Load() != 0 {
		t.Errorf("%d keys in a list of %d are kept beyond their time", len(u.byKey), u.order.Len())
	}
}

func TestStrayClaimsAreReleasedWhenTheStoreAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, _ := newTestDedup(t, s, testConfig())
		s.hook(failing("release"), nil)
		key := store.Key{Scope: "test", ID: "1"}
		if _, err := s.Claim(t.Context(), key, "stray", time.Minute); err != nil {
			t.Fatal(err)
		}
		d.releaseStray(key, "stray")
		time.Sleep(10 * time.Second)
		s.hook(nil, nil)
		time.Sleep(200 * time.Millisecond)
		if c, err := s.Claim(t.Context(), key, "another", time.Minute); err != nil || c.State != store.Acquired {
			t.Errorf("found %v, %v", c.State, err)
		}
		synctest.Wait()
		if idle, running := d.tasks.wait(); running != 0 || !closed(idle) {
			t.Errorf("%d goroutines still run", running)
		}
	})
}

// A stopped server carries out the Claim that timed out when it resumes, after
// a release that found nothing.
func TestStrayClaimThatArrivesLateIsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, _ := newTestDedup(t, s, testConfig())
		key := store.Key{Scope: "test", ID: "1"}
		d.releaseStray(key, "stray")
		time.Sleep(2 * time.Second)
		if _, err := s.Claim(t.Context(), key, "stray", time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if c, err := s.Claim(t.Context(), key, "another", time.Minute); err != nil || c.State != store.Acquired {
			t.Errorf("found %v, %v", c.State, err)
		}
		time.Sleep(10 * time.Second)
		if _, running := d.tasks.wait(); running != 0 {
			t.Errorf("%d goroutines still run a lease later", running)
		}
	})
}

func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	logged := &logs{}
	o := outage{logger: logged}
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() { o.note(errStore) })
	}
	calls.Wait()
	o.note(nil)
	o.note(nil)
	if text := logged.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, errStore.Error()) {
		t.Errorf("log is %q, want one line for the beginning and one for the end", text)
	}
}

func TestNumberedHandlersAreWarnedOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		notes [][3]string // topic, handler, scope
		warns int
	}{
		"numbered":      {[][3]string{{"jobs", "receipts-0", "receipts-0"}, {"jobs", "receipts-1", "receipts-1"}, {"jobs", "receipts-2", "receipts-2"}}, 1},
		"one scope":     {[][3]string{{"jobs", "receipts-0", "receipts"}, {"jobs", "receipts-1", "receipts"}}, 0},
		"two topics":    {[][3]string{{"a", "receipts-0", "receipts-0"}, {"b", "receipts-1", "receipts-1"}}, 0},
		"other names":   {[][3]string{{"jobs", "receipts", "receipts"}, {"jobs", "mail", "mail"}}, 0},
		"only a number": {[][3]string{{"jobs", "mail", "mail"}, {"jobs", "mail2", "mail2"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logged := &logs{}
			n := handlerNames{logger: logged}
			for _, note := range c.notes {
				n.note(note[0], note[1], note[2])
			}
			if len(logged.lines) != c.warns {
				t.Errorf("warned %d times, want %d", len(logged.lines), c.warns)
			}
		})
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	if got := IdempotencyKey(t.Context()); got != "" {
		t.Errorf("a context of no message gives %q", got)
	}
	of := func(namespace, scope, id string) string {
		v := &delivery{dedup: &Dedup{namespace: namespace}, key: store.Key{Scope: scope, ID: id}}
		return IdempotencyKey(context.WithValue(context.Background(), deliveryKey{}, v))
	}
	seen := make(map[string]bool)
	for _, parts := range [][3]string{{"n", "a", "bc"}, {"n", "ab", "c"}, {"na", "b", "c"}, {"n", "a", "b"}, {"", "", ""}} {
		key := of(parts[0], parts[1], parts[2])
		if len(key) != 64 || seen[key] || key != of(parts[0], parts[1], parts[2]) {
			t.Errorf("key of %q is %q", parts, key)
		}
		seen[key] = true
	}
}

func TestStateThatBreaksTheContractIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, freeClaims{s}, testConfig())
		runs := 0
		if _, err := d.Middleware(counting(&runs))(newCopy("1")); err != nil || runs != 0 {
			t.Errorf("returned %v after %d runs", err, runs)
		}
		seen.want(t, StoreError)
		closeDedup(t, d)
	})
}

// freeClaims answers what Claim never may.
type freeClaims struct{ *hookedStore }

func (freeClaims) Claim(context.Context, store.Key, string, time.Duration) (store.Claim, error) {
	return store.Claim{State: store.Free}, nil
}
