package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// settings are the flags. They travel to the child processes as JSON.
type settings struct {
	Strategies    []strategy
	Jobs          int
	Copies        int
	Consumers     int
	Handlers      int
	Subscriptions int
	Apart         int
	WorkMin       time.Duration
	WorkMax       time.Duration
	Fail          float64
	Gap           time.Duration
	Lease         time.Duration
	MaxIdle       time.Duration
	ClaimInterval time.Duration
	Crash         bool
	CrashAfter    time.Duration
	KillAt        killPoint
	Runs          int
	Seed          uint64
	JSON          bool
	Verbose       bool

	Redis      string
	StoreRedis string
	Postgres   string
}

func parseFlags(args []string, output io.Writer) (settings, error) {
	var s settings
	var strategies, work, killAt string
	f := flag.NewFlagSet("crashtest", flag.ContinueOnError)
	f.SetOutput(output)
	f.StringVar(&strategies, "strategy", "all", "strategies to run, separated by commas: all, "+join(allStrategies))
	f.IntVar(&s.Jobs, "jobs", 3000, "number of jobs")
	f.IntVar(&s.Copies, "copies", 2, "how often each job is published, each time with its own UUID")
	f.IntVar(&s.Consumers, "consumers", 3, "number of consumer processes")
	f.IntVar(&s.Handlers, "handlers", 20, "running handlers in each process")
	f.IntVar(&s.Subscriptions, "subscriptions", 40, "subscriptions in each process; one has one message in flight")
	f.IntVar(&s.Apart, "apart", 20, "distance of two copies of a job, in messages")
	f.StringVar(&work, "work", "20ms-60ms", "duration of a handler, uniformly distributed")
	f.Float64Var(&s.Fail, "fail", 0, "probability that a handler fails before its effect")
	f.DurationVar(&s.Gap, "gap", 0, "pause between the effect and the handler's return")
	f.DurationVar(&s.Lease, "lease", 3*time.Second, "lease of a claim")
	f.DurationVar(&s.MaxIdle, "max-idle", 2*time.Second, "age from which other processes reclaim an unacknowledged message")
	f.DurationVar(&s.ClaimInterval, "claim-interval", 500*time.Millisecond, "how often they look for such messages")
	f.BoolVar(&s.Crash, "crash", false, "kill one consumer process with SIGKILL while it runs")
	f.DurationVar(&s.CrashAfter, "crash-after", 1500*time.Millisecond, "when the process is killed, counted from the first message")
	f.StringVar(&killAt, "kill-at", "", "instead, have the process kill itself the first time after that moment that it reaches a point: "+join(allKillPoints))
	f.IntVar(&s.Runs, "runs", 1, "runs of each strategy; strategies take turns")
	f.Uint64Var(&s.Seed, "seed", 1, "seed of handler durations, failures and the choice of the killed process")
	f.BoolVar(&s.JSON, "json", false, "print one JSON object a run instead of a table")
	f.BoolVar(&s.Verbose, "v", false, "print the log of the consumers")
	f.StringVar(&s.Redis, "redis", "", "URL of the streams' Redis server (default: start one)")
	f.StringVar(&s.StoreRedis, "store-redis", "", "URL of the deduplication store's Redis server (default: the streams' server)")
	f.StringVar(&s.Postgres, "postgres", "", "URL of the Postgres server that records effects (default: start one)")
	if err := f.Parse(args); err != nil {
		return s, err
	}
	if f.NArg() > 0 {
		return s, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	var err error
	if s.WorkMin, s.WorkMax, err = parseWork(work); err != nil {
		return s, err
	}
	if s.Strategies, err = parseStrategies(strategies); err != nil {
		return s, err
	}
	if killAt != "" {
		s.KillAt = killPoint(killAt)
		s.Crash = true
	}
	return s, s.validate()
}

func (s settings) validate() error {
	for _, n := range []struct {
		flag  string
		value int
	}{
		{"jobs", s.Jobs}, {"copies", s.Copies}, {"consumers", s.Consumers}, {"handlers", s.Handlers},
		{"subscriptions", s.Subscriptions}, {"apart", s.Apart}, {"runs", s.Runs},
	} {
		if n.value < 1 {
			return fmt.Errorf("-%s must be at least 1, got %d", n.flag, n.value)
		}
	}
	if s.Fail < 0 || s.Fail >= 1 {
		return fmt.Errorf("-fail must be at least 0 and below 1, got %g", s.Fail)
	}
	if s.Crash && s.Consumers < 2 {
		return errors.New("-crash needs a second consumer that survives")
	}
	if s.KillAt == "" {
		return nil
	}
	if !slices.Contains(allKillPoints, s.KillAt) {
		return fmt.Errorf("-kill-at knows no point %q; there are %s", s.KillAt, join(allKillPoints))
	}
	for _, st := range s.Strategies {
		if !st.reaches(s.KillAt) {
			return fmt.Errorf("strategy %s never comes to the point %s", st, s.KillAt)
		}
	}
	return nil
}

// messages is the number of messages published.
func (s settings) messages() int { return s.Jobs * s.Copies }

func parseWork(text string) (low, high time.Duration, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	if low, err = time.ParseDuration(from); err == nil {
		high, err = time.ParseDuration(to)
	}
	if err != nil || low < 0 || high < low {
		return 0, 0, fmt.Errorf("-work must be a duration or a range like 20ms-60ms, got %q", text)
	}
	return low, high, nil
}

func parseStrategies(text string) ([]strategy, error) {
	if text == "all" {
		return allStrategies, nil
	}
	var list []strategy
	for name := range strings.SplitSeq(text, ",") {
		st := strategy(strings.TrimSpace(name))
		if !slices.Contains(allStrategies, st) {
			return nil, fmt.Errorf("-strategy knows no %q; there are all, %s", st, join(allStrategies))
		}
		list = append(list, st)
	}
	return list, nil
}

func join[T ~string](list []T) string {
	var names []string
	for _, x := range list {
		names = append(names, string(x))
	}
	return strings.Join(names, ", ")
}
