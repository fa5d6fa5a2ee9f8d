package behaviour_test

import (
	"bytes"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestTwoHandlersOfOneTopicBothRun(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		r.router.AddMiddleware(d.wrap)
		var mu sync.Mutex
		ran := map[string]int{}
		keys := map[string]bool{}
		for _, name := range []string{"mail", "invoice"} {
			r.consumeAs(name, ps.topic, func(msg *message.Message) error {
				mu.Lock()
				defer mu.Unlock()
				ran[name]++
				keys[dedup.IdempotencyKey(msg.Context())] = true
				r.ledger.effect(msg.Metadata.Get(jobField))
				return nil
			})
		}
		r.run()
		r.publish(2, "a")
		r.awaitAcks(4)

		mu.Lock()
		defer mu.Unlock()
		if ran["mail"] != 1 || ran["invoice"] != 1 {
			t.Errorf("want one run of each handler, got %v", ran)
		}
		if len(keys) != 2 || keys[""] {
			t.Errorf("two consumers of one message share an idempotency key")
		}
	})
}

// rewrite changes every part of a message, its payload in place.
func rewrite(msg *message.Message) {
	msg.UUID = "rewritten"
	msg.Metadata.Set(jobField, secret+"rewritten")
	msg.Metadata.Set("added", "yes")
	delete(msg.Metadata, "kept")
	for i := range msg.Payload {
		msg.Payload[i] = 'x'
	}
}

func TestRewrittenMessageGoesBackAsItCame(t *testing.T) {
	for name, fail := range map[string]func() error{
		"error": func() error { return errHandler },
		"panic": func() error { panic("on purpose") },
	} {
		t.Run(name, func(t *testing.T) {
			onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
				r := newRig(t, ps)
				d := r.leased()
				var mu sync.Mutex
				var came []*message.Message
				keys := map[string]bool{}
				r.consume(func(msg *message.Message) error {
					mu.Lock()
					defer mu.Unlock()
					kept := msg.Copy()
					kept.Payload = bytes.Clone(msg.Payload)
					came = append(came, kept)
					keys[dedup.IdempotencyKey(msg.Context())] = true
					if len(came) < 3 {
						rewrite(msg)
						return fail()
					}
					r.ledger.effect(msg.Metadata.Get(jobField))
					return nil
				}, d.wrap)
				r.run()
				sent := newJob(secret + "a")
				sent.Metadata.Set("kept", "yes")
				r.ledger.note(func(l *ledger) { l.published[secret+"a"]++ })
				noError(t, r.publisher.Publish(ps.topic, sent))
				r.awaitAcks(1)

				r.eachOnce()
				mu.Lock()
				defer mu.Unlock()
				for i, msg := range came {
					if !msg.Equals(came[0]) || msg.Metadata.Get("kept") != "yes" {
						t.Errorf("delivery %d is not as it was sent: %s %v %s", i+1, msg.UUID, msg.Metadata, msg.Payload)
					}
				}
				if len(keys) != 1 || keys[""] {
					t.Errorf("the attempts of a job had %d idempotency keys, want one", len(keys))
				}
				d.expect(t, map[dedup.Outcome]int{dedup.Failed: 2, dedup.Processed: 1})
			})
		})
	}
}

func TestHandlerThatRewritesItsKeyAndFailsIsTheSameJob(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		r.consume(func(msg *message.Message) error {
			job, run := r.start(msg)
			msg.Metadata.Set(jobField, secret+"rewritten")
			if run == 1 {
				return errHandler
			}
			r.ledger.effect(job)
			return nil
		}, d.wrap)
		r.run()
		r.publish(crowd, "a")
		r.awaitAcks(crowd)

		r.eachOnce()
		d.expect(t, map[dedup.Outcome]int{dedup.Failed: 1, dedup.Processed: 1, dedup.Duplicate: crowd - 1})
		for job, want := range map[string]store.State{"a": store.Done, "rewritten": store.Free} {
			if got := stateOf(t, r.store, handlerName, job); got != want {
				t.Errorf("job %q is %s, want %s", job, got, want)
			}
		}
	})
}

func TestPassthroughKeepsWhatTheHandlerWrote(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		publishes := 0
		out := &outlet{behind: ps.publisher(), before: func(*message.Message) error {
			if publishes++; publishes == 1 {
				return errPublish
			}
			return nil
		}}
		r.produce(func(msg *message.Message) ([]*message.Message, error) {
			job, _ := r.start(msg)
			if msg.Metadata.Get("seen") != "" || bytes.ContainsRune(msg.Payload, 'x') {
				t.Errorf("a redelivery is not as it came: %v %s", msg.Metadata, msg.Payload)
			}
			msg.Metadata.Set("seen", "yes")
			for i := range msg.Payload {
				msg.Payload[i] = 'x'
			}
			r.ledger.effect(job)
			return message.PassthroughHandler(msg)
		}, out, d.wrap)
		r.run()
		r.publish(1, "a")
		r.awaitAcks(1)

		sent := out.published()
		if len(sent) != 1 || sent[0].Metadata.Get("seen") != "yes" || bytes.Trim(sent[0].Payload, "x") != nil {
			t.Errorf("the output lost what the handler wrote: %v", sent)
		}
		r.await("the job is recorded", func() bool { return d.count(dedup.Processed) == 1 })
		d.expect(t, map[dedup.Outcome]int{dedup.Failed: 1, dedup.Processed: 1})
	})
}

func TestNumberedNamesOfOneHandlerAreWarnedAbout(t *testing.T) {
	onEveryPubSub(t, func(t *testing.T, ps *pubSub) {
		r := newRig(t, ps)
		d := r.leased()
		for _, name := range []string{"receipts-0", "receipts-1", "receipts-2"} {
			r.consumeAs(name, ps.topic, r.work(0), d.wrap)
		}
		r.run()
		r.publish(1, "a")
		r.awaitAcks(3)
		if lines := r.logs.errorsWith("differ only in a number"); len(lines) != 1 {
			t.Errorf("want one warning, got %q", lines)
		}
		if c := r.ledger.counts(); c.effects != 3 {
			t.Errorf("three names are three scopes, got %d effects", c.effects)
		}
	})
}
