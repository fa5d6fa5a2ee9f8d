package main

import (
	"fmt"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

// tally is what the ledger says about a run.
type tally struct{ done, duplicates, missing, explained int }

// count tallies the effects, given in the order in which they happened. The
// victim is the killed process, or "", and said is its evidence.
//
// A duplicate is explained when it is the price of the crash that cannot be
// avoided: the killed process had the job's first effect, has no answer to its
// Complete, and somebody else repeated the effect, once.
func count(effects []effect, jobs int, victim string, said testimony) tally {
	byJob := make(map[string][]string, jobs) // the consumers of each effect
	for _, e := range effects {
		byJob[e.job] = append(byJob[e.job], e.consumer)
	}
	t := tally{done: len(byJob), duplicates: len(effects) - len(byJob), missing: jobs - len(byJob)}
	for job, by := range byJob {
		if len(by) > 1 && victim != "" && by[0] == victim && by[1] != victim && !said.completed[job] {
			t.explained++
		}
	}
	return t
}

// broken names the promises that a run did not keep. The baselines promise
// nothing. The middleware promises that no job is lost, that no message is
// left behind, and that an effect is repeated for one reason only; with an
// idempotency key not even for that one.
func broken(s strategy, r report.Run) []string {
	if !s.leased() {
		return nil
	}
	var list []string
	if r.Missing > 0 {
		list = append(list, fmt.Sprintf("%d jobs are missing", r.Missing))
	}
	if r.Pending > 0 {
		list = append(list, fmt.Sprintf("%d messages are pending", r.Pending))
	}
	if s == leasedKey && r.Duplicates > 0 {
		list = append(list, fmt.Sprintf("%d effects were repeated in spite of an idempotency key", r.Duplicates))
	}
	if s == leased && r.Duplicates > r.Explained {
		list = append(list, fmt.Sprintf("%d of %d duplicates are not explained by the crash", r.Duplicates-r.Explained, r.Duplicates))
	}
	return list
}

// brokenOutcomes checks that a process which ended in peace reported one
// outcome for each message that it was given.
func brokenOutcomes(name string, said testimony) []string {
	outcomes := 0
	for _, n := range said.outcomes {
		outcomes += n
	}
	if outcomes == said.delivered {
		return nil
	}
	return []string{fmt.Sprintf("consumer %s reported %d outcomes for %d deliveries", name, outcomes, said.delivered)}
}
