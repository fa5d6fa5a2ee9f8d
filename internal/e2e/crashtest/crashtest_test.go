package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

// TestMain makes the test binary serve as consumer process, too.
func TestMain(m *testing.M) {
	if status, isChild := childMain(); isChild {
		os.Exit(status)
	}
	goleak.VerifyTestMain(m)
}

func TestWithoutCrash(t *testing.T) {
	t.Parallel()
	runs := runExperiments(t, "-strategy none,leased,leased+idempotency-key -jobs 60 -consumers 2")
	for _, r := range runs {
		want := 0
		if r.Strategy == string(none) {
			want = 60
		}
		if r.Done != 60 || r.Duplicates != want || r.Missing != 0 || r.Pending != 0 {
			t.Errorf("%+v, want %d duplicates and no loss", r, want)
		}
		if r.Delivered < 120 || r.EffectsSeconds <= 0 || r.DrainedSeconds < r.EffectsSeconds-0.1 || r.RedisCommands < 240 {
			t.Errorf("figures make no sense: %+v", r)
		}
		if r.Strategy != string(none) && (r.Outcomes["processed"] != 60 || r.StoreCalls < 180) {
			t.Errorf("figures make no sense: %+v", r)
		}
	}
}

func TestSurvivorsRepeatTheOneEffectThatWasNotRecorded(t *testing.T) {
	t.Parallel()
	runs := runExperiments(t, "-strategy leased -jobs 60 -consumers 2 -handlers 1 -kill-at after-effect -crash-after 300ms")
	if r := runs[0]; r.Done != 60 || r.Duplicates != 1 || r.Explained != 1 || r.Pending != 0 || r.KilledSeconds < 0.3 || r.DeadLeasesSeconds < 3 {
		t.Errorf("%+v, want exactly the effect repeated after which the process was killed", r)
	}
}

func TestAPermanentClaimLosesTheJobsOfAKilledProcess(t *testing.T) {
	t.Parallel()
	runs := runExperiments(t, "-strategy setnx -jobs 60 -consumers 2 -handlers 1 -kill-at before-effect -crash-after 300ms")
	if r := runs[0]; r.Missing != 1 || r.Duplicates != 0 || r.Pending != 0 {
		t.Errorf("%+v, want the one claimed job missing", r)
	}
}

// runExperiments runs the program on servers of its own and returns what it
// printed. Broken promises fail the test.
func runExperiments(t *testing.T, args string) (runs []report.Run) {
	t.Helper()
	args += " -json -redis redis://" + testserver.NewRedis(t, testserver.RedisOptions{}).Addr +
		" -postgres " + testserver.SharedPostgres(t).DSN
	s, err := parseFlags(strings.Fields(args), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	status, err := experiments(t.Context(), s, &out, &progress{})
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(&out); decoder.More(); {
		var r report.Run
		if err := decoder.Decode(&r); err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	if len(runs) != len(s.Strategies)*s.Runs {
		t.Fatalf("%d runs, want %d", len(runs), len(s.Strategies)*s.Runs)
	}
	if status != statusKept {
		t.Errorf("exit status %d, want %d: %+v", status, statusKept, runs)
	}
	return runs
}
