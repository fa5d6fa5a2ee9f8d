// Command crashtest measures what a crash does to jobs whose messages arrive
// more than once.
//
// Every job is published twice to a Redis stream, twenty messages apart, each
// copy with its own UUID and both with one business key. Three consumer
// processes of twenty running handlers have one effect a job, which they
// record in a Postgres table. After 1.5 seconds one of them is killed with
// SIGKILL; the others reclaim its messages. Then the table is counted: jobs
// that were never done, and effects that were repeated.
//
//	go run ./internal/e2e/crashtest -crash
//	go run ./internal/e2e/crashtest -strategy setnx,leased -crash -runs 5
//	go run ./internal/e2e/crashtest -strategy leased -kill-at after-effect -handlers 1 -jobs 300
//	go run ./internal/e2e/crashtest -strategy leased -fail 0.05 -json
//
// It starts a Redis and a Postgres server of its own, and removes them, unless
// -redis and -postgres name servers that run.
//
// The strategies:
//
//	none                    every message runs the handler
//	check-then-act          a done marker is read before, and written after the work
//	setnx                   a claim before the work that is never given back
//	watermill               Watermill's Deduplicator by business key, in each process
//	leased                  this module's middleware
//	leased+idempotency-key  the same; the effect is at an HTTP service that honours the key
//
// In the table, calls/msg are client calls to the deduplication store, and
// cmds/msg is what the streams' server executed for the consumers, both for
// each message published. A call of a script counts there with every command
// inside it.
//
// The exit status is 1 if a promise of this module was broken: with the last
// two strategies no job may be missing and no message may be left pending, and
// a repeated effect must be explained by the crash, which means that the
// killed process had the first effect and no answer to its Complete. With an
// idempotency key no effect may be repeated at all. The other strategies
// promise nothing. It is 2 if the experiment could not be done.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// Exit statuses.
const (
	statusKept   = 0
	statusBroken = 1
	statusFailed = 2
)

func main() {
	if status, isChild := childMain(); isChild {
		os.Exit(status)
	}
	s, err := parseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(statusKept)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashtest:", err)
		os.Exit(statusFailed)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status, err := experiments(ctx, s, os.Stdout, newProgress(os.Stderr))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "crashtest:", err)
	}
	os.Exit(status)
}

// experiments does all runs, the strategies taking turns so that a change of
// the machine's speed meets all of them, and prints each when it ends.
func experiments(ctx context.Context, s settings, out io.Writer, p *progress) (status int, err error) {
	p.show("starting servers")
	h, err := newHarness(ctx, s, p)
	if err != nil {
		return statusFailed, err
	}
	defer func() {
		if closeErr := h.close(); closeErr != nil {
			status, err = statusFailed, errors.Join(err, closeErr)
		}
	}()
	p.clear()
	if !s.JSON {
		_, _ = io.WriteString(out, report.Header())
	}
	for number := 1; number <= s.Runs; number++ {
		for _, strategy := range s.Strategies {
			r, err := h.run(ctx, strategy, number)
			p.clear()
			if err != nil {
				return statusFailed, err
			}
			if s.JSON {
				if err := json.NewEncoder(out).Encode(r); err != nil {
					return statusFailed, err
				}
			} else {
				_, _ = io.WriteString(out, report.Row(r, s.messages()))
			}
			status = max(status, statusOf(r))
		}
	}
	return status, nil
}

// statusOf returns the exit status that a run asks for.
func statusOf(r report.Run) int {
	if len(r.Broken) > 0 {
		return statusBroken
	}
	return statusKept
}
