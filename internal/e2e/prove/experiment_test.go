package main

import (
	"testing"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

func TestKeptNoticesABrokenPromise(t *testing.T) {
	t.Parallel()
	good := report.Run{Strategy: "leased", Duplicates: 2, Explained: 2}
	bad := report.Run{Strategy: "leased", Missing: 1, Broken: []string{"1 jobs are missing"}}
	baseline := report.Run{Strategy: "setnx", Missing: 15}
	if f := kept([]report.Run{baseline, good}); len(f) != 1 || !f[0].ok {
		t.Errorf("got %+v, want one good finding", f)
	}
	if f := kept([]report.Run{good, bad}); len(f) != 1 || f[0].ok {
		t.Errorf("got %+v, want one bad finding", f)
	}
}

func TestInTimeCountsFromWhatEndsLast(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		effects, leases float64
		want            bool
	}{
		{5.4, 4.5, true},
		{5.6, 4.5, false},
		{4.9, 0, true}, // killed 1.5 + max-idle 2 + claim interval 0.5
		{5.1, 0, false},
	} {
		r := report.Run{EffectsSeconds: tt.effects, DeadLeasesSeconds: tt.leases, KilledSeconds: 1.5}
		if f := inTime([]report.Run{r}); f.ok != tt.want {
			t.Errorf("last effect at %v, leases end at %v: %+v", tt.effects, tt.leases, f)
		}
	}
}

func TestSpeedIsHeldToItsBounds(t *testing.T) {
	t.Parallel()
	setnx := report.Run{Strategy: "setnx", DrainedSeconds: 2}
	for _, tt := range []struct {
		drained, effects float64
		calls            int
		want             bool
	}{
		{2.2, 2.1, 15000, true},
		{2.4, 2.3, 15000, false}, // too slow
		{2.2, 1.8, 15000, false}, // too long after the last effect
		{2.2, 2.1, 16000, false}, // too many calls
	} {
		leased := report.Run{Strategy: "leased", DrainedSeconds: tt.drained, EffectsSeconds: tt.effects, StoreCalls: tt.calls}
		ok := true
		for _, f := range judgeSpeed([][]report.Run{{setnx, leased}}) {
			ok = ok && f.ok
		}
		if ok != tt.want {
			t.Errorf("%+v was judged %v", tt, ok)
		}
	}
}

func TestNoRunsProveNothing(t *testing.T) {
	t.Parallel()
	if all(nil, func(report.Run) bool { return true }) {
		t.Error("no runs passed a check")
	}
}
