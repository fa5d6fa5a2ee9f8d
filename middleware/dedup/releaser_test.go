package dedup

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestStrayClaimsAreReleasedWhenTheStoreAnswers(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
