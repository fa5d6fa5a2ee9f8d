// Package storetest checks that a store keeps the rules of package store.
//
// A store's test calls Run with a function that makes a fresh store:
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(tb testing.TB) storetest.Harness {
//			return storetest.Harness{Store: mystore.New(...)}
//		})
//	}
//
// Each case is a subtest with a rule of one sentence, which is printed with
// the calls that led there when the store breaks it. Bench measures the same
// stores.
package storetest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// Factory makes a store for one case or benchmark. Cases run in parallel, so
// the store's keys must be its own: give each a random namespace rather than
// emptying a shared one. Clean up with tb.Cleanup.
type Factory func(tb testing.TB) Harness

// Harness is a store under test, and what the suite can do to it. Cases that
// need a field that is not set are skipped, and say so.
type Harness struct {
	// Store is the store under test. Required.
	Store store.Store

	// Neighbour is a second store on the same database under another
	// namespace. Set it if the store has namespaces.
	Neighbour store.Store

	// Advance moves the store's clock forward, also while calls are running.
	// Set it if the clock can be controlled.
	// Default: the suite waits in real time, a few seconds in all.
	Advance func(time.Duration)

	// WriteNewer writes a value of a format newer than the store's own under
	// key of Store: a claim of an unknown owner for store.Held, a done marker
	// for store.Done. It keeps at least a minute. Set it if values have a
	// format version.
	WriteNewer func(ctx context.Context, key store.Key, state store.State) error

	// Break makes the database of Store unreachable until the case ends. Set
	// it if there is a database that can be.
	Break func()
}

// testCase is one rule and the calls that would show it broken.
type testCase struct {
	name  string
	rule  string // one sentence
	needs need
	check func(*probe)
}

// need is a field of Harness without which a case cannot run.
type need string

const (
	nothing    need = ""
	advance    need = "Advance"
	neighbour  need = "Neighbour"
	writeNewer need = "WriteNewer"
	breakable  need = "Break"
)

func (h Harness) has(n need) bool {
	switch n {
	case advance:
		return h.Advance != nil
	case neighbour:
		return h.Neighbour != nil
	case writeNewer:
		return h.WriteNewer != nil
	case breakable:
		return h.Break != nil
	default:
		return true
	}
}

func allCases() []testCase {
	return slices.Concat(claimCases, renewCases, completeCases, releaseCases, timeCases, keyCases, raceCases, refusalCases, formatCases)
}

// Run runs every case as a parallel subtest of t.
func Run(t *testing.T, factory Factory) {
	for _, c := range allCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			err := c.run(func() Harness { return factory(t) })
			switch {
			case err == nil:
			case errors.Is(err, errCannotRun):
				t.Skipf("Harness.%s is not set; not tested: %s", c.needs, c.rule)
			default:
				t.Errorf("%s\n\n%v", c.rule, err)
			}
		})
	}
}
