package behaviour_test

import (
	"errors"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
)

var errPublish = errors.New("the publisher fails on purpose")

// outlet is a publisher that keeps what it published. Without a publisher
// behind it, it only keeps.
type outlet struct {
	behind message.Publisher
	// before may fail a publish, or delay it.
	before func(*message.Message) error

	mu   sync.Mutex
	sent []*message.Message
}

func (o *outlet) Publish(topic string, msgs ...*message.Message) error {
	for _, msg := range msgs {
		if o.before != nil {
			if err := o.before(msg); err != nil {
				return err
			}
		}
		kept := msg.Copy()
		kept.Payload = slices.Clone(msg.Payload)
		if o.behind != nil {
			if err := o.behind.Publish(topic, msg); err != nil {
				return err
			}
		}
		o.mu.Lock()
		o.sent = append(o.sent, kept)
		o.mu.Unlock()
	}
	return nil
}

func (o *outlet) Close() error {
	if o.behind != nil {
		return o.behind.Close()
	}
	return nil
}

func (o *outlet) published() []*message.Message {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.sent)
}

// jobs returns the business keys of what was published.
func (o *outlet) jobs() (keys []string) {
	for _, msg := range o.published() {
		keys = append(keys, msg.Metadata.Get(jobField))
	}
	return keys
}

// poisonQueue returns Watermill's middleware and what it took.
func (r *rig) poisonQueue() (message.HandlerMiddleware, *outlet) {
	r.t.Helper()
	taken := &outlet{}
	mw, err := middleware.PoisonQueue(taken, "poison")
	noError(r.t, err)
	return mw, taken
}

// errorsSeen is a middleware that keeps the errors that reach its place.
type errorsSeen struct {
	mu   sync.Mutex
	errs []error
}

func (e *errorsSeen) wrap(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		out, err := h(msg)
		if err != nil {
			e.mu.Lock()
			e.errs = append(e.errs, err)
			e.mu.Unlock()
		}
		return out, err
	}
}

func (e *errorsSeen) all() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.errs)
}
