package dedup

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

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

// A message that was nacked before its handler ran must find its key free when
// it comes back, or a shutdown would lose it.
func TestAtMostOnceKeepsWhatLimitTurnedAway(t *testing.T) {
	t.Parallel()
	seen := &outcomes{}
	cfg := testConfig()
	cfg.Observer = seen
	d, err := AtMostOnce(newHookedStore(t), byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := make(chan struct{}), make(chan struct{})
	h := d.Middleware(Limit(1)(func(msg *message.Message) ([]*message.Message, error) {
		if msg.Metadata["job"] == "1" {
			close(running)
			<-stop
		}
		return nil, nil
	}))
	returned := make(chan error)
	go func() {
		_, err := h(newCopy("1"))
		returned <- err
	}()
	<-running

	msg := newCopy("2")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	msg.SetContext(ctx)
	if _, err := h(msg); err != nil || !nacked(msg) {
		t.Errorf("returned %v, nacked %t", err, nacked(msg))
	}
	close(stop)
	if err := <-returned; err != nil {
		t.Error(err)
	}
	if _, err := h(newCopy("2")); err != nil {
		t.Error(err)
	}
	seen.want(t, Held, Processed, Processed)
}

func TestAtMostOnceRunsAJobWhoseClaimGotNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &outcomes{}
		cfg := testConfig()
		cfg.Observer = seen
		s := newHookedStore(t)
		d, err := AtMostOnce(s, byJob, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		h := d.Middleware(counting(&runs))
		s.hook(nil, failing("claim"))
		for range 2 {
			msg := newCopy("1")
			if _, err := h(msg); err != nil || !nacked(msg) || runs != 0 {
				t.Fatalf("returned %v after %d runs, nacked %t", err, runs, nacked(msg))
			}
		}
		s.hook(nil, nil)
		for range 2 {
			if _, err := h(newCopy("1")); err != nil || runs != 1 {
				t.Errorf("returned %v after %d runs, want one", err, runs)
			}
		}
		seen.want(t, StoreError, StoreError, Processed, Duplicate)
	})
}

func TestAtMostOnceLosesMessagesThatAreNotPublished(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		seen := &outcomes{}
		cfg := testConfig()
		cfg.Observer = seen
		d, err := AtMostOnce(newHookedStore(t), byJob, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, answer := range []func(*message.Message) bool{(*message.Message).Ack, (*message.Message).Nack} {
			msg := newCopy(rand.Text())
			if out, err := d.Middleware(message.PassthroughHandler)(msg); err != nil || len(out) != 1 {
				t.Fatalf("returned %v, %v", out, err)
			}
			answer(msg)
			synctest.Wait()
		}
		seen.want(t, Processed, Lost)
	})
}

func TestGoexitIsNackedInEveryMode(t *testing.T) {
	t.Parallel()
	for name, construct := range map[string]func(s store.Store, cfg Config) (*Dedup, error){
		"AtMostOnce": func(s store.Store, cfg Config) (*Dedup, error) { return AtMostOnce(s, byJob, cfg, nil) },
		"Observe":    func(s store.Store, cfg Config) (*Dedup, error) { return Observe(s, byJob, cfg, nil) },
		"FailOpen": func(s store.Store, cfg Config) (*Dedup, error) {
			s.(*hookedStore).hook(failing("claim"), nil)
			cfg.FailOpen = true
			return Leased(s, byJob, cfg, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d, err := construct(newHookedStore(t), testConfig())
				if err != nil {
					t.Fatal(err)
				}
				msg := newCopy("1")
				go d.Middleware(func(*message.Message) ([]*message.Message, error) {
					runtime.Goexit()
					return nil, nil
				})(msg)
				time.Sleep(time.Minute)
				if !nacked(msg) {
					t.Error("the message stays unanswered")
				}
				closeDedup(t, d)
			})
		})
	}
}
