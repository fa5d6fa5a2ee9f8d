package main

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// settle lets the surviving processes end, which gives running handlers the
// time that they need, gathers what is left and judges it.
func (x *experiment) settle(ctx context.Context) (report.Run, error) {
	r := report.Run{
		Strategy: string(x.strategy), Crash: x.settings.Crash, KillAt: string(x.settings.KillAt),
		Run: x.number, Jobs: x.settings.Jobs, DrainedSeconds: -1, RedisCommands: x.after - x.before,
		Outcomes: make(map[string]int),
	}
	if !x.drained.IsZero() {
		r.DrainedSeconds = x.drained.Sub(x.began).Seconds()
	}
	if err := x.finish(ctx, &r); err != nil {
		return r, err
	}
	pending, err := x.redis.XPending(ctx, x.stream, x.group).Result()
	if err != nil {
		return r, err
	}
	r.Pending = int(pending.Count)

	said, strange, err := x.hear(&r)
	if err != nil {
		return r, err
	}
	if err := x.count(ctx, &r, said); err != nil {
		return r, err
	}
	r.Broken = append(broken(x.strategy, r), strange...)
	return r, nil
}

// finish ends the processes.
func (x *experiment) finish(ctx context.Context, r *report.Run) error {
	patience := 2*(x.settings.WorkMax+x.settings.Gap) + x.settings.Lease + time.Minute
	for _, p := range x.consumers {
		if p == x.victim {
			continue
		}
		if err := p.finish(patience); err != nil {
			return err
		}
	}
	if x.service == nil {
		return nil
	}
	absorbed, err := get(ctx, x.serviceURL+"/absorbed")
	if err != nil {
		return err
	}
	if r.Absorbed, err = strconv.Atoi(absorbed); err != nil {
		return err
	}
	return x.service.finish(10 * time.Second)
}

// hear reads the evidence of all processes and returns the victim's, and what
// is wrong with that of the others.
func (x *experiment) hear(r *report.Run) (victim testimony, strange []string, err error) {
	for _, p := range x.consumers {
		said, err := readEvidence(p.cfg.Evidence)
		if err != nil {
			return victim, nil, err
		}
		r.Delivered += said.delivered
		r.StoreCalls += said.storeCalls
		for name, n := range said.outcomes {
			r.Outcomes[name] += n
		}
		if p == x.victim {
			victim = said
		} else if x.strategy.leased() {
			strange = append(strange, brokenOutcomes(p.cfg.Name, said)...)
		}
	}
	return victim, strange, nil
}

// count fills in what the ledger says.
func (x *experiment) count(ctx context.Context, r *report.Run, said testimony) error {
	effects, last, err := x.ledger.read(ctx, x.stream)
	if err != nil {
		return err
	}
	if len(effects) > 0 {
		r.EffectsSeconds = last.Sub(x.beganPg).Seconds()
	}
	victim := ""
	if x.victim != nil {
		victim = x.victim.cfg.Name
		r.KilledSeconds = x.killed.Sub(x.began).Seconds()
		if ends := said.leasesEnd(x.settings.Lease); !ends.IsZero() {
			r.DeadLeasesSeconds = ends.Sub(x.began).Seconds()
		}
	}
	t := count(effects, x.settings.Jobs, victim, said)
	r.Done, r.Duplicates, r.Missing = t.done, t.duplicates, t.missing
	if x.strategy.leased() {
		r.Explained = t.explained // a baseline has no Complete to miss
	}
	return nil
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	req.Close = true // the only request
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
