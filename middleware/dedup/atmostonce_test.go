package dedup

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
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
