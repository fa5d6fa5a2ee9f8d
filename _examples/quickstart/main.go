// Quickstart publishes every job twice, as a producer that retries does, lets
// the handler fail one call in ten, and counts what becomes of the jobs with no
// deduplication, with Watermill's own Deduplicator and with dedup.Leased.
//
//	go run ./quickstart                                in memory, nothing else needed
//	go run ./quickstart -redis redis://localhost:6379  two replicas on Redis Streams
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/redis/go-redis/v9/logging"
)

const (
	// jobField is the metadata field with the business key.
	jobField = "job_id"
	// slots is how many handlers run at a time, over all replicas.
	slots = 20
	// apart is how many messages lie between the two copies of a job. With as
	// many slots both are usually in flight at once.
	apart = 20
)

func main() {
	redisURL := flag.String("redis", "", "URL of a Redis server to run on, such as redis://localhost:6379")
	jobs := flag.Int("jobs", 1000, "number of jobs; each is published twice")
	flag.Parse()

	// An interrupt ends the run, which removes what it has made in Redis.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := quickstart(ctx, *redisURL, *jobs)
	cancel()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func quickstart(ctx context.Context, redisURL string, jobs int) error {
	open, where := inMemory, "on gochannel, in one process"
	if redisURL != "" {
		logging.Disable() // go-redis logs connections that it closes while in use
		options, err := connect(ctx, redisURL)
		if err != nil {
			return err
		}
		open = func() (*place, error) { return onRedis(options) }
		where = "on Redis Streams, with two replicas"
	}
	fmt.Printf("%d jobs %s. Each is published twice: two UUIDs, one %s.\n", jobs, where, jobField)
	fmt.Print("One call of the handler in ten fails; its message is then delivered again.\n\n")
	return compare(ctx, open, jobs, redisURL != "")
}

// compare runs every approach and prints a table and what to read from it.
func compare(ctx context.Context, open func() (*place, error), jobs int, replicated bool) error {
	fmt.Printf("%-20s %6s %6s %10s %8s %7s\n", "", "jobs", "done", "duplicates", "missing", "time")
	results := make([]result, len(approaches))
	for i, a := range approaches {
		start := time.Now()
		r, err := run(ctx, a, open, jobs)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		fmt.Printf("%-20s %6d %6d %10d %8d %6.1fs\n",
			a.name, r.jobs, r.done, r.duplicates, r.missing, time.Since(start).Seconds())
		results[i] = r
	}
	fmt.Println()
	for i, a := range approaches {
		because := a.because
		if replicated {
			because += a.onReplicas
		}
		fmt.Printf("%-20s %d lost, %d repeated: %s\n", a.name, results[i].missing, results[i].duplicates, because)
	}
	return nil
}

// run publishes the jobs, waits until every message is acked, and counts.
func run(ctx context.Context, a approach, open func() (*place, error), jobs int) (r result, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("messages are still unanswered after a minute"))
	defer cancel()

	p, err := open()
	if err != nil {
		return r, err
	}
	defer func() {
		// After another error this one is most often the same again.
		if closeErr := p.close(); err == nil {
			err = closeErr
		}
	}()

	l := newLedger(2 * jobs)
	for _, replica := range p.replicas {
		stop, err := start(ctx, a, replica, p, l)
		if err != nil {
			return r, err
		}
		defer stop()
	}
	if err := publish(ctx, p.publisher, p.topic, jobs); err != nil {
		return r, err
	}
	select {
	case <-l.drained:
		return l.count(jobs), nil
	case <-ctx.Done():
		return r, context.Cause(ctx)
	}
}

// start runs one replica of the service: a router with one handler.
func start(ctx context.Context, a approach, rep replica, p *place, l *ledger) (stop func(), err error) {
	// No logger: the failing calls would fill the screen.
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(l.countAcks)
	closeDedup, err := a.protect(router, rep.store, slots/len(p.replicas))
	if err != nil {
		return nil, err
	}
	router.AddConsumerHandler("receipts", p.topic, rep.subscriber, l.sendReceipt)

	ran := make(chan error, 1)
	go func() { ran <- router.Run(ctx) }()
	select {
	case <-router.Running():
	case err := <-ran:
		_ = rep.subscriber.Close() // the router closes it only if it ran
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, err
	}
	return func() {
		_ = router.Close()
		// After the router: it waits for the last markers.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		_ = closeDedup(ctx)
	}, nil
}

// publish sends every job twice, as two messages with UUIDs of their own.
func publish(ctx context.Context, publisher message.Publisher, topic string, jobs int) error {
	for first := 0; first < jobs; first += apart {
		for range 2 {
			for job := first; job < min(first+apart, jobs); job++ {
				msg := message.NewMessage(watermill.NewUUID(), nil)
				msg.Metadata.Set(jobField, fmt.Sprint(job))
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := publisher.Publish(topic, msg); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
