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

	open, where := inMemory, "on gochannel, in one process"
	if *redisURL != "" {
		open = func() (*place, error) { return onRedis(*redisURL) }
		where = "on Redis Streams, with two replicas"
		logging.Disable() // go-redis logs connections that it closes while in use
	}
	fmt.Printf("%d jobs %s. Each is published twice: two UUIDs, one %s.\n", *jobs, where, jobField)
	fmt.Print("One call of the handler in ten fails; its message is then delivered again.\n\n")

	if err := compare(open, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// compare runs every approach and prints a table and what to read from it.
func compare(open func() (*place, error), jobs int) error {
	fmt.Printf("%-20s %6s %6s %10s %8s %7s\n", "", "jobs", "done", "duplicates", "missing", "time")
	results := make([]result, len(approaches))
	for i, a := range approaches {
		start := time.Now()
		r, err := run(a, open, jobs)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		fmt.Printf("%-20s %6d %6d %10d %8d %6.1fs\n",
			a.name, r.jobs, r.done, r.duplicates, r.missing, time.Since(start).Seconds())
		results[i] = r
	}
	fmt.Println()
	for i, a := range approaches {
		fmt.Printf("%-20s %d lost, %d repeated: %s\n", a.name, results[i].missing, results[i].duplicates, a.because)
	}
	return nil
}

// run publishes the jobs, waits until every message is acked, and counts.
func run(a approach, open func() (*place, error), jobs int) (r result, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	p, err := open()
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()

	l := newLedger(2 * jobs)
	for _, replica := range p.replicas {
		stop, err := start(ctx, a, replica, p, l)
		if err != nil {
			return r, err
		}
		defer stop()
	}
	if err := publish(p.publisher, p.topic, jobs); err != nil {
		return r, err
	}
	select {
	case <-l.drained:
		return l.count(jobs), nil
	case <-ctx.Done():
		return r, errors.New("messages are still unanswered after a minute")
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
		return nil, err
	}
	return func() {
		_ = router.Close()
		_ = closeDedup(ctx) // after the router: it waits for the last markers
	}, nil
}

// publish sends every job twice, as two messages with UUIDs of their own.
func publish(publisher message.Publisher, topic string, jobs int) error {
	for first := 0; first < jobs; first += apart {
		for range 2 {
			for job := first; job < min(first+apart, jobs); job++ {
				msg := message.NewMessage(watermill.NewUUID(), nil)
				msg.Metadata.Set(jobField, fmt.Sprint(job))
				if err := publisher.Publish(topic, msg); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
