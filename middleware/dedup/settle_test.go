package dedup

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

var errHandler = errors.New("handler failed")

func TestPanicReleasesAndTravelsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		msg := newCopy("1")
		func() {
			defer func() {
				if got := recover(); got != "the handler's own" {
					t.Errorf("recovered %v", got)
				}
				msg.Nack() // as the router does
			}()
			_, _ = d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
				msg.Metadata["job"] = "rewritten"
				panic("the handler's own")
			})(msg)
		}()
		if msg.Metadata["job"] != "1" {
			t.Error("the message does not go back as it came")
		}
		runs := 0
		if _, err := d.Middleware(counting(&runs))(newCopy("1")); err != nil || runs != 1 {
			t.Errorf("returned %v after %d runs; want the claim to be free", err, runs)
		}
		seen.want(t, Failed, Processed)
	})
}

func TestGoexitIsNackedOneLeaseLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, seen := newTestDedup(t, newHookedStore(t), testConfig())
		msg := newCopy("1")
		go d.Middleware(func(*message.Message) ([]*message.Message, error) {
			runtime.Goexit()
			return nil, nil
		})(msg)
		time.Sleep(2999 * time.Millisecond)
		if nacked(msg) {
			t.Error("nacked before the lease was over")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !nacked(msg) {
			t.Error("the message stays unanswered")
		}
		seen.want(t, Failed)
	})
}

func TestHandlerThatNacksHasFailed(t *testing.T) {
	t.Parallel()
	s := newHookedStore(t)
	d, seen := newTestDedup(t, s, testConfig())
	h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
		msg.Nack()
		return nil, nil
	})
	for range 2 {
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
	}
	if s.called("complete") != 0 {
		t.Error("a nacked message was recorded as done")
	}
	seen.want(t, Failed, Failed)
}

func TestOutputsAreRecordedOnAck(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(*message.Message) bool
		first  Outcome
		runs   int
	}{
		"published":      {(*message.Message).Ack, Processed, 1},
		"publish failed": {(*message.Message).Nack, Failed, 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHookedStore(t)
				d, seen := newTestDedup(t, s, testConfig())
				runs := 0
				h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
					runs++
					out := message.NewMessageWithContext(msg.Context(), "out", nil)
					return []*message.Message{out}, nil
				})
				msg := newCopy("1")
				outputs, err := h(msg)
				if err != nil || len(outputs) != 1 {
					t.Fatalf("returned %v, %v", outputs, err)
				}
				time.Sleep(20 * time.Second) // a slow publish, renewed meanwhile
				if s.called("complete") != 0 || outputs[0].Context().Err() != nil {
					t.Errorf("recorded %d times before the ack; context of the output: %v", s.called("complete"), outputs[0].Context().Err())
				}
				c.answer(msg)
				synctest.Wait()
				if outputs[0].Context().Err() == nil {
					t.Error("the handler's context outlives its message")
				}
				again := newCopy("1")
				if _, err := h(again); err != nil {
					t.Fatal(err)
				}
				again.Ack()
				closeDedup(t, d)
				if runs != c.runs || seen.all[0] != c.first {
					t.Errorf("handler ran %d times with outcomes %v", runs, seen.all)
				}
			})
		})
	}
}

func TestRenewalOfOutputsEndsAtPublishTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		cfg := testConfig()
		cfg.PublishTimeout = 10 * time.Second
		d, seen := newTestDedup(t, s, cfg)
		msg := newCopy("1")
		if _, err := d.Middleware(message.PassthroughHandler)(msg); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if n := s.called("renew"); n > 10 {
			t.Errorf("renewed %d times", n)
		}
		msg.Ack()
		closeDedup(t, d)
		if s.called("complete") != 1 {
			t.Error("a late ack was not recorded")
		}
		seen.want(t, LeaseLost)
	})
}

func TestCloseWaitsForOutputsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, seen := newTestDedup(t, newHookedStore(t), testConfig())
		if _, err := d.Middleware(message.PassthroughHandler)(newCopy("1")); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close returned %v", err)
		}
		seen.want(t, Unrecorded)
		if err := d.Close(ctx); err != nil {
			t.Errorf("the second Close returned %v with nothing left", err)
		}
	})
}

func TestAckedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		msg := newCopy("1")
		msg.Ack()
		if out, err := d.Middleware(message.PassthroughHandler)(msg); err != nil || len(out) != 1 || s.called("complete") != 1 {
			t.Errorf("returned %v, %v with calls %v; want outputs and a marker", out, err, s.calls)
		}

		key := store.Key{Scope: "test", ID: "2"}
		if _, err := s.Store.Claim(t.Context(), key, "another", time.Minute); err != nil {
			t.Fatal(err)
		}
		held := newCopy("2")
		held.Ack()
		if _, err := d.Middleware(message.PassthroughHandler)(held); !errors.Is(err, ErrAlreadyAcked) {
			t.Errorf("a held copy that was acked before returned %v", err)
		}
		seen.want(t, Processed, Held)
	})
}

func TestAttachedTwice(t *testing.T) {
	t.Parallel()
	for name, inner := range map[string]func(t *testing.T, s *hookedStore, d *Dedup) *Dedup{
		"same instance": func(_ *testing.T, _ *hookedStore, d *Dedup) *Dedup { return d },
		"same store": func(t *testing.T, s *hookedStore, _ *Dedup) *Dedup {
			d, _ := newTestDedup(t, s, testConfig())
			return d
		},
		"same database, another store": func(t *testing.T, s *hookedStore, _ *Dedup) *Dedup {
			d, _ := newTestDedup(t, &hookedStore{Store: s.Store, calls: make(map[string]int)}, testConfig())
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newHookedStore(t)
			outer, seen := newTestDedup(t, s, testConfig())
			runs := 0
			h := outer.Middleware(inner(t, s, outer).Middleware(counting(&runs)))
			for range 2 {
				msg := newCopy("1")
				if _, err := h(msg); err != nil || nacked(msg) {
					t.Fatalf("returned %v, nacked %t", err, nacked(msg))
				}
			}
			if runs != 1 {
				t.Errorf("handler ran %d times", runs)
			}
			if slices.Contains(seen.all, LeaseLost) {
				t.Errorf("outcomes are %v: the inner instance's marker passed for a stranger's", seen.all)
			}
		})
	}
}

// A message published with its parent's context is not its parent.
func TestContextOfAnotherMessageDoesNotCount(t *testing.T) {
	t.Parallel()
	d, seen := newTestDedup(t, newHookedStore(t), testConfig())
	runs := 0
	inner := d.Middleware(counting(&runs))
	h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
		for range 2 {
			child := newCopy("2")
			child.SetContext(msg.Context())
			if _, err := inner(child); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	if _, err := h(newCopy("1")); err != nil || runs != 1 {
		t.Errorf("returned %v after %d runs", err, runs)
	}
	seen.want(t, Processed, Duplicate, Processed)
}

func TestAtMostOnce(t *testing.T) {
	t.Parallel()
	seen := &outcomes{}
	cfg := testConfig()
	cfg.Observer = seen
	s := newHookedStore(t)
	d, err := AtMostOnce(s, byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := d.Middleware(func(*message.Message) ([]*message.Message, error) { return nil, errHandler })
	if _, err := h(newCopy("1")); !errors.Is(err, errHandler) {
		t.Errorf("returned %v, want the handler's error once", err)
	}
	if _, err := h(newCopy("1")); err != nil {
		t.Errorf("returned %v, want the claim to count as done", err)
	}
	if s.called("complete") != 0 || s.called("release") != 0 {
		t.Errorf("calls are %v", s.calls)
	}
	seen.want(t, Lost, Duplicate)
}

func TestObserveChangesNothing(t *testing.T) {
	t.Parallel()
	seen := &outcomes{}
	cfg := testConfig()
	cfg.Observer = seen
	s := newHookedStore(t)
	d, err := Observe(s, byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	h := d.Middleware(counting(&runs))
	for range 2 {
		if _, err := h(newCopy("1")); err != nil {
			t.Fatal(err)
		}
	}
	failing := d.Middleware(func(*message.Message) ([]*message.Message, error) { return nil, errHandler })
	for range 2 {
		if _, err := failing(newCopy("2")); !errors.Is(err, errHandler) {
			t.Fatal(err)
		}
	}
	s.hook(func(context.Context, string) error { return errStore }, nil)
	if _, err := h(newCopy("3")); err != nil {
		t.Fatal(err)
	}
	if runs != 3 {
		t.Errorf("handler ran %d times, want every time", runs)
	}
	seen.want(t, Processed, Duplicate, Failed, Failed, StoreError)

	beside, _ := newTestDedup(t, s, testConfig())
	s.hook(nil, nil)
	if _, err := beside.Middleware(counting(&runs))(newCopy("1")); err != nil || runs != 4 {
		t.Errorf("a real instance was held out by Observe: %v", err)
	}
	closeDedup(t, d)
}

func TestObserverThatPanicsChangesNothing(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Observer = ObserverFunc(func(Pass) { panic("observer") })
	d, err := Leased(newHookedStore(t), byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	if _, err := d.Middleware(counting(&runs))(newCopy("1")); err != nil || runs != 1 {
		t.Errorf("returned %v after %d runs", err, runs)
	}
}
