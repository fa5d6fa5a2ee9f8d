package behaviour_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// publishKeyless sends n messages without a business key.
func (r *rig) publishKeyless(n int) {
	r.t.Helper()
	for range n {
		noError(r.t, r.publisher.Publish(r.ps.topic, newJob("")))
	}
}

func TestEmptyScopeIsAnErrorAndDoesNotSpin(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased(func(c *dedup.Config) {
			c.Scope = func(string) string { return "" }
			// Without a scope these would lose or repeat every message.
			c.MissingKey = dedup.MissingKeyDrop
		})
		var seen errorsSeen
		r.consume(r.work(0), seen.wrap, d.wrap)
		r.run()
		r.publish(1, "a")
		started := time.Now()
		time.Sleep(time.Second) // in which it could spin
		c := r.ledger.counts()
		if c.runs != 0 || c.acked != 0 {
			t.Errorf("a message without a scope was run or acked: %+v", c)
		}
		if most := int(time.Since(started)/(100*time.Millisecond)) + 2; c.delivered < 2 || c.delivered > most {
			t.Errorf("%d deliveries, want at most %d", c.delivered, most)
		}
		for _, err := range seen.all() {
			if !errors.Is(err, dedup.ErrNoScope) {
				t.Errorf("got %v, want ErrNoScope", err)
			}
		}
		d.only(t, dedup.MissingKey)
	})
}

func TestMissingKeyIsAnErrorByDefaultAndDoesNotSpin(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		var seen errorsSeen
		r.consume(r.work(0), seen.wrap, d.wrap)
		r.run()
		r.publishKeyless(1)
		started := time.Now()
		time.Sleep(time.Second) // in which it could spin
		c := r.ledger.counts()
		if c.runs != 0 || c.acked != 0 {
			t.Errorf("a message without a key was run or acked: %+v", c)
		}
		if most := int(time.Since(started)/(100*time.Millisecond)) + 2; c.delivered < 2 || c.delivered > most {
			t.Errorf("%d deliveries, want at most %d", c.delivered, most)
		}
		for _, err := range seen.all() {
			if !errors.Is(err, keyextract.ErrNoKey) {
				t.Errorf("got %v, want ErrNoKey", err)
			}
		}
		d.only(t, dedup.MissingKey)
	})
}

func TestMissingKeyCanBeProcessedOrDropped(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy dedup.MissingKeyPolicy
		runs   int
	}{
		{"process", dedup.MissingKeyProcess, 3},
		{"drop", dedup.MissingKeyDrop, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				r.acksUndone = true
				calls := r.counted()
				d := r.leased(func(cfg *dedup.Config) { cfg.MissingKey = c.policy })
				r.consume(r.work(0), d.wrap)
				r.run()
				r.publishKeyless(3)
				r.awaitAcks(3)
				if got := r.ledger.counts(); got.runs != c.runs || got.nacked != 0 {
					t.Errorf("want %d runs and no nack, got %+v", c.runs, got)
				}
				if calls.Load() != 0 {
					t.Errorf("%d store calls for messages without a key", calls.Load())
				}
				d.expect(t, map[dedup.Outcome]int{dedup.MissingKey: 3})
				d.only(t, dedup.MissingKey)
			})
		})
	}
}

func TestMissingKeyMayBePoisoned(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		errExtractor := errors.New("the extractor fails on purpose")
		r := newRig(t, ps)
		r.acksUndone = true
		d := r.instance(dedup.Leased, func(msg *message.Message) (string, error) {
			if key, err := jobKey(msg); err == nil {
				return key, nil
			}
			return "", errExtractor
		})
		poison, poisoned := r.poisonQueue()
		var seen errorsSeen
		r.consume(r.work(0), poison, seen.wrap, d.wrap)
		r.run()
		r.publishKeyless(1)
		r.publish(1, "a")
		r.awaitAcks(2)
		if errs := seen.all(); len(errs) != 1 || !errors.Is(errs[0], errExtractor) {
			t.Errorf("want the extractor's error, got %v", errs)
		}
		if took := poisoned.jobs(); len(took) != 1 || took[0] != "" {
			t.Errorf("poisoned %q, want the message without a key", took)
		}
		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.MissingKey: 1, dedup.Processed: 1})
	})
}
