package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// byWhom returns effects of one job each, by the given consumers in order.
func byWhom(jobs ...string) (effects []effect) {
	for i, consumers := range jobs {
		for c := range strings.FieldsSeq(consumers) {
			effects = append(effects, effect{strconv.Itoa(i + 1), c})
		}
	}
	return effects
}

func TestCount(t *testing.T) {
	t.Parallel()
	answered := testimony{completed: map[string]bool{"1": true}}
	for _, tt := range []struct {
		name    string
		effects []effect
		jobs    int
		victim  string
		said    testimony
		want    tally
	}{
		{name: "once each", effects: byWhom("a", "b", "a"), jobs: 3, want: tally{done: 3}},
		{name: "jobs never done", effects: byWhom("a"), jobs: 4, want: tally{done: 1, missing: 3}},
		{name: "nothing done", jobs: 2, want: tally{missing: 2}},
		{name: "repeated without a crash", effects: byWhom("a b", "a a a"), jobs: 2, want: tally{done: 2, duplicates: 3}},
		{name: "first effect by the killed process", effects: byWhom("dead b"), jobs: 1, victim: "dead", want: tally{done: 1, duplicates: 1, explained: 1}},
		{name: "and its Complete was answered", effects: byWhom("dead b"), jobs: 1, victim: "dead", said: answered, want: tally{done: 1, duplicates: 1}},
		{name: "first effect by a survivor", effects: byWhom("b dead"), jobs: 1, victim: "dead", want: tally{done: 1, duplicates: 1}},
		{name: "both effects by the killed process", effects: byWhom("dead dead"), jobs: 1, victim: "dead", want: tally{done: 1, duplicates: 1}},
		{name: "repeated twice", effects: byWhom("dead b c"), jobs: 1, victim: "dead", want: tally{done: 1, duplicates: 2, explained: 1}},
	} {
		if got := count(tt.effects, tt.jobs, tt.victim, tt.said); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestPromises(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		strategy strategy
		run      report.Run
		broken   int
	}{
		{"nothing happened", leased, report.Run{}, 0},
		{"a job is missing", leased, report.Run{Missing: 1}, 1},
		{"a message is pending", leased, report.Run{Pending: 1}, 1},
		{"a duplicate", leased, report.Run{Duplicates: 1}, 1},
		{"an explained duplicate", leased, report.Run{Crash: true, Duplicates: 1, Explained: 1}, 0},
		{"one of two explained", leased, report.Run{Crash: true, Duplicates: 2, Explained: 1}, 1},
		{"an explained duplicate with a key", leasedKey, report.Run{Crash: true, Duplicates: 1, Explained: 1}, 1},
		{"an absorbed repeat", leasedKey, report.Run{Crash: true, Absorbed: 1}, 0},
		{"all at once", leasedKey, report.Run{Duplicates: 1, Missing: 1, Pending: 1}, 3},
		{"the baselines promise nothing", setnx, report.Run{Duplicates: 1, Missing: 1, Pending: 1}, 0},
	} {
		r := tt.run
		r.Broken = broken(tt.strategy, r)
		if len(r.Broken) != tt.broken {
			t.Errorf("%s: broken promises are %q, want %d", tt.name, r.Broken, tt.broken)
		}
		want := statusKept
		if tt.broken > 0 {
			want = statusBroken
		}
		if got := statusOf(r); got != want {
			t.Errorf("%s: exit status %d, want %d", tt.name, got, want)
		}
	}
}

func TestEveryDeliveryHasAnOutcome(t *testing.T) {
	t.Parallel()
	said := testimony{delivered: 3, outcomes: map[string]int{"processed": 1, "duplicate": 2}}
	if got := brokenOutcomes("a", said); got != nil {
		t.Errorf("got %q", got)
	}
	said.delivered = 4
	if got := brokenOutcomes("a", said); len(got) != 1 {
		t.Errorf("a delivery without an outcome was not noticed: %q", got)
	}
}
