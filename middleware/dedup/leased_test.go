package dedup

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestFirstCopyTwoCallsDuplicateOne(t *testing.T) {
	t.Parallel()
	s := newHookedStore(t)
	d, seen := newTestDedup(t, s, testConfig())
	runs := 0
	h := d.Middleware(counting(&runs))
	for range 3 {
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 1 || s.called("claim") != 3 || s.called("complete") != 1 || len(s.calls) != 2 {
		t.Errorf("handler ran %d times with calls %v", runs, s.calls)
	}
	seen.want(t, Processed, Duplicate, Duplicate)
}

func TestHeldCopyIsNackedAfterHeldWait(t *testing.T) {
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

func TestFailOpenRunsAndRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		cfg := testConfig()
		cfg.FailOpen = true
		d, seen := newTestDedup(t, s, cfg)
		s.hook(failing("claim"), nil)
		runs := 0
		h := d.Middleware(counting(&runs))
		if _, err := h(newCopy("1")); err != nil || runs != 1 {
			t.Fatalf("returned %v after %d runs", err, runs)
		}
		s.hook(nil, nil)
		if _, err := h(newCopy("1")); err != nil || runs != 1 {
			t.Errorf("returned %v after %d runs", err, runs)
		}
		seen.want(t, Bypassed, Duplicate)
		closeDedup(t, d)
	})
}

func TestUnrecordedJobIsRecordedWithoutRunningAgain(t *testing.T) {
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

func TestCompleteIsRetriedWithinTheLease(t *testing.T) {
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

func TestMissingKey(t *testing.T) {
	for name, c := range map[string]struct {
		policy   MissingKeyPolicy
		runs     int
		isError  bool
		duration time.Duration
	}{
		"error":   {MissingKeyError, 0, true, 100 * time.Millisecond},
		"process": {MissingKeyProcess, 1, false, 0},
		"drop":    {MissingKeyDrop, 0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHookedStore(t)
				cfg := testConfig()
				cfg.MissingKey = c.policy
				d, seen := newTestDedup(t, s, cfg)
				runs := 0
				start := time.Now()
				_, err := d.Middleware(counting(&runs))(newCopy(""))
				if (err != nil) != c.isError || runs != c.runs || time.Since(start) != c.duration || len(s.calls) != 0 {
					t.Errorf("returned %v after %s and %d runs with calls %v", err, time.Since(start), runs, s.calls)
				}
				seen.want(t, MissingKey)
			})
		})
	}
}

func TestEmptyScopeIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Scope = nil
		cfg.MissingKey = MissingKeyProcess
		d, seen := newTestDedup(t, newHookedStore(t), cfg)
		runs := 0
		if _, err := d.Middleware(counting(&runs))(newCopy("1")); !errors.Is(err, ErrNoScope) || runs != 0 {
			t.Errorf("returned %v after %d runs, want ErrNoScope and none", err, runs)
		}
		seen.want(t, MissingKey)
	})
}

func TestErrorsDoNotShowTheKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		logged := &logs{}
		d, err := Leased(newHookedStore(t), byJob, cfg, logged)
		if err != nil {
			t.Fatal(err)
		}
		h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			return nil, msg.Context().Err()
		})
		for range 2 {
			if _, err := h(newCopy("secret")); err != nil {
				t.Fatal(err)
			}
		}
		if text := logged.String(); text == "" || strings.Contains(text, "secret") {
			t.Errorf("log is %q", text)
		}
	})
}

func closeDedup(t *testing.T, d *Dedup) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Errorf("could not close: %v", err)
	}
}
