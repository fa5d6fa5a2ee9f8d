package behaviour_test

import (
	"context"
	"crypto/rand"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// pubSub is a Pub/Sub, and the store that goes with it.
type pubSub struct {
	// topic is this test's own.
	topic string
	store store.Store
	// oneInFlight says that a subscription hands out one message at a time.
	oneInFlight bool
	// maxIdle is when an unanswered message is given to another subscriber.
	// On gochannel a new subscriber gets every message at once.
	maxIdle time.Duration

	publisher  func() message.Publisher
	subscriber func(group string) message.Subscriber
	// pending counts what was delivered to the group and not acked; zero on
	// gochannel, which does not remember.
	pending func(t *testing.T, group string) int
}

// onEveryPubSub runs a test on both Pub/Subs.
func onEveryPubSub(t *testing.T, test func(t *testing.T, ps *pubSub)) {
	t.Parallel()
	t.Run("gochannel", func(t *testing.T) {
		t.Parallel()
		test(t, onGoChannel(t))
	})
	t.Run("redisstream", func(t *testing.T) {
		t.Parallel()
		test(t, onRedisStream(t))
	})
}

func onGoChannel(t *testing.T) *pubSub {
	t.Helper()
	st, err := memstore.New("behaviour", memstore.Config{})
	noError(t, err)
	// Persistent makes it redeliver to the next subscriber, as a broker does
	// when a process is replaced.
	ch := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, nil)
	t.Cleanup(func() { _ = ch.Close() })
	return &pubSub{
		topic:      "jobs",
		store:      st,
		publisher:  func() message.Publisher { return keepOpen{ch} },
		subscriber: func(string) message.Subscriber { return &subscription{inner: ch} },
		pending:    func(*testing.T, string) int { return 0 },
	}
}

// keepOpen keeps a router from closing a Pub/Sub that others still use.
type keepOpen struct{ message.Publisher }

func (keepOpen) Close() error { return nil }

// subscription closes what was subscribed through it, and not the Pub/Sub.
type subscription struct {
	inner message.Subscriber

	mu    sync.Mutex
	close []context.CancelFunc
}

func (s *subscription) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	s.close = append(s.close, cancel)
	s.mu.Unlock()
	return s.inner.Subscribe(ctx, topic)
}

func (s *subscription) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, cancel := range s.close {
		cancel()
	}
	return nil
}

func onRedisStream(t *testing.T) *pubSub {
	t.Helper()
	addr := testserver.SharedRedis(t).Addr
	// Subscriber and publisher close the client they are given.
	client := func() *redis.Client { return redis.NewClient(&redis.Options{Addr: addr, PoolSize: 200}) }
	admin := client()
	t.Cleanup(func() { _ = admin.Close() })

	id := rand.Text()
	ps := &pubSub{
		topic:       "jobs-" + id,
		store:       openRedisStore(t, addr, id),
		oneInFlight: true,
	}
	ps.publisher = func() message.Publisher {
		pub, err := redisstream.NewPublisher(redisstream.PublisherConfig{Client: client()}, nil)
		noError(t, err)
		return pub
	}
	ps.subscriber = func(group string) message.Subscriber {
		consumer := rand.Text()
		sub, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
			Client:        client(),
			ConsumerGroup: group,
			Consumer:      consumer,
			MaxIdleTime:   ps.maxIdle,
			ClaimInterval: max(ps.maxIdle/4, 100*time.Millisecond),
			ShouldClaimPendingMessage: func(p redis.XPendingExt) bool {
				return p.Consumer != consumer
			},
			DisableIndefiniteInitialBlock: true,
		}, watermill.NopLogger{})
		noError(t, err)
		return sub
	}
	ps.pending = func(t *testing.T, group string) int {
		t.Helper()
		pending, err := admin.XPending(t.Context(), ps.topic, group).Result()
		noError(t, err)
		return int(pending.Count)
	}
	return ps
}

// openRedisStore opens a store of its own client, which ends with the test.
func openRedisStore(t *testing.T, addr, namespace string) *redisstore.Store {
	t.Helper()
	st, err := redisstore.Open(&redis.Options{Addr: addr}, namespace)
	noError(t, err)
	t.Cleanup(func() { _ = st.Close() })
	return st
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
