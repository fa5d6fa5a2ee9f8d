package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// redeliverAfter is when another replica takes over the messages of one that
// died. dedup is told, because no copy may wait longer for its claim.
const redeliverAfter = time.Minute

// subscriptions is how many messages a replica on Redis has in flight: twice
// its slots, so that there is work for each slot while copies wait.
const subscriptions = 2 * slots / replicas

const replicas = 2

// connect reads the URL of a Redis server and tells whether one answers there.
func connect(ctx context.Context, url string) (*redis.Options, error) {
	options, err := redis.ParseURL(url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client := redis.NewClient(options)
	defer func() { _ = client.Close() }()
	if err := client.Ping(ctx).Err(); err != nil {
		return nil, fmt.Errorf("no Redis server answers: %w", err)
	}
	return options, nil
}

// onRedis has two replicas. A real one is a process of its own.
func onRedis(options *redis.Options) (*place, error) {
	name := "quickstart-" + watermill.NewShortUUID() // so that runs do not meet each other's jobs
	p := &place{topic: name}

	client := redis.NewClient(options)
	var err error
	p.publisher, err = redisstream.NewPublisher(redisstream.PublisherConfig{Client: client}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	closers := []func() error{
		func() error { return remove(client, name) },
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
		s, err := redisstore.Open(options, name)
		if err != nil {
			return nil, err
		}
		closers = append(closers, s.Close)
		p.replicas = append(p.replicas, replica{subscriber, s})
	}
	return p, nil
}

// remove deletes the stream of a run, its consumer group with it, and the keys
// of its store. A real service leaves the keys to their retention.
func remove(client *redis.Client, name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()

	keys := []string{name}
	found := client.Scan(ctx, 0, "dedup:"+name+":*", 1000).Iterator()
	for found.Next(ctx) {
		keys = append(keys, found.Val())
	}
	err := found.Err()
	for batch := range slices.Chunk(keys, 1000) {
		err = errors.Join(err, client.Unlink(ctx, batch...).Err())
	}
	if err != nil {
		return fmt.Errorf("could not remove stream %s and keys dedup:%[1]s:* from Redis: %w", name, err)
	}
	return nil
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
