package dedup

import (
	"testing"
)

func TestObserverThatPanicsChangesNothing(t *testing.T) {
	t.Parallel()
	cfg := testConfig()
	cfg.Observer = ObserverFunc(func(Pass) { panic("observer") })
	d, err := Leased(newHookedStore(t), byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	runs := 0
	if _, err := d.Middleware(counting(&runs))(newCopy("1")); err != nil || runs != 1 {
		t.Errorf("returned %v after %d runs", err, runs)
	}
}

func TestOutcomesHaveNames(t *testing.T) {
	t.Parallel()
	seen := make(map[string]bool)
	for _, o := range Outcomes() {
		if name := o.String(); name == "unknown" || name == "" || seen[name] {
			t.Errorf("outcome %d is called %q", o, name)
		}
		seen[o.String()] = true
	}
	if len(seen) != 11 || Outcome(0).String() != "unknown" || Outcome(99).String() != "unknown" {
		t.Errorf("outcomes are %v", Outcomes())
	}
}
