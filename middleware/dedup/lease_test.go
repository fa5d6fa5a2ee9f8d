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

// waitLost is a handler that waits for its context and says when it ended and
// why.
func waitLost(after *time.Duration, cause *error) message.HandlerFunc {
	start := time.Now()
	return func(msg *message.Message) ([]*message.Message, error) {
		<-msg.Context().Done()
		*after, *cause = time.Since(start), context.Cause(msg.Context())
		return nil, *cause
	}
}

func TestSlowHandlerKeepsItsClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			time.Sleep(100*time.Second - time.Millisecond)
			return nil, msg.Context().Err()
		})
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		seen.want(t, Processed)
		if n := s.called("renew"); n != 99 {
			t.Errorf("renewed %d times in 100 s, want one a second", n)
		}
	})
}

func TestFastHandlerNeedsNoRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, _ := newTestDedup(t, s, testConfig())
		h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
			time.Sleep(999 * time.Millisecond)
			return nil, nil
		})
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if s.called("renew") != 0 || s.called("claim") != 1 || s.called("complete") != 1 {
			t.Errorf("calls are %v", s.calls)
		}
	})
}

// The lease ends on the local clock, counted from before the last successful
// call was sent, whatever a client that hangs does.
func TestLeaseIsLostWhileTheStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		cfg := testConfig()
		cfg.StoreTimeout = 2900 * time.Millisecond
		d, seen := newTestDedup(t, s, cfg)
		s.hook(hanging("renew", nil), nil)
		var after time.Duration
		var cause error
		msg := newCopy("1")
		if _, err := d.Middleware(waitLost(&after, &cause))(msg); err != nil {
			t.Fatalf("a lost lease left as an error: %v", err)
		}
		if after != 3*time.Second || !errors.Is(cause, ErrLeaseLost) {
			t.Errorf("context ended after %s with %v, want a lease of 3 s and ErrLeaseLost", after, cause)
		}
		if !nacked(msg) {
			t.Error("the message was not nacked")
		}
		seen.want(t, LeaseLost)
	})
}

func TestFailedRenewalAloneIsNoLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		start := time.Now()
		s.hook(func(_ context.Context, op string) error {
			if op == "renew" && time.Since(start) < 2700*time.Millisecond {
				return errStore
			}
			return nil
		}, nil)
		h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			time.Sleep(10 * time.Second)
			return nil, msg.Context().Err()
		})
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		seen.want(t, Processed)
	})
}

func TestLeaseIsLostWhenTheStoreSaysSo(t *testing.T) {
	t.Parallel()
	for name, steal := range map[string]func(s store.Store, key store.Key) error{
		"free": func(s store.Store, key store.Key) error { return nil },
		"held": func(s store.Store, key store.Key) error {
			_, err := s.Claim(context.Background(), key, "another", time.Minute)
			return err
		},
		"done": func(s store.Store, key store.Key) error {
			_, err := s.Complete(context.Background(), key, "another", time.Minute)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHookedStore(t)
				d, seen := newTestDedup(t, s, testConfig())
				var after time.Duration
				var cause error
				wait := waitLost(&after, &cause)
				_, err := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
					v := deliveryFrom(msg)
					if _, err := s.Release(context.Background(), v.key, v.token); err != nil {
						return nil, err
					}
					if err := steal(s, v.key); err != nil {
						return nil, err
					}
					return wait(msg)
				})(newCopy("1"))
				if err != nil || after != time.Second || !errors.Is(cause, ErrLeaseLost) {
					t.Errorf("context ended after %s with %v, returned %v; want the first renewal at 1 s to notice", after, cause, err)
				}
				seen.want(t, LeaseLost)
			})
		})
	}
}

// The effect has happened, so it is recorded, whoever owns the claim by then.
func TestEffectAfterALostLeaseIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		s.hook(failing("renew"), nil)
		h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
			time.Sleep(4 * time.Second)
			return nil, nil
		})
		msg := newCopy("1")
		if _, err := h(msg); err != nil || nacked(msg) {
			t.Fatalf("returned %v, nacked %t; want success", err, nacked(msg))
		}
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		seen.want(t, LeaseLost, Duplicate)
	})
}

func TestRenewalIsJoinedBeforeTheClaimIsSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		var renewing bool
		s.hook(func(_ context.Context, op string) error {
			switch op {
			case "renew":
				renewing = true
				time.Sleep(400 * time.Millisecond)
				renewing = false
			case "complete":
				if renewing {
					t.Error("Complete was sent while a renewal was under way")
				}
			}
			return nil
		}, nil)
		h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
			time.Sleep(1100 * time.Millisecond)
			return nil, nil
		})
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		seen.want(t, Processed)
	})
}
