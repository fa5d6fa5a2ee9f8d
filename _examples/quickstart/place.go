package main

import (
	"context"
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// place is where one run's messages and claims live.
type place struct {
	topic     string
	publisher message.Publisher
	replicas  []replica
	// close ends what the replicas' routers do not close themselves.
	close func() error
}

// replica is what one replica of the service needs.
type replica struct {
	subscriber message.Subscriber
	store      store.Store
}

// inMemory needs no server. A gochannel gives every message to each of its
// subscribers, so there is one replica, with one subscription: it has any
// number of messages in flight.
func inMemory() (*place, error) {
	pubSub := gochannel.NewGoChannel(gochannel.Config{}, watermill.NopLogger{})
	s, err := memstore.New("quickstart", memstore.Config{})
	if err != nil {
		return nil, err
	}
	return &place{
		topic:     "jobs",
		publisher: pubSub,
		replicas:  []replica{{pubSub, s}},
		close:     pubSub.Close,
	}, nil
}

// redeliverAfter is when another replica takes over the messages of one that
// died. dedup is told, because no copy may wait longer for its claim.
const redeliverAfter = time.Minute

// subscriptions is how many messages a replica on Redis has in flight: twice
// its slots, so that there is work for each slot while copies wait.
const subscriptions = 2 * slots / replicas

const replicas = 2

// onRedis has two replicas. A real one is a process of its own.
func onRedis(url string) (*place, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	run := watermill.NewShortUUID() // so that runs do not meet each other's jobs
	p := &place{topic: "quickstart-" + run}

	client := redis.NewClient(options)
	p.publisher, err = redisstream.NewPublisher(redisstream.PublisherConfig{Client: client}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	closers := []func() error{
		func() error { return client.Del(context.Background(), p.topic).Err() },
		p.publisher.Close, // closes its client
	}
	p.close = func() error {
		var errs []error
		for _, c := range closers {
			errs = append(errs, c())
		}
		return errors.Join(errs...)
	}

	for range replicas {
		subscriber, err := newRedisSubscriber(*options)
		if err != nil {
			return nil, err
		}
		// The store has a client of its own: the subscriber closes its own.
		s, err := redisstore.Open(options, "quickstart-"+run)
		if err != nil {
			return nil, err
		}
		closers = append(closers, s.Close)
		p.replicas = append(p.replicas, replica{subscriber, s})
	}
	return p, nil
}

// newRedisSubscriber returns one replica's subscriber.
func newRedisSubscriber(options redis.Options) (message.Subscriber, error) {
	// Each subscription blocks a connection while it reads, and needs others
	// to acknowledge and to look for the messages of dead replicas.
	options.PoolSize = 3 * subscriptions
	// The name is the process's own and new at each start; all subscriptions
	// of the process share it.
	consumer := watermill.NewUUID()
	subscriber, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client:        redis.NewClient(&options),
		ConsumerGroup: "receipts",
		Consumer:      consumer,
		MaxIdleTime:   redeliverAfter,
		// A message that this process has in hand is not abandoned, however
		// long its handler takes.
		ShouldClaimPendingMessage: func(pending redis.XPendingExt) bool {
			return pending.Consumer != consumer
		},
		// All that the replicas have in hand is listed before what a dead one
		// left; a smaller batch might not reach that.
		ClaimBatchSize: replicas * 3 * subscriptions,
		// A failed message comes back after this pause, not at once.
		NackResendSleep: 50 * time.Millisecond,
	}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	// One message in flight per subscription: open several, for one handler.
	return dedup.Subscriptions(subscriber, subscriptions), nil
}
