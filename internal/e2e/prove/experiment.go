package main

import (
	"fmt"
	"slices"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// experiment is a set of crash test runs and what they must show.
type experiment struct {
	name string
	// variants are the flags of each invocation; they take turns, rounds times.
	variants []string
	rounds   int
	// judge is given the runs of each variant.
	judge func(variants [][]report.Run) []finding
}

// finding is one sentence with its figures, and whether it is as it must be.
type finding struct {
	ok   bool
	text string
}

func find(ok bool, format string, args ...any) finding {
	return finding{ok, fmt.Sprintf(format, args...)}
}

// Bounds that the runs are held to. The counts of the baselines depend on the
// machine; they only show that the experiment provokes what it is about.
const (
	maxSlowdown      = 1.15 // against a bare SET NX, and with failing handlers
	maxDrainSeconds  = 0.3  // from the last effect
	maxCallsAMessage = 2.6
	maxLateSeconds   = 1.0 // after the last lease and message of a killed process came free
	maxIdle          = 2.0 // seconds, crashtest's default
	claimInterval    = 0.5 // seconds, crashtest's default
	jobs             = 3000
	messages         = 2 * jobs
)

var experiments = []experiment{
	{
		name:     "crash",
		variants: []string{"-strategy all -crash -runs 3"},
		judge: func(v [][]report.Run) []finding {
			none, check, setnx, stock := report.Of(v[0], "none"), report.Of(v[0], "check-then-act"), report.Of(v[0], "setnx"), report.Of(v[0], "watermill")
			return append([]finding{
				find(all(none, func(r report.Run) bool { return near(r.Duplicates, 3000, 0.1) }), "none: %s duplicates", report.Range(none, duplicates)),
				find(all(check, func(r report.Run) bool { return near(r.Duplicates, 2000, 0.25) }), "check-then-act: %s duplicates", report.Range(check, duplicates)),
				find(all(setnx, func(r report.Run) bool { return r.Missing > 0 }), "setnx: %s jobs missing", report.Range(setnx, missing)),
				find(all(stock, func(r report.Run) bool { return near(r.Duplicates, 1800, 0.25) }), "watermill: %s duplicates", report.Range(stock, duplicates)),
			}, kept(v[0])...)
		},
	},
	{
		name:     "many-crashes",
		variants: []string{"-strategy leased -crash -runs 20"},
		judge: func(v [][]report.Run) []finding {
			return append(kept(v[0]), inTime(v[0]))
		},
	},
	{
		name: "kill-points",
		variants: []string{
			"-strategy leased -handlers 1 -jobs 300 -kill-at before-claim",
			"-strategy leased -handlers 1 -jobs 300 -kill-at after-claim",
			"-strategy leased -handlers 1 -jobs 300 -kill-at before-effect",
			"-strategy leased -handlers 1 -jobs 300 -kill-at after-effect",
			"-strategy leased -handlers 1 -jobs 300 -kill-at after-complete",
			"-strategy leased -handlers 1 -jobs 300 -kill-at after-ack",
		},
		rounds: 3,
		judge: func(v [][]report.Run) (findings []finding) {
			for _, runs := range v {
				want := 0
				if runs[0].KillAt == "after-effect" {
					want = 1
				}
				findings = append(findings, find(
					all(runs, func(r report.Run) bool { return r.Duplicates == want && len(r.Broken) == 0 }),
					"killed at %s: %s jobs repeated, %s missing", runs[0].KillAt, report.Range(runs, duplicates), report.Range(runs, missing)))
			}
			return findings
		},
	},
	{
		name:     "slow-handlers",
		variants: []string{"-strategy leased -work 4s-6s -jobs 120 -crash -runs 20"},
		judge:    func(v [][]report.Run) []finding { return kept(v[0]) },
	},
	{
		name:     "no-crash",
		variants: []string{"-strategy setnx,leased -runs 10"},
		judge:    judgeSpeed,
	},
	{
		name:     "round-trips",
		variants: []string{"-strategy leased -apart 3000"},
		judge: func(v [][]report.Run) []finding {
			// Two for each first copy and one for the other, which comes when
			// all is done. A consumer's first script calls load the scripts.
			calls := v[0][0].StoreCalls
			return append(kept(v[0]), find(calls >= 3*jobs && calls <= 3*jobs+20,
				"leased sends %d store calls for %d jobs and as many late copies", calls, jobs))
		},
	},
	{
		name:     "failing-handlers",
		variants: []string{"-strategy leased", "-strategy setnx,watermill,leased -fail 0.05"},
		rounds:   5,
		judge:    judgeFailing,
	},
	{
		name: "prefetched",
		variants: []string{
			"-strategy none,leased -copies 1 -jobs 240 -work 1500ms-1500ms",
			"-strategy none -subscriptions 20 -copies 1 -jobs 240 -work 1500ms-1500ms",
		},
		rounds: 3,
		judge: func(v [][]report.Run) []finding {
			none, fewer := report.Of(v[0], "none"), v[1]
			return append(kept(v[0]),
				find(all(none, repeatsAThird), "none: %s repeated effects of 240 jobs, with neither crash nor copies", report.Range(none, duplicates)),
				find(all(fewer, repeatsAThird), "none with as many subscriptions as handlers: %s", report.Range(fewer, duplicates)))
		},
	},
	{
		name:     "gap",
		variants: []string{"-strategy leased,leased+idempotency-key -gap 25ms -crash -runs 3"},
		judge: func(v [][]report.Run) []finding {
			withKey := report.Of(v[0], "leased+idempotency-key")
			return append(kept(v[0]),
				find(true, "leased: %s duplicates when marker follows effect after 25 ms", report.Range(report.Of(v[0], "leased"), duplicates)),
				find(true, "leased+idempotency-key: %s repeats absorbed", report.Range(withKey, func(r report.Run) int { return r.Absorbed })))
		},
	},
}

// judgeSpeed compares leased with a bare SET NX where nothing goes wrong.
func judgeSpeed(v [][]report.Run) []finding {
	leased, setnx := report.Of(v[0], "leased"), report.Of(v[0], "setnx")
	own, bare := report.Median(leased, drained), report.Median(setnx, drained)
	tail := slices.Max(each(leased, func(r report.Run) float64 { return r.DrainedSeconds - r.EffectsSeconds }))
	calls := slices.Max(each(leased, func(r report.Run) float64 { return float64(r.StoreCalls) / messages }))
	return append(kept(v[0]),
		find(own <= maxSlowdown*bare, "leased drains in %.2f s, setnx in %.2f s: %.2f times", own, bare, own/bare),
		find(tail <= maxDrainSeconds, "leased drains at most %.2f s after its last effect", tail),
		find(calls <= maxCallsAMessage, "leased sends at most %.2f store calls a message", calls))
}

func judgeFailing(v [][]report.Run) []finding {
	failing := report.Of(v[1], "leased")
	without, with := report.Median(v[0], drained), report.Median(failing, drained)
	return append(kept(slices.Concat(v...)),
		find(with <= maxSlowdown*without, "leased with 5 %% failing handlers drains in %.2f s, without in %.2f s: %.2f times", with, without, with/without),
		find(true, "setnx loses %s jobs, watermill %s", report.Range(report.Of(v[1], "setnx"), missing), report.Range(report.Of(v[1], "watermill"), missing)))
}

// kept judges the promises of the protected strategies.
func kept(runs []report.Run) (findings []finding) {
	for _, name := range report.Strategies(runs) {
		if name != "leased" && name != "leased+idempotency-key" {
			continue
		}
		of := report.Of(runs, name)
		explained := func(r report.Run) int { return r.Explained }
		findings = append(findings, find(all(of, func(r report.Run) bool { return len(r.Broken) == 0 }),
			"%s, %d runs: %s missing, %s pending, %s duplicates, %s of them explained by the crash", name, len(of),
			report.Range(of, missing), report.Range(of, pending), report.Range(of, duplicates), report.Range(of, explained)))
	}
	return findings
}

// inTime judges how soon the jobs of a killed process were done.
func inTime(runs []report.Run) finding {
	late := slices.Max(each(runs, func(r report.Run) float64 {
		return r.EffectsSeconds - max(r.DeadLeasesSeconds, r.KilledSeconds+maxIdle+claimInterval)
	}))
	return find(late <= maxLateSeconds, "the last effect is at most %.2f s later than the end of the killed process's leases, or the time to reclaim", late)
}

func duplicates(r report.Run) int  { return r.Duplicates }
func missing(r report.Run) int     { return r.Missing }
func pending(r report.Run) int     { return r.Pending }
func drained(r report.Run) float64 { return r.DrainedSeconds }

func repeatsAThird(r report.Run) bool { return 3*r.Duplicates >= r.Jobs }

func all(runs []report.Run, ok func(report.Run) bool) bool {
	return len(runs) > 0 && !slices.ContainsFunc(runs, func(r report.Run) bool { return !ok(r) })
}

func each(runs []report.Run, get func(report.Run) float64) (values []float64) {
	for _, r := range runs {
		values = append(values, get(r))
	}
	return values
}

// near tells whether n differs from want by at most the given part of it.
func near(n, want int, part float64) bool {
	difference := float64(n - want)
	return max(difference, -difference) <= part*float64(want)
}
