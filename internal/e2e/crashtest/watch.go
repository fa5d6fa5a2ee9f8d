package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// watch kills the victim when its time has come, and returns when everything
// was read and acknowledged or when nothing moves any more.
func (x *experiment) watch(ctx context.Context) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	var seen position
	var moved time.Time
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-poll.C:
		}
		if err := x.crash(); err != nil {
			return err
		}
		now, err := x.position(ctx)
		if err != nil {
			return err
		}
		if now.last == x.last && now.pending == 0 {
			return x.wasDrained()
		}
		if now != seen {
			seen, moved = now, time.Now()
		}
		if time.Since(moved) > x.patience() {
			return nil
		}
		if x.progress.due() {
			if err := x.show(ctx, now); err != nil {
				return err
			}
		}
	}
}

// position is how far the consumers have come.
type position struct {
	last    string // id of the last message read
	pending int64
}

func (x *experiment) position(ctx context.Context) (position, error) {
	groups, err := x.redis.XInfoGroups(ctx, x.stream).Result()
	if err != nil {
		return position{}, err
	}
	for _, g := range groups {
		if g.Name == x.group {
			return position{g.LastDeliveredID, g.Pending}, nil
		}
	}
	return position{}, errors.New("the consumer group is gone")
}

// patience is how long nothing may happen before the run counts as stuck:
// a dead process's messages to be reclaimed, its leases to end, and a handler
// to run, with a margin.
func (x *experiment) patience() time.Duration {
	s := x.settings
	return s.Lease + s.MaxIdle + s.ClaimInterval + 2*(s.WorkMax+s.Gap) + 5*time.Second
}

// crash kills the victim, or notices that it killed itself. Other processes
// must not have ended.
func (x *experiment) crash() error {
	for _, p := range x.processes() {
		if p != x.victim && p.hasExited() {
			return fmt.Errorf("%s ended by itself: %w", p.cfg.Name, p.err)
		}
	}
	if x.victim == nil || !x.killed.IsZero() {
		return nil
	}
	if x.settings.KillAt != "" {
		if x.victim.hasExited() {
			x.killed = time.Now()
		}
		return nil
	}
	if time.Since(x.began) >= x.settings.CrashAfter {
		x.victim.kill()
		x.killed = time.Now()
	}
	return nil
}

func (x *experiment) wasDrained() error {
	x.drained = time.Now()
	if x.victim != nil && x.killed.IsZero() {
		if x.settings.KillAt != "" {
			select {
			case <-x.victim.exited: // with the very last message
				x.killed = time.Now()
				return nil
			case <-time.After(200 * time.Millisecond):
			}
			return fmt.Errorf("everything was done before the process came to %s after %s: -jobs should be larger or -crash-after smaller",
				x.settings.KillAt, x.settings.CrashAfter)
		}
		return fmt.Errorf("everything was done %.2f s before the crash: -jobs should be larger or -crash-after smaller",
			(x.settings.CrashAfter - x.drained.Sub(x.began)).Seconds())
	}
	return nil
}

func (x *experiment) show(ctx context.Context, now position) error {
	effects, err := x.ledger.count(ctx, x.stream)
	if err != nil {
		return err
	}
	state := ""
	if !x.killed.IsZero() {
		state = ", one consumer killed"
	}
	x.progress.show(fmt.Sprintf("%s, run %d of %d: %.1f s, %d effects of %d jobs, %d messages pending%s",
		x.strategy, x.number, x.settings.Runs, time.Since(x.began).Seconds(), effects, x.settings.Jobs, now.pending, state))
	return nil
}
