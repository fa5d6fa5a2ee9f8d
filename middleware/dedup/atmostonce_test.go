package dedup

import (
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
