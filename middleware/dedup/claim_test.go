package dedup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestHeldCopyIsNackedAfterHeldWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		key := store.Key{Scope: "test", ID: "1"}
		if _, err := s.Store.Claim(context.Background(), key, "another", time.Minute); err != nil {
			t.Fatal(err)
		}
		runs := 0
		msg := newCopy("1")
		start := time.Now()
		_, err := d.Middleware(counting(&runs))(msg)
		if err != nil || runs != 0 || !nacked(msg) {
			t.Errorf("returned %v after %d runs, nacked %t", err, runs, nacked(msg))
		}
		if waited := time.Since(start); waited != 5*time.Second {
			t.Errorf("waited %s, want HeldWait of 5 s", waited)
		}
		if n := s.called("claim"); n > 50 {
			t.Errorf("asked the store %d times in 5 s", n)
		}
		seen.want(t, Held)
	})
}

func TestHeldCopyFollowsItsHolder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		holder error
		runs   int
		want   Outcome
	}{
		"done": {nil, 1, Duplicate},
		"free": {errors.New("failed"), 2, Processed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, seen := newTestDedup(t, newHookedStore(t), testConfig())
				runs := 0
				h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
					runs++
					if runs > 1 {
						return nil, nil
					}
					time.Sleep(2 * time.Second)
					return nil, c.holder
				})
				go h(newCopy("1"))
				synctest.Wait()
				msg := newCopy("1")
				start := time.Now()
				if _, err := h(msg); err != nil || nacked(msg) {
					t.Errorf("copy returned %v, nacked %t", err, nacked(msg))
				}
				if waited := time.Since(start); waited > 2*time.Second+maxPoll*6/5 {
					t.Errorf("copy waited %s for a holder of 2 s", waited)
				}
				if runs != c.runs {
					t.Errorf("handler ran %d times, want %d", runs, c.runs)
				}
				synctest.Wait()
				if seen.all[len(seen.all)-1] != c.want {
					t.Errorf("outcomes are %v", seen.all)
				}
			})
		})
	}
}

func TestStoreFailureFailsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		s.hook(failing("claim", "release"), nil)
		runs := 0
		msg := newCopy("1")
		start := time.Now()
		_, err := d.Middleware(counting(&runs))(msg)
		if err != nil || runs != 0 || !nacked(msg) || time.Since(start) != 5*time.Second {
			t.Errorf("returned %v after %s and %d runs, nacked %t", err, time.Since(start), runs, nacked(msg))
		}
		seen.want(t, StoreError)
		closeDedup(t, d)
	})
}

// A Claim that ended in an error may have won. Its claim must not hold copies
// out for a lease that nobody uses.
func TestClaimWithALostAnswerIsGivenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		s.hook(nil, failing("claim"))
		runs := 0
		h := d.Middleware(counting(&runs))
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		s.hook(nil, nil)
		time.Sleep(200 * time.Millisecond)
		start := time.Now()
		if _, err := h(newCopy("1")); err != nil || runs != 1 || time.Since(start) != 0 {
			t.Errorf("returned %v after %s and %d runs; want the claim to be free", err, time.Since(start), runs)
		}
		seen.want(t, StoreError, Processed)
		closeDedup(t, d)
	})
}

// A process that stood still between the claim's request and its answer asks
// again before it runs the handler.
func TestClaimThatExpiredOnItsWayIsAskedForAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		s.hook(nil, func(_ context.Context, op string) error {
			if op == "claim" && s.called("claim") == 1 {
				time.Sleep(3 * time.Second)
			}
			return nil
		})
		h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			return nil, msg.Context().Err()
		})
		if _, err := h(newCopy("1")); err != nil || s.called("claim") != 2 {
			t.Errorf("returned %v with calls %v", err, s.calls)
		}
		seen.want(t, Processed)
	})
}

func TestCopyThatArrivesAfterCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		closeDedup(t, d)
		if _, err := s.Store.Claim(t.Context(), store.Key{Scope: "test", ID: "1"}, "another", time.Minute); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		msg := newCopy("1")
		runs := 0
		if _, err := d.Middleware(counting(&runs))(msg); err != nil || !nacked(msg) || time.Since(start) != 100*time.Millisecond {
			t.Errorf("returned %v after %s, nacked %t; want a nack that does not spin", err, time.Since(start), nacked(msg))
		}
		seen.want(t, Held)
	})
}

func TestCompleteIsRetriedWithinTheLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		start := time.Now()
		s.hook(nil, func(_ context.Context, op string) error {
			if op == "complete" && time.Since(start) < 2*time.Second {
				return errStore
			}
			return nil
		})
		runs := 0
		msg := newCopy("1")
		if _, err := d.Middleware(counting(&runs))(msg); err != nil || nacked(msg) {
			t.Errorf("returned %v, nacked %t", err, nacked(msg))
		}
		seen.want(t, Processed)
	})
}

func TestStateThatBreaksTheContractIsAnError(t *testing.T) {
	t.Parallel()
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
