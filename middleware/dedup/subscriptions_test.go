package dedup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// fakeSubscriber hands out channels that a test writes to. Like many real
// ones, it closes them when their context ends or it is closed.
type fakeSubscriber struct {
	failAt int // Subscribe number, from 1
	inputs []chan *message.Message
	ctxs   []context.Context
	closed chan struct{}
}

var errSubscribe = errors.New("no more subscriptions")

func (f *fakeSubscriber) Subscribe(ctx context.Context, _ string) (<-chan *message.Message, error) {
	if len(f.inputs)+1 == f.failAt {
		return nil, errSubscribe
	}
	in, out := make(chan *message.Message), make(chan *message.Message)
	f.inputs, f.ctxs = append(f.inputs, in), append(f.ctxs, ctx)
	go func() {
		defer close(out)
		for {
			select {
			case msg, open := <-in:
				if !open {
					return
				}
				out <- msg // without a look at the context, as decorators do
			case <-ctx.Done():
				return
			case <-f.closed:
				return
			}
		}
	}()
	return out, nil
}

func (f *fakeSubscriber) Close() error {
	close(f.closed)
	return nil
}

func (f *fakeSubscriber) String() string { return "fake" }

func TestSubscriptionsMerge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSubscriber{closed: make(chan struct{})}
		sub := Subscriptions(f, 3)
		out, err := sub.Subscribe(t.Context(), "topic")
		if err != nil {
			t.Fatal(err)
		}
		for i, in := range f.inputs {
			sent := newCopy(string(rune('0' + i)))
			go func() { in <- sent }()
			msg := <-out
			if msg != sent || closingFrom(msg.Context()) == nil {
				t.Errorf("got %v", msg)
			}
		}
		if err := sub.Close(); err != nil {
			t.Fatal(err)
		}
		if _, open := <-out; open || len(f.inputs) != 3 {
			t.Errorf("output still open, %d inputs", len(f.inputs))
		}
	})
}

func TestOneSubscriptionThatEndsEndsAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSubscriber{closed: make(chan struct{})}
		out, err := Subscriptions(f, 3).Subscribe(t.Context(), "topic")
		if err != nil {
			t.Fatal(err)
		}
		f.inputs[0] <- newCopy("1")
		waiting := <-out
		go func() { f.inputs[2] <- newCopy("2") }() // nobody reads it
		synctest.Wait()
		close(f.inputs[1])
		if _, open := <-out; open {
			// The unread message may still have come through.
			if _, open := <-out; open {
				t.Error("the output is still open")
			}
		}
		if !closed(closingFrom(waiting.Context())) {
			t.Error("a message that waits is not woken")
		}
	})
}

func TestFailedSubscribeCancelsTheOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSubscriber{failAt: 3, closed: make(chan struct{})}
		_, err := Subscriptions(f, 5).Subscribe(t.Context(), "topic")
		if !errors.Is(err, errSubscribe) || !strings.Contains(err.Error(), "3 of 5") {
			t.Errorf("returned %v", err)
		}
		for _, ctx := range f.ctxs {
			if ctx.Err() == nil {
				t.Error("an open subscription was left behind")
			}
		}
	})
}

func TestClosingWakesBeforeTheSubscriberCloses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fakeSubscriber{closed: make(chan struct{})}
		sub := Subscriptions(f, 1)
		ctx, cancel := context.WithCancel(t.Context())
		out, err := sub.Subscribe(ctx, "topic")
		if err != nil {
			t.Fatal(err)
		}
		f.inputs[0] <- newCopy("1")
		closing := closingFrom((<-out).Context())

		s := newHookedStore(t)
		d, seen := newTestDedup(t, s, testConfig())
		started := make(chan struct{})
		stop := make(chan struct{})
		h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
			close(started)
			<-stop
			return nil, nil
		})
		go h(newCopy("1"))
		<-started
		waiting := newCopy("1")
		waiting.SetContext(withClosing(context.Background(), closing))
		start := time.Now()
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		if _, err := h(waiting); err != nil || !nacked(waiting) || time.Since(start) != time.Second {
			t.Errorf("returned %v after %s, nacked %t", err, time.Since(start), nacked(waiting))
		}
		close(stop)
		synctest.Wait()
		seen.want(t, Held, Processed)
		if _, open := <-out; open {
			t.Error("the output is still open")
		}
	})
}

func TestSubscriptionsRefuseBadArguments(t *testing.T) {
	t.Parallel()
	f := &fakeSubscriber{closed: make(chan struct{})}
	for want, sub := range map[string]message.Subscriber{
		"n must be at least 1": Subscriptions(f, 0),
		"sub is nil":           Subscriptions(nil, 1),
	} {
		if _, err := sub.Subscribe(t.Context(), "topic"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("returned %v, want it to say %q", err, want)
		}
	}
	if name := Subscriptions(f, 2).(interface{ String() string }).String(); name != "fake" {
		t.Errorf("Watermill would report the subscriber as %q", name)
	}
}
