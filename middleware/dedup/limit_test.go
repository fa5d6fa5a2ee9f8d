package dedup

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

func TestLimitBoundsRunningHandlersOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, seen := newTestDedup(t, newHookedStore(t), testConfig())
		var running, runs atomic.Int32
		limited := Limit(2)(func(*message.Message) ([]*message.Message, error) {
			runs.Add(1)
			if now := running.Add(1); now > 2 {
				t.Errorf("%d handlers run at once", now)
			}
			time.Sleep(time.Second)
			running.Add(-1)
			return nil, nil
		})
		h := d.Middleware(limited)
		// Each job's copies arrive before the next job: were they to take
		// slots, the first two jobs would occupy all of them.
		for _, job := range []string{"1", "1", "1", "2", "2", "2", "3", "4"} {
			go h(newCopy(job))
			synctest.Wait()
		}
		time.Sleep(2*time.Second - time.Millisecond)
		synctest.Wait()
		if running.Load() != 2 {
			t.Errorf("%d handlers run near the end, want 2", running.Load())
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if runs.Load() != 4 || len(seen.all) != 8 {
			t.Errorf("%d handlers ran, with outcomes %v", runs.Load(), seen.all)
		}
	})
}

func TestLimitHasSlotsPerHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limit := Limit(1)
		inner := limit(counting(new(int)))
		outer := limit(func(msg *message.Message) ([]*message.Message, error) {
			return inner(newCopy("inner"))
		})
		if _, err := outer(newCopy("outer")); err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitForASlotEnds(t *testing.T) {
	t.Parallel()
	var closing chan struct{}
	for name, end := range map[string]func(msg *message.Message, d *Dedup, cancel context.CancelFunc){
		"with the context":      func(_ *message.Message, _ *Dedup, cancel context.CancelFunc) { cancel() },
		"with the subscription": func(*message.Message, *Dedup, context.CancelFunc) { close(closing) },
		"with Close":            func(_ *message.Message, d *Dedup, _ context.CancelFunc) { _ = d.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closing = make(chan struct{})
				s := newHookedStore(t)
				d, seen := newTestDedup(t, s, testConfig())
				stop := make(chan struct{})
				runs := 0
				h := d.Middleware(Limit(1)(func(*message.Message) ([]*message.Message, error) {
					runs++
					<-stop
					return nil, nil
				}))
				go h(newCopy("1"))
				synctest.Wait()

				msg := newCopy("2")
				ctx, cancel := context.WithCancel(withClosing(t.Context(), closing))
				defer cancel()
				msg.SetContext(ctx)
				returned := make(chan error)
				go func() {
					_, err := h(msg)
					returned <- err
				}()
				time.Sleep(time.Hour) // the waiting claim is renewed
				end(msg, d, cancel)
				if err := <-returned; err != nil || !nacked(msg) {
					t.Errorf("returned %v, nacked %t", err, nacked(msg))
				}
				close(stop)
				synctest.Wait()
				if runs != 1 || s.called("release") != 1 {
					t.Errorf("handler ran %d times with calls %v", runs, s.calls)
				}
				seen.want(t, Held, Processed)
			})
		})
	}
}

func TestLimitRefusesZero(t *testing.T) {
	t.Parallel()
	defer func() {
		if got, want := recover(), "dedup.Limit: n must be at least 1, got 0"; got != want {
			t.Errorf("panicked with %v, want %q", got, want)
		}
	}()
	Limit(0)
}

func TestLimitDoesNotNackACopyOfTheMessage(t *testing.T) {
	t.Parallel()
	d, seen := newTestDedup(t, newHookedStore(t), testConfig())
	running, stop := make(chan struct{}), make(chan struct{})
	limited := Limit(1)(func(*message.Message) ([]*message.Message, error) {
		close(running)
		<-stop
		return nil, nil
	})
	go limited(newCopy("1"))
	<-running
	h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
		return limited(msg.CopyWithContext())
	})
	msg := newCopy("2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	msg.SetContext(ctx)
	if _, err := h(msg); !errors.Is(err, errCopied) {
		t.Errorf("returned %v, want an error in place of a nack that nobody sees", err)
	}
	close(stop)
	seen.want(t, Failed)
}
