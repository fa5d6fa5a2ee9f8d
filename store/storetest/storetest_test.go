package storetest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestModelPasses(t *testing.T) {
	t.Parallel()
	t.Run("Clock", func(t *testing.T) {
		t.Parallel()
		Run(t, func(testing.TB) Harness { return newHarness("", false) })
	})
	t.Run("RealTime", func(t *testing.T) {
		t.Parallel()
		Run(t, func(testing.TB) Harness { return newHarness("", true) })
	})
}

// A second Complete with a longer retention may move a marker's end: the rules
// leave that to the store.
func TestAllowedVariantPasses(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Harness { return newHarness("done moved later by a second Complete", false) })
}

func TestNarrowHarnessSkips(t *testing.T) {
	t.Parallel()
	for _, c := range allCases() {
		if c.needs == nothing {
			continue
		}
		err := c.run(func() Harness { return Harness{Store: newHarness("", false).Store} })
		if !errors.Is(err, errCannotRun) {
			t.Errorf("%s without Harness.%s: %v, want it skipped", c.name, c.needs, err)
		}
	}
}

// faults are the broken stores, each with a case that must catch it.
var faults = []struct{ fault, caughtBy string }{
	{"claim checks, then acts", "RaceClaim"},
	{"takeover checks, then acts", "RaceTakeover"},
	{"claim checks, then acts", "MutualExclusion"},
	{"renewal checks, then acts", "RaceRenewal"},
	{"completion checks, then acts", "RaceComplete"},
	{"takeover checks, then acts", "RaceTakeoverCompletion"},
	{"release checks, then acts", "RaceRelease"},
	{"release checks, then acts", "RaceReleaseCompletion"},
	{"own claim answered as held", "RaceSameToken"},

	{"claim forgotten", "ClaimFree"},
	{"free answered as free", "ClaimFree"},
	{"time shown for a claim", "ClaimFree"},
	{"held claims taken over", "ClaimHeld"},
	{"held answered as error", "ClaimHeld"},
	{"result shown to a stranger", "ClaimHeld"},
	{"done answered as error", "ClaimDone"},
	{"done answered as held", "ClaimDone"},
	{"done undone by a claim", "ClaimDone"},
	{"done undone by its owner's claim", "ClaimDone"},
	{"own claim answered as held", "ClaimTwice"},
	{"own claim released when claimed again", "ClaimTwice"},
	{"lease not restarted by the owner's claim", "ClaimTwiceRestartsLease"},
	{"claims never expire", "ClaimExpired"},
	{"nothing is ever free again", "ClaimExpired"},
	{"claim extended by a duplicate", "ClaimExtendsNothing"},
	{"tokens compared in 16 bytes", "TokensAreWhole"},
	{"tokens ignore case", "TokensAreWhole"},

	{"lease not restarted by renewal", "RenewOwn"},
	{"renewal works once", "RenewTwice"},
	{"renewal creates", "RenewFree"},
	{"renewal of nothing answered as held", "RenewFree"},
	{"renewal brings back", "RenewExpired"},
	{"renewal by anyone", "RenewForeign"},
	{"foreign renewal extends", "RenewForeign"},
	{"done undone by renewal", "RenewDone"},
	{"done extended by renewal", "RenewDone"},

	{"completion forgotten", "CompleteOwn"},
	{"second Complete answered as acquired", "CompleteTwice"},
	{"completion refused without a claim", "CompleteFree"},
	{"completion refused without a claim", "CompleteReleased"},
	{"completion refused after expiry", "CompleteExpired"},
	{"completion refused after a takeover", "CompleteOvertaken"},
	{"takeover answered as acquired", "CompleteOvertaken"},
	{"completion keeps the lease's end", "CompleteOutlivesLease"},
	{"completion keeps the later end", "CompleteShortensLease"},
	{"plain write shortens done", "DoneIsNotShortened"},
	{"done shortened by a claim", "DoneIsNotShortened"},
	{"done extended by a duplicate", "DuplicateExtendsNothing"},
	{"time of done is the time asked", "DoneAt"},
	{"time of done runs backwards", "DoneAt"},

	{"release forgotten", "ReleaseOwn"},
	{"second release answered as held", "ReleaseTwice"},
	{"second release answered as acquired", "ReleaseTwice"},
	{"release by anyone", "ReleaseLate"},
	{"release by anyone", "ReleaseForeign"},
	{"claims never expire", "ReleaseExpired"},
	{"done undone by release", "ReleaseDone"},

	{"done never expires", "RetentionWindow"},
	{"windows end a second early", "RetentionWindow"},
	{"windows end a second early", "LeaseWindow"},
	{"seconds for milliseconds", "Units"},
	{"microseconds for milliseconds", "Units"},
	{"rounded up to seconds", "SubMillisecond"},
	{"sub-millisecond durations refused", "SubMillisecond"},
	{"rounded down to milliseconds", "RoundedUp"},
	{"overflow", "VeryLong"},

	{"keys joined without separator", "KeysAreOpaque"},
	{"keys joined by a separator that parts may hold", "KeysAreOpaque"},
	{"scope ignored", "KeysAreOpaque"},
	{"long keys truncated", "KeysAreOpaque"},
	{"keys ignore case", "KeysAreOpaque"},
	{"keys ignore spaces at their ends", "KeysAreOpaque"},
	{"keys end at NUL", "KeysAreOpaque"},
	{"keys made valid UTF-8", "KeysAreOpaque"},
	{"keys normalised", "KeysAreOpaque"},
	{"keys unescaped", "KeysAreOpaque"},
	{"release touches all", "KeysDoNotTouch"},
	{"namespace ignored", "Namespaces"},

	{"bad durations accepted", "BadLease"},
	{"bad lease written", "BadLease"},
	{"negative durations accepted", "BadLease"},
	{"other error for bad durations", "BadLease"},
	{"key in validation error", "BadLease"},
	{"bad durations clamped", "BadRenewal"},
	{"bad durations accepted", "BadRetention"},
	{"bad retention written", "BadRetention"},
	{"ended contexts ignored", "EndedContextClaim"},
	{"deadlines ignored", "EndedContextClaim"},
	{"other error for ended contexts", "EndedContextClaim"},
	{"written in an ended context", "EndedContextClaim"},
	{"renewed in an ended context", "EndedContextRenew"},
	{"completed in an ended context", "EndedContextComplete"},
	{"released in an ended context", "EndedContextRelease"},
	{"failures swallowed", "Unreachable"},
	{"key in error", "Unreachable"},

	{"newer done markers unreadable", "NewerDone"},
	{"newer claims taken over", "NewerClaim"},
	{"completion refused over a newer claim", "CompleteNewerClaim"},
}

func TestFaultsAreCaught(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.fault+"/"+f.caughtBy, func(t *testing.T) {
			t.Parallel()
			expectCaught(t, f.fault, f.caughtBy, false)
		})
	}
}

// The clock of most stores cannot be moved: what depends on it must be caught
// in real time too.
func TestFaultsAreCaughtInRealTime(t *testing.T) {
	t.Parallel()
	for fault, caughtBy := range map[string]string{
		"claims never expire":              "ClaimExpired",
		"claim extended by a duplicate":    "ClaimExtendsNothing",
		"lease not restarted by renewal":   "RenewOwn",
		"plain write shortens done":        "DoneIsNotShortened",
		"done extended by a duplicate":     "DuplicateExtendsNothing",
		"windows end a second early":       "RetentionWindow",
		"seconds for milliseconds":         "Units",
		"microseconds for milliseconds":    "Units",
		"rounded up to seconds":            "SubMillisecond",
		"renewed in an ended context":      "EndedContextRenew",
		"takeover checks, then acts":       "RaceTakeover",
		"completion checks, then acts":     "RaceTakeoverCompletion",
		"newer done markers unreadable":    "NewerDone",
		"completion keeps the lease's end": "CompleteOutlivesLease",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			expectCaught(t, fault, caughtBy, true)
		})
	}
}

// A machine that stops between two calls proves nothing, so the case is tried
// again with longer leases.
func TestSlowMachine(t *testing.T) {
	t.Parallel()
	tries := 0
	c := testCase{check: func(p *probe) {
		tries++
		start := p.now()
		p.claim(job, "a", p.unit, store.Acquired)
		if tries == 1 {
			p.wait(p.unit)
		}
		p.before(start+p.unit, func() { p.stays(job, store.Held) })
	}}
	if err := c.run(func() Harness { return newHarness("", false) }); err != nil || tries != 2 {
		t.Errorf("got %v after %d tries, want nil after 2", err, tries)
	}
	always := testCase{check: func(p *probe) { tries = 0; c.check(p) }}
	if err := always.run(func() Harness { return newHarness("", false) }); !errors.Is(err, errTooSlow) {
		t.Errorf("got %v, want %v", err, errTooSlow)
	}
}

func expectCaught(t *testing.T, fault, caughtBy string, realTime bool) {
	t.Helper()
	i := slices.IndexFunc(allCases(), func(c testCase) bool { return c.name == caughtBy })
	if i < 0 {
		t.Fatalf("there is no case %s", caughtBy)
	}
	c := allCases()[i]
	err := c.run(func() Harness { return newHarness(fault, realTime) })
	if err == nil {
		t.Fatalf("the suite does not catch it: %s", c.rule)
	}
	t.Logf("%s\n\n%v", c.rule, err)
}

func TestEveryCaseCatchesAFault(t *testing.T) {
	t.Parallel()
	needed := map[string]bool{}
	for _, f := range faults {
		needed[f.caughtBy] = true
	}
	seen := map[string]bool{}
	for _, c := range allCases() {
		if seen[c.name] {
			t.Errorf("two cases are called %s", c.name)
		}
		seen[c.name] = true
		if !needed[c.name] {
			t.Errorf("no fault needs the case %s", c.name)
		}
		if !strings.HasSuffix(c.rule, ".") || strings.Count(c.rule, ". ") > 0 {
			t.Errorf("the rule of %s is not one sentence: %s", c.name, c.rule)
		}
	}
}

func TestEdgeKeysDiffer(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for i, key := range edgeKeys {
		name := key.Scope + "\x00\x01\x00" + key.ID
		if j, ok := seen[name]; ok {
			t.Errorf("edge keys %d and %d are the same", i, j)
		}
		seen[name] = i
	}
}
