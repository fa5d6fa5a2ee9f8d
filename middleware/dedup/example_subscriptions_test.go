package dedup_test

import (
	"context"
	"errors"
	"log"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// A consumer on Redis Streams: 20 handlers at a time, 40 messages in flight.
func ExampleSubscriptions() {
	if err := serveReceipts(context.Background(), watermill.NewStdLogger(false, false)); err != nil {
		log.Fatal(err)
	}
}

func serveReceipts(ctx context.Context, logger watermill.LoggerAdapter) error {
	const (
		handlers      = 20
		subscriptions = 2 * handlers // work for every handler while copies wait
		replicas      = 3
		maxIdle       = time.Minute // then a dead replica's messages are taken over
	)
	options := redis.Options{Addr: "localhost:6379"}
	st, err := redisstore.Open(&options, "billing") // a client of its own
	if err != nil {
		return err
	}
	d, err := dedup.Leased(st, keyextract.Metadata("order_id"), dedup.Config{
		Retention:      7 * 24 * time.Hour,
		RedeliverAfter: maxIdle,
	}, logger)
	if err != nil {
		return err
	}

	options.PoolSize = 3 * subscriptions
	consumer := watermill.NewUUID() // this process's own; all its subscriptions share it
	subscriber, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client:          redis.NewClient(&options),
		ConsumerGroup:   "receipts",
		Consumer:        consumer,
		MaxIdleTime:     maxIdle,
		ClaimBatchSize:  3 * subscriptions * replicas,
		NackResendSleep: 100 * time.Millisecond, // a failed message comes back after this
		ShouldClaimPendingMessage: func(pending redis.XPendingExt) bool {
			return pending.Consumer != consumer
		},
	}, logger)
	if err != nil {
		return err
	}

	router, err := message.NewRouter(message.RouterConfig{}, logger)
	if err != nil {
		return err
	}
	router.AddPlugin(dedup.WakeOnClose)
	router.AddMiddleware(d.Middleware, dedup.Limit(handlers))
	router.AddConsumerHandler("receipts", "orders", dedup.Subscriptions(subscriber, subscriptions),
		func(msg *message.Message) error { return nil }) // sends the receipt

	err = router.Run(ctx) // returns when ctx ends or the router is closed
	timeout, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, d.Close(timeout), st.Close())
}
