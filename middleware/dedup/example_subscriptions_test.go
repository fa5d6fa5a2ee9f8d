package dedup_test

import (
	"context"
	"errors"
	"expvar"
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

// A consumer on Redis Streams: 20 messages handled at a time, 40 in flight.
func ExampleSubscriptions() {
	sendReceipt := func(msg *message.Message) error { return nil } // sends it
	if err := serveReceipts(context.Background(), sendReceipt, watermill.NewStdLogger(false, false)); err != nil {
		log.Fatal(err)
	}
}

var outcomes = expvar.NewMap("dedup_outcomes") // or a Prometheus counter with labels handler and outcome

func serveReceipts(ctx context.Context, sendReceipt message.NoPublishHandlerFunc, logger watermill.LoggerAdapter) error {
	const (
		running       = 20          // messages handled at a time
		subscriptions = 2 * running // messages in flight: some of them copies that wait
		replicas      = 3
		maxIdle       = 30 * time.Second // longer than a few runs of sendReceipt
	)
	options := &redis.Options{Addr: "localhost:6379"}

	st, err := redisstore.Open(options, "billing") // with a client of its own
	if err != nil {
		return err
	}
	warnings, err := st.Check(ctx)
	if err != nil {
		logger.Error("Could not check Redis", err, nil)
	}
	for _, warning := range warnings {
		logger.Info("Redis: "+warning, nil)
	}
	d, err := dedup.Leased(st, keyextract.Metadata("order_id"), dedup.Config{
		Retention:      7 * 24 * time.Hour,
		RedeliverAfter: maxIdle,
		Observer: dedup.ObserverFunc(func(p dedup.Pass) {
			outcomes.Add(p.Handler+" "+p.Outcome.String(), 1)
		}),
	}, logger)
	if err != nil {
		return err
	}

	options.PoolSize = 3 * subscriptions
	consumer := watermill.NewUUID() // this process's own; all its subscriptions share it
	subscriber, err := redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client:          redis.NewClient(options),
		ConsumerGroup:   "receipts",
		Consumer:        consumer,
		MaxIdleTime:     maxIdle,
		ClaimBatchSize:  int64(3 * subscriptions * replicas),
		NackResendSleep: 100 * time.Millisecond, // a failed message comes back after this
		ShouldClaimPendingMessage: func(pending redis.XPendingExt) bool {
			return pending.Consumer != consumer
		},
	}, logger)
	if err != nil {
		return err
	}

	router, err := message.NewRouter(message.RouterConfig{
		CloseTimeout: 45 * time.Second, // longer than the lease, and than any run of sendReceipt
	}, logger)
	if err != nil {
		return err
	}
	router.AddPlugin(dedup.WakeOnClose)
	router.AddMiddleware(d.Middleware, dedup.Limit(running))
	router.AddConsumerHandler("receipts", "orders", dedup.Subscriptions(subscriber, subscriptions), sendReceipt)

	err = router.Run(ctx) // until ctx ends or router.Close is called; waits for what runs
	timeout, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(err, d.Close(timeout), st.Close()) // in this order
}
