package report

import (
	"fmt"
	"slices"
)

// Median returns the median of what get reads from each run, or 0 for no runs.
func Median(runs []Run, get func(Run) float64) float64 {
	values := make([]float64, 0, len(runs))
	for _, r := range runs {
		values = append(values, get(r))
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return values[middle]
	}
	return (values[middle-1] + values[middle]) / 2
}

// Range returns the smallest and largest of what get reads from each run, as
// "15-20", one number where they are equal, and "-" for no runs.
func Range(runs []Run, get func(Run) int) string {
	if len(runs) == 0 {
		return "-"
	}
	low, high := get(runs[0]), get(runs[0])
	for _, r := range runs[1:] {
		low, high = min(low, get(r)), max(high, get(r))
	}
	if low == high {
		return thousands(low)
	}
	return thousands(low) + "-" + thousands(high)
}

// Of returns the runs of one strategy.
func Of(runs []Run, strategy string) []Run {
	var of []Run
	for _, r := range runs {
		if r.Strategy == strategy {
			of = append(of, r)
		}
	}
	return of
}

// Strategies returns the strategies of the runs in the order of their first.
func Strategies(runs []Run) []string {
	var names []string
	for _, r := range runs {
		if !slices.Contains(names, r.Strategy) {
			names = append(names, r.Strategy)
		}
	}
	return names
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
