package report

import (
	"errors"
	"strings"
	"testing"
)

func TestMedian(t *testing.T) {
	t.Parallel()
	seconds := func(r Run) float64 { return r.EffectsSeconds }
	for _, tt := range []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 2}, 2},
		{[]float64{4, 1, 2, 9}, 3},
	} {
		var runs []Run
		for _, v := range tt.values {
			runs = append(runs, Run{EffectsSeconds: v})
		}
		if got := Median(runs, seconds); got != tt.want {
			t.Errorf("Median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestMarkdownHasALineForEachStrategy(t *testing.T) {
	t.Parallel()
	got := Markdown([]Run{
		{Strategy: "none", Duplicates: 3012, EffectsSeconds: 4},
		{Strategy: "setnx", Missing: 20, EffectsSeconds: 2},
		{Strategy: "none", Duplicates: 2998, EffectsSeconds: 4.2},
		{Strategy: "setnx", Missing: 15, EffectsSeconds: 3},
	})
	for _, line := range []string{
		"| `none` | 2,998-3,012 | 0 | 0 | 4.1 s |",
		"| `setnx` | 0 | 15-20 | 0 | 2.5 s |",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("table lacks %q:\n%s", line, got)
		}
	}
}

func TestSpliceReplacesOnlyWhatIsBetweenTheMarkers(t *testing.T) {
	t.Parallel()
	document := "before\n" + BeginMarker + "\nold\n" + EndMarker + "\nafter\n"
	got, err := Splice(document, "new\n")
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + BeginMarker + "\nnew\n" + EndMarker + "\nafter\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := Splice("no markers", "new"); !errors.Is(err, ErrNoMarkers) {
		t.Errorf("a document without markers gave %v", err)
	}
}

func TestRowNamesBrokenPromises(t *testing.T) {
	t.Parallel()
	table := Header() + Row(Run{Strategy: "leased", DrainedSeconds: -1, Broken: []string{"3 jobs missing"}}, 0)
	for _, want := range []string{"strategy", "never", "BROKEN: 3 jobs missing"} {
		if !strings.Contains(table, want) {
			t.Errorf("table lacks %q:\n%s", want, table)
		}
	}
}
