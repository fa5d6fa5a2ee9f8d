package dedup

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

func TestOutputsAreRecordedOnAck(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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
	t.Parallel()
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

// An observer or a store that hangs must not hold up a shutdown for ever.
func TestCloseEndsWhateverHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		resume := make(chan struct{})
		cfg := testConfig()
		cfg.Observer = ObserverFunc(func(Pass) { <-resume })
		d, err := Leased(newHookedStore(t), byJob, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		msg := newCopy("1")
		if _, err := d.Middleware(message.PassthroughHandler)(msg); err != nil {
			t.Fatal(err)
		}
		msg.Ack()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if err := d.Close(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 1500*time.Millisecond {
			t.Errorf("Close returned %v after %s, want the context's end and StoreTimeout", err, time.Since(start))
		}
		close(resume)
	})
}
