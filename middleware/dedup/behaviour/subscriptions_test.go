package behaviour_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

func TestSubscriptionsHaveSoManyMessagesInFlight(t *testing.T) {
	t.Parallel()
	ps := onRedisStream(t)
	const n = 6
	r := newRig(t, ps)
	r.subscriptions = n
	d := r.leased()
	all := r.gate()
	r.consume(func(msg *message.Message) error {
		job, _ := r.start(msg)
		all.wait()
		r.ledger.effect(job)
		return nil
	}, d.wrap)
	r.run()
	names := jobs("j", 3*n)
	r.publish(1, names...)
	r.await("one message of each subscription is in flight", func() bool { return r.ledger.counts().runs == n })
	time.Sleep(100 * time.Millisecond) // in which more could come
	if got := r.ledger.counts().delivered; got != n {
		t.Errorf("%d messages are in flight, want %d", got, n)
	}
	all.open()
	r.awaitAcks(len(names))
	r.eachOnce()
}

// fake is a subscriber whose subscriptions the test holds in its hands.
type fake struct {
	mu     sync.Mutex
	failAt int // which Subscribe fails, from 1; 0 is none
	open   []*fakeSubscription
	closed bool
}

type fakeSubscription struct {
	ctx  context.Context
	out  chan *message.Message
	once sync.Once
}

func (s *fakeSubscription) end() { s.once.Do(func() { close(s.out) }) }

var errSubscribe = errors.New("the subscriber fails on purpose")

func (f *fake) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failAt == len(f.open)+1 {
		return nil, errSubscribe
	}
	s := &fakeSubscription{ctx: ctx, out: make(chan *message.Message)}
	f.open = append(f.open, s)
	context.AfterFunc(ctx, s.end)
	return s.out, nil
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for _, s := range f.open {
		s.end()
	}
	return nil
}

// inBubble ends only when every goroutine that the test started has.
func inBubble(t *testing.T, test func(t *testing.T)) {
	t.Parallel()
	synctest.Test(t, test)
}

func TestSubscriptionsCancelTheOthersWhenOneFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := &fake{failAt: 3}
		out, err := dedup.Subscriptions(f, 5).Subscribe(t.Context(), "jobs")
		if !errors.Is(err, errSubscribe) || out != nil {
			t.Errorf("got %v, want the subscriber's error", err)
		}
		synctest.Wait()
		if len(f.open) != 2 {
			t.Fatalf("%d subscriptions were opened, want 2", len(f.open))
		}
		for i, s := range f.open {
			if s.ctx.Err() == nil {
				t.Errorf("subscription %d is still open", i+1)
			}
		}
	})
}

func TestSubscriptionsEndTogether(t *testing.T) {
	for name, end := range map[string]func(f *fake, sub message.Subscriber, cancel func()){
		"one ends":       func(f *fake, _ message.Subscriber, _ func()) { f.open[1].end() },
		"cancelled":      func(_ *fake, _ message.Subscriber, cancel func()) { cancel() },
		"closed":         func(_ *fake, sub message.Subscriber, _ func()) { _ = sub.Close() },
		"closed outside": func(f *fake, _ message.Subscriber, _ func()) { _ = f.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				f := &fake{}
				sub := dedup.Subscriptions(f, 3)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				out, err := sub.Subscribe(ctx, "jobs")
				noError(t, err)
				// One message has come through, one has no reader.
				go func() { f.open[2].out <- newJob("1") }()
				msg := <-out
				msg.Ack()
				go func() {
					defer func() { _ = recover() }() // the test may end the fake's channel first
					f.open[0].out <- newJob("2")
				}()
				synctest.Wait()
				end(f, sub, cancel)
				for range out {
				}
				synctest.Wait()
				for i, s := range f.open {
					if s.ctx.Err() == nil {
						t.Errorf("subscription %d is still open", i+1)
					}
				}
			})
		})
	}
}

func TestSubscriptionsDeliverEverythingOfAll(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := &fake{}
		sub := dedup.Subscriptions(f, 3)
		out, err := sub.Subscribe(t.Context(), "jobs")
		noError(t, err)
		for _, s := range f.open {
			go func() {
				for range 10 {
					s.out <- newJob("1")
				}
			}()
		}
		for range 30 {
			<-out
		}
		noError(t, sub.Close())
		if _, open := <-out; open {
			t.Error("a message too many")
		}
		if !f.closed {
			t.Error("Close did not close the wrapped subscriber")
		}
	})
}
