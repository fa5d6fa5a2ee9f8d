package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// harness is what all runs of the program share.
type harness struct {
	settings settings
	servers  *servers
	redis    *redis.Client // the parent's own, at the streams' server
	ledger   *ledger
	dir      string // of the evidence
	id       string // in the names of streams, keys and schema
	progress *progress
}

func newHarness(ctx context.Context, s settings, p *progress) (_ *harness, err error) {
	h := &harness{settings: s, progress: p, id: "crashtest_" + strings.ToLower(watermill.NewShortUUID())}
	if h.servers, err = startServers(ctx, s); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.close())
		}
	}()
	if h.dir, err = os.MkdirTemp("", "crashtest-"); err != nil {
		return nil, err
	}
	opts, err := redis.ParseURL(h.servers.redisURL)
	if err != nil {
		return nil, err
	}
	h.redis = redis.NewClient(opts)
	if h.ledger, err = openLedger(ctx, h.servers.postgres, h.id, 2); err != nil {
		return nil, err
	}
	return h, h.ledger.create(ctx)
}

func (h *harness) close() error {
	var errs []error
	if h.ledger != nil {
		if h.settings.Postgres != "" {
			errs = append(errs, h.ledger.drop(context.Background()))
		}
		h.ledger.pool.Close()
	}
	if h.redis != nil {
		errs = append(errs, h.redis.Close())
	}
	_ = os.Remove(h.dir) // stays while it holds evidence of a broken promise
	return errors.Join(append(errs, h.servers.stop())...)
}

// run does one run and judges it.
func (h *harness) run(ctx context.Context, s strategy, number int) (report.Run, error) {
	r := newExperiment(h, s, number)
	if err := os.Mkdir(r.dir, 0o700); err != nil {
		return report.Run{}, err
	}
	result, err := r.run(ctx)
	if err != nil {
		err = fmt.Errorf("%s, run %d: %w", s, number, err)
	}
	if err == nil && len(result.Broken) > 0 {
		fmt.Fprintf(os.Stderr, "crashtest: the evidence of %s, run %d, is in %s\n", s, number, r.dir)
		return result, nil
	}
	return result, errors.Join(err, os.RemoveAll(r.dir))
}
