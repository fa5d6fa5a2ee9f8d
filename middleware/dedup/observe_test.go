package dedup

import (
	"context"
	"errors"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
)

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

func TestObserveRunsAMessageWithoutAKey(t *testing.T) {
	t.Parallel()
	seen := &outcomes{}
	cfg := testConfig()
	cfg.Observer = seen
	d, err := Observe(newHookedStore(t), byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	if _, err := d.Middleware(counting(&runs))(newCopy("")); err != nil || runs != 1 {
		t.Errorf("returned %v after %d runs", err, runs)
	}
	seen.want(t, MissingKey)
}

func TestIdempotencyKeyIsTheSameUnderObserve(t *testing.T) {
	t.Parallel()
	s := newHookedStore(t)
	cfg := testConfig()
	var keys []string
	collect := func(msg *message.Message) ([]*message.Message, error) {
		keys = append(keys, IdempotencyKey(msg.Context()))
		return nil, nil
	}
	observed, err := Observe(s, byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	protected, _ := newTestDedup(t, s, cfg)
	for range 2 { // the second time as a duplicate
		_, _ = observed.Middleware(collect)(newCopy("1"))
	}
	_, _ = protected.Middleware(collect)(newCopy("1"))
	s.hook(failing("claim"), nil)
	_, _ = observed.Middleware(collect)(newCopy("1"))
	closeDedup(t, observed)
	for _, key := range keys {
		if len(keys) != 4 || key == "" || key != keys[0] {
			t.Errorf("keys are %q", keys)
		}
	}
}
