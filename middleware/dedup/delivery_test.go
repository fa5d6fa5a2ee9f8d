package dedup

import (
	"context"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

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

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	if got := IdempotencyKey(t.Context()); got != "" {
		t.Errorf("a context of no message gives %q", got)
	}
	of := func(namespace, scope, id string) string {
		v := &delivery{dedup: &Dedup{namespace: namespace}, key: store.Key{Scope: scope, ID: id}}
		return IdempotencyKey(context.WithValue(context.Background(), deliveryKey{}, v))
	}
	seen := make(map[string]bool)
	for _, parts := range [][3]string{{"n", "a", "bc"}, {"n", "ab", "c"}, {"na", "b", "c"}, {"n", "a", "b"}, {"", "", ""}} {
		key := of(parts[0], parts[1], parts[2])
		if len(key) != 64 || seen[key] || key != of(parts[0], parts[1], parts[2]) {
			t.Errorf("key of %q is %q", parts, key)
		}
		seen[key] = true
	}
}
