package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// experiment is one run of one strategy.
type experiment struct {
	*harness
	strategy strategy
	number   int
	dir      string // of the evidence
	stream   string // names the run everywhere
	group    string

	consumers  []*process
	victim     *process // the consumer that is to die, or nil
	service    *process // nil unless the strategy uses it
	serviceURL string

	began   time.Time // when the first message was published
	beganPg time.Time // the same by the ledger's clock
	killed  time.Time
	last    string // id of the last message
	drained time.Time
	before  int // commands that the server had executed
	after   int
}

func newExperiment(h *harness, s strategy, number int) *experiment {
	name := fmt.Sprintf("%s_%s_%d", h.id, s, number)
	return &experiment{
		harness: h, strategy: s, number: number,
		dir: filepath.Join(h.dir, fmt.Sprintf("%s-%d", s, number)), stream: name, group: "consumers",
	}
}

func (x *experiment) run(ctx context.Context) (r report.Run, err error) {
	defer func() {
		for _, p := range x.processes() {
			p.kill()
		}
		err = errors.Join(err, x.redis.Del(context.WithoutCancel(ctx), x.stream).Err())
	}()
	if err := x.prepare(ctx); err != nil {
		return r, err
	}
	if err := x.start(ctx); err != nil {
		return r, err
	}
	if err := x.watch(ctx); err != nil {
		return r, err
	}
	if x.after, err = commandsExecuted(ctx, x.redis); err != nil {
		return r, err
	}
	return x.settle(ctx)
}

// prepare starts the processes and returns when all subscriptions wait for
// messages.
func (x *experiment) prepare(ctx context.Context) (err error) {
	if err := x.redis.XGroupCreateMkStream(ctx, x.stream, x.group, "0").Err(); err != nil {
		return err
	}
	base := childConfig{
		Settings: x.settings, Strategy: x.strategy, Run: x.number,
		Stream: x.stream, Group: x.group, Namespace: x.stream,
		RedisURL: x.servers.redisURL, StoreURL: x.servers.storeURL, Postgres: x.servers.postgres, Schema: x.id,
	}
	if x.strategy == leasedKey {
		cfg := base
		cfg.Role, cfg.Name = serviceRole, "service"
		if x.service, err = startProcess(cfg); err != nil {
			return err
		}
		url, err := x.service.awaitReady()
		if err != nil {
			return err
		}
		x.serviceURL = url
		base.EffectURL = url + "/effects"
	}
	// The same seed kills the same process in all strategies.
	chosen := rand.New(rand.NewPCG(x.settings.Seed, uint64(x.number))).IntN(x.settings.Consumers)
	for i := range x.settings.Consumers {
		cfg := base
		cfg.Role, cfg.Index = consumerRole, i
		cfg.Name = fmt.Sprintf("%s_%d", x.stream, i)
		cfg.Evidence = filepath.Join(x.dir, cfg.Name+".log")
		isVictim := x.settings.Crash && i == chosen
		if isVictim {
			cfg.KillAt = x.settings.KillAt
		}
		p, err := startProcess(cfg)
		if err != nil {
			return err
		}
		x.consumers = append(x.consumers, p)
		if isVictim {
			x.victim = p
		}
	}
	for _, p := range x.consumers {
		if _, err := p.awaitReady(); err != nil {
			return err
		}
	}
	return awaitBlocked(ctx, x.redis, x.settings.Consumers*x.settings.Subscriptions)
}

// start publishes the messages and so starts the clock.
func (x *experiment) start(ctx context.Context) (err error) {
	if x.before, err = commandsExecuted(ctx, x.redis); err != nil {
		return err
	}
	if x.beganPg, err = x.ledger.now(ctx); err != nil {
		return err
	}
	x.began = time.Now()
	for _, p := range x.consumers {
		if err := p.tell(wordGo); err != nil {
			return err
		}
	}
	x.last, err = publish(ctx, x.redis, x.stream, x.settings)
	return err
}

func (x *experiment) processes() []*process {
	all := x.consumers
	if x.service != nil {
		all = append(all[:len(all):len(all)], x.service)
	}
	return all
}
