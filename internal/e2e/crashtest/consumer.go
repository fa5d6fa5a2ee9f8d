package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-redisstream/pkg/redisstream"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// consumer is one consumer process.
type consumer struct {
	childConfig
	logger      watermill.LoggerAdapter
	evidence    *evidence
	killer      killer
	effects     recorder
	storeClient *redis.Client
	// inside is the number of messages in the handler chain.
	inside atomic.Int64

	mu   sync.Mutex
	rand *rand.Rand
}

func runConsumer(cfg childConfig, parent *line) error {
	ctx := context.Background()
	c := &consumer{
		childConfig: cfg,
		logger:      watermill.NopLogger{},
		killer:      killer{point: cfg.KillAt},
		rand:        rand.New(rand.NewPCG(cfg.Settings.Seed, uint64(cfg.Run)<<32|uint64(cfg.Index))),
	}
	if cfg.Settings.Verbose {
		c.logger = watermill.NewStdLogger(false, false)
	} else {
		redis.SetLogger(silence{})
	}
	var err error
	if c.evidence, err = openEvidence(cfg.Evidence); err != nil {
		return err
	}
	if c.storeClient, err = c.newStoreClient(); err != nil {
		return err
	}
	if c.effects, err = newRecorder(ctx, cfg); err != nil {
		return err
	}
	router, closing, err := c.newRouter()
	if err != nil {
		return err
	}

	ran := make(chan error, 1)
	go func() { ran <- router.Run(ctx) }()
	<-router.Running()
	parent.ready("")
	if err := parent.await(wordGo); err != nil {
		return err
	}
	c.killer.arm(c.Settings.CrashAfter)
	if err := parent.await(wordFinish); err != nil {
		return err
	}
	c.awaitIdle()
	err = router.Close()
	timeout, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return errors.Join(err, closing(timeout), <-ran)
}

func (c *consumer) newRouter() (*message.Router, func(context.Context) error, error) {
	router, err := message.NewRouter(message.RouterConfig{}, c.logger)
	if err != nil {
		return nil, nil, err
	}
	router.AddMiddleware(c.count)
	closing, err := c.protect(router)
	if err != nil {
		return nil, nil, err
	}
	subscriber, err := c.newSubscriber()
	if err != nil {
		return nil, nil, err
	}
	router.AddConsumerHandler("receipts", c.Stream, dedup.Subscriptions(subscriber, c.Settings.Subscriptions), c.handle)
	return router, closing, nil
}

// newSubscriber returns a subscriber whose subscriptions share one consumer
// name, under which none of them reclaims.
func (c *consumer) newSubscriber() (message.Subscriber, error) {
	opts, err := redis.ParseURL(c.RedisURL)
	if err != nil {
		return nil, err
	}
	// Each subscription blocks one connection, and its two loops and the
	// acknowledgement need others beside it.
	opts.PoolSize = 3 * c.Settings.Subscriptions
	client := redis.NewClient(opts)
	client.AddHook(ackWitness{c.evidence, &c.killer})
	return redisstream.NewSubscriber(redisstream.SubscriberConfig{
		Client:        client,
		Consumer:      c.Name,
		ConsumerGroup: c.Group,
		MaxIdleTime:   c.Settings.MaxIdle,
		ClaimInterval: c.Settings.ClaimInterval,
		// All entries that the process itself may have pending come first in
		// the list; a smaller batch would not reach those of a dead one.
		ClaimBatchSize: int64(3 * c.Settings.Subscriptions * c.Settings.Consumers),
		ShouldClaimPendingMessage: func(p redis.XPendingExt) bool {
			return p.Consumer != c.Name
		},
	}, c.logger)
}

func (c *consumer) newStoreClient() (*redis.Client, error) {
	opts, err := redis.ParseURL(c.StoreURL)
	if err != nil {
		return nil, err
	}
	opts.ContextTimeoutEnabled = true // redisstore insists
	client := redis.NewClient(opts)
	client.AddHook(callCounter{c.evidence})
	return client, client.Ping(context.Background()).Err()
}

// count is the outermost middleware.
func (c *consumer) count(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		c.inside.Add(1)
		defer c.inside.Add(-1)
		c.evidence.write(evDelivered, msg.Metadata.Get(jobField), "entered")
		return h(msg)
	}
}

var errMadeToFail = errors.New("handler was made to fail")

// handle is the job: work, then one effect.
func (c *consumer) handle(msg *message.Message) error {
	job := msg.Metadata.Get(jobField)
	work, fails := c.draw()
	select {
	case <-time.After(work):
	case <-msg.Context().Done():
		return context.Cause(msg.Context())
	}
	if fails {
		return errMadeToFail
	}
	c.killer.reached(beforeEffect)
	// Once begun the effect is not taken back: the handler wants to know how
	// it ended.
	ctx := context.WithoutCancel(msg.Context())
	if err := c.effects.record(ctx, job, watermill.NewUUID()); err != nil {
		return err
	}
	c.evidence.write(evEffect, job, "recorded")
	c.killer.reached(afterEffect)
	time.Sleep(c.Settings.Gap)
	return nil
}

// draw returns how long the next attempt works and whether it fails.
func (c *consumer) draw() (work time.Duration, fails bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	work = c.Settings.WorkMin
	if spread := c.Settings.WorkMax - c.Settings.WorkMin; spread > 0 {
		work += time.Duration(c.rand.Int64N(int64(spread) + 1))
	}
	return work, c.rand.Float64() < c.Settings.Fail
}

// awaitIdle returns when no message has been in the handler chain for 100 ms:
// some may still come from subscriptions that had reclaimed them. It gives up
// after the time that the longest handler needs, and a generous margin.
func (c *consumer) awaitIdle() {
	deadline := time.Now().Add(2*(c.Settings.WorkMax+c.Settings.Gap) + c.Settings.Lease + 5*time.Second)
	for quiet := 0; quiet < 10 && time.Now().Before(deadline); quiet++ {
		time.Sleep(10 * time.Millisecond)
		if c.inside.Load() > 0 {
			quiet = -1
		}
	}
}

// silence is a logger for the Redis client, which reports its closing.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
