// Command bench compares redisstore with other ways to run a job once on
// Redis, on one server and in one run, the ways taking turns. It is a module
// of its own so that redisstore depends on none of them.
//
//	go -C store/redisstore/bench run .
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

func main() {
	addr := flag.String("redis", "", "host:port of a Redis server whose data may be deleted; default: start one")
	rounds := flag.Int("rounds", 5, "runs of each way; their median counts")
	length := flag.Duration("length", time.Second, "length of a run")
	flag.Parse()
	if err := run(*addr, *rounds, *length); err != nil {
		log.Fatal(err)
	}
}

func run(addr string, rounds int, length time.Duration) error {
	ctx := context.Background()
	if addr == "" {
		server, err := testserver.StartRedis(ctx, testserver.RedisOptions{})
		if err != nil {
			return err
		}
		defer func() { _ = server.Stop() }()
		addr = server.Addr
	}
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	defer func() { _ = client.Close() }()
	all, err := ways(client)
	if err != nil {
		return err
	}

	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(out, "copy\tgoroutines\tway\tjobs/s\tx by hand\tlowest\thighest\tserver us/job\tclient us/job")
	for _, copies := range []string{"first", "duplicate"} {
		for _, goroutines := range []int{1, 20, 64} {
			results := make([][]result, len(all))
			for round := range rounds {
				for i := range all {
					w := (i + round) % len(all) // nobody is always first
					if err := client.FlushAll(ctx).Err(); err != nil {
						return err
					}
					r, err := measure(ctx, client, all[w], copies, goroutines, length)
					if err != nil {
						return fmt.Errorf("%s: %w", all[w].name, err)
					}
					results[w] = append(results[w], r)
				}
			}
			// Ratios are taken within a round, so that a slow spell of the
			// machine hits both sides.
			for w := range all {
				ratios := make([]float64, rounds)
				for r := range rounds {
					ratios[r] = results[w][r].rate / results[0][r].rate
				}
				_, _ = fmt.Fprintf(out, "%s\t%d\t%s\t%.0f\t%.2f\t%.2f\t%.2f\t%.1f\t%.1f\n", copies, goroutines, all[w].name,
					median(results[w], func(r result) float64 { return r.rate }),
					median(ratios, func(r float64) float64 { return r }), slices.Min(ratios), slices.Max(ratios),
					median(results[w], func(r result) float64 { return r.server }),
					median(results[w], func(r result) float64 { return r.client }))
			}
		}
	}
	return out.Flush()
}

// result is one run of a way.
type result struct {
	rate           float64 // jobs a second
	server, client float64 // CPU time a job, in microseconds
}

func measure(ctx context.Context, client *redis.Client, w way, copies string, goroutines int, length time.Duration) (result, error) {
	if copies == "duplicate" {
		if err := w.run(ctx, "job"); err != nil {
			return result{}, err
		}
	}
	serverBefore, err := serverCPU(ctx, client)
	if err != nil {
		return result{}, err
	}
	clientBefore := clientCPU()
	var (
		jobs   atomic.Int64
		failed atomic.Pointer[error]
		wg     sync.WaitGroup
	)
	start := time.Now()
	for range goroutines {
		wg.Go(func() {
			for time.Since(start) < length && failed.Load() == nil {
				n := jobs.Add(1)
				var err error
				if copies == "duplicate" {
					err = w.skip(ctx, "job")
				} else {
					err = w.run(ctx, fmt.Sprintf("job-%d", n))
				}
				if err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(start)
	if err := failed.Load(); err != nil {
		return result{}, *err
	}
	clientAfter := clientCPU()
	serverAfter, err := serverCPU(ctx, client)
	if err != nil {
		return result{}, err
	}
	n := float64(jobs.Load())
	return result{
		rate:   n / took.Seconds(),
		server: 1e6 * (serverAfter - serverBefore) / n,
		client: 1e6 * (clientAfter - clientBefore) / n,
	}, nil
}

// serverCPU returns the CPU seconds that the server's main thread has used.
func serverCPU(ctx context.Context, client *redis.Client) (float64, error) {
	info, err := client.InfoMap(ctx, "cpu").Result()
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, name := range []string{"used_cpu_user", "used_cpu_sys"} {
		seconds, err := strconv.ParseFloat(info["CPU"][name], 64)
		if err != nil {
			return 0, err
		}
		total += seconds
	}
	return total, nil
}

// clientCPU returns the CPU seconds that this process has used.
func clientCPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds()
}

func median[T any](runs []T, of func(T) float64) float64 {
	values := make([]float64, len(runs))
	for i, r := range runs {
		values[i] = of(r)
	}
	slices.Sort(values)
	return values[len(values)/2]
}
