package dedup

import (
	"errors"
	"runtime"
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

func TestFailOpenRunsAndRecords(t *testing.T) {
	t.Parallel()
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

func TestPanicReleasesAndTravelsOn(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

func TestAckedEarly(t *testing.T) {
	t.Parallel()
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
