package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Subscriptions opens n subscriptions of sub for every Subscribe and merges
// them, so that one handler, and with it one scope, has n messages in flight
// on a Pub/Sub that hands out one at a time. Adding the handler n times under
// n names would give n scopes, between which nothing is deduplicated.
//
// It helps on Redis Streams with a consumer group and on NATS, does nothing on
// watermill-sql, costs a rebalance on Kafka, and on a Pub/Sub that broadcasts
// to its subscribers, such as gochannel, it delivers every message n times.
// The order of messages is lost. When one of the n subscriptions ends, all
// end. Limit bounds how many messages are handled at a time.
//
// Closing the returned subscriber closes sub. Subscribe returns an error when
// n is less than 1, when sub is nil, and when any of the n subscriptions could
// not be opened, in which case the others are cancelled.
func Subscriptions(sub message.Subscriber, n int) message.Subscriber {
	return &subscriptions{inner: sub, n: n, open: map[*merge]struct{}{}}
}

// WakeOnClose is a router plugin: with it, closing the router wakes the copies
// that wait for a claim held elsewhere, and they are nacked. Without it,
// closing can take as long as Config.HeldWait on a Pub/Sub whose redelivered
// messages carry a context that never ends, such as Redis Streams.
//
//	router.AddPlugin(dedup.WakeOnClose)
func WakeOnClose(r *message.Router) error {
	r.AddSubscriberDecorators(func(sub message.Subscriber) (message.Subscriber, error) {
		return Subscriptions(sub, 1), nil
	})
	return nil
}

type subscriptions struct {
	inner message.Subscriber
	n     int

	mu     sync.Mutex
	closed bool
	open   map[*merge]struct{}
}

// String makes Watermill report the wrapped subscriber's name.
func (s *subscriptions) String() string {
	if named, ok := s.inner.(fmt.Stringer); ok {
		return named.String()
	}
	return strings.TrimLeft(fmt.Sprintf("%T", s.inner), "*")
}

// Subscribe opens the n subscriptions.
func (s *subscriptions) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if s.inner == nil {
		return nil, errors.New("dedup.Subscriptions: sub is nil")
	}
	if s.n < 1 {
		return nil, fmt.Errorf("dedup.Subscriptions: n must be at least 1, got %d", s.n)
	}

	ctx, cancel := context.WithCancel(ctx)
	inputs := make([]<-chan *message.Message, 0, s.n)
	for i := range s.n {
		in, err := s.inner.Subscribe(ctx, topic)
		if err != nil {
			cancel()
			for _, in := range inputs {
				go drain(in)
			}
			return nil, fmt.Errorf("could not open subscription %d of %d: %w", i+1, s.n, err)
		}
		inputs = append(inputs, in)
	}

	m := &merge{
		done:    ctx.Done(),
		cancel:  cancel,
		closing: make(chan struct{}),
		out:     make(chan *message.Message),
	}
	s.add(m)
	for _, in := range inputs {
		m.forwarders.Add(1)
		go m.forward(in)
	}
	go func() {
		<-m.done
		m.wake()
		m.forwarders.Wait()
		s.remove(m)
		close(m.out)
	}()
	return m.out, nil
}

// Close wakes what waits, closes the wrapped subscriber and ends the merging.
func (s *subscriptions) Close() error {
	s.mu.Lock()
	s.closed = true
	open := make([]*merge, 0, len(s.open))
	for m := range s.open {
		open = append(open, m)
	}
	s.mu.Unlock()

	for _, m := range open {
		m.wake()
	}
	var err error
	if s.inner != nil {
		err = s.inner.Close()
	}
	for _, m := range open {
		m.cancel()
	}
	return err
}

func (s *subscriptions) add(m *merge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[m] = struct{}{}
	if s.closed {
		m.cancel()
	}
}

func (s *subscriptions) remove(m *merge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, m)
}

// merge is one Subscribe: n inputs and one output.
type merge struct {
	done   <-chan struct{}
	cancel context.CancelFunc

	closing  chan struct{}
	wakeOnce sync.Once

	forwarders sync.WaitGroup
	out        chan *message.Message
}

// wake tells every message of this merge that its subscription is ending.
func (m *merge) wake() {
	m.wakeOnce.Do(func() { close(m.closing) })
}

// forward copies one input to the output until either ends, and then ends the
// whole merge: a handler with fewer subscriptions than asked for would look
// healthy and be slow.
func (m *merge) forward(in <-chan *message.Message) {
	defer m.forwarders.Done()
	defer m.cancel()
	for {
		select {
		case msg, open := <-in:
			if !open {
				return
			}
			msg.SetContext(withClosing(msg.Context(), m.closing))
			select {
			case m.out <- msg:
			case <-m.done:
				go drain(in)
				return
			}
		case <-m.done:
			go drain(in)
			return
		}
	}
}

// drain reads what a cancelled subscription still sends, so that a decorator
// below that does not watch its context can end. The messages stay unanswered:
// their subscription is over, and the broker delivers them again.
func drain(in <-chan *message.Message) {
	for range in {
	}
}
