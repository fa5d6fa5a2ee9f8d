package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Markers around the generated table in a document.
const (
	BeginMarker = "<!-- crash-table:begin -->"
	EndMarker   = "<!-- crash-table:end -->"
)

// ErrNoMarkers is returned by Splice for a document without the two markers.
var ErrNoMarkers = errors.New("document has no crash-table markers")

const rowFormat = "%-23s %4s %6s %6s %6s %8s %8s %10s %9s %9s %10s %9s  %s\n"

// Header returns the head of the table for people.
func Header() string {
	return fmt.Sprintf(rowFormat, "strategy", "run", "jobs", "done", "dupl.", "missing", "pending",
		"delivered", "effects", "drained", "calls/msg", "cmds/msg", "outcomes")
}

// Row returns one run as a line of the table for people, and a line for each
// promise that it broke. Calls and commands are divided by messages, the
// number of messages published.
func Row(r Run, messages int) string {
	drained := "never"
	if r.DrainedSeconds >= 0 {
		drained = fmt.Sprintf("%.2fs", r.DrainedSeconds)
	}
	per := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/float64(max(messages, 1))) }
	row := fmt.Sprintf(rowFormat, r.Strategy, fmt.Sprint(r.Run), thousands(r.Jobs), thousands(r.Done), thousands(r.Duplicates),
		thousands(r.Missing), thousands(r.Pending), thousands(r.Delivered), fmt.Sprintf("%.2fs", r.EffectsSeconds), drained,
		per(r.StoreCalls), per(r.RedisCommands), outcomes(r))
	for _, b := range r.Broken {
		row += fmt.Sprintf("    BROKEN: %s\n", b)
	}
	return row
}

func outcomes(r Run) string {
	names := make([]string, 0, len(r.Outcomes))
	for name := range r.Outcomes {
		names = append(names, name)
	}
	slices.Sort(names)
	parts := make([]string, 0, len(names)+2)
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%s=%d", name, r.Outcomes[name]))
	}
	if r.Explained > 0 {
		parts = append(parts, fmt.Sprintf("(explained duplicates: %d)", r.Explained))
	}
	if r.Absorbed > 0 {
		parts = append(parts, fmt.Sprintf("(absorbed repeats: %d)", r.Absorbed))
	}
	return strings.Join(parts, " ")
}

// Markdown returns the runs as a table with one line a strategy: ranges for
// counts and medians for times.
func Markdown(runs []Run) string {
	var b strings.Builder
	b.WriteString("| strategy | duplicates | missing | pending | last effect |\n")
	b.WriteString("|---|---:|---:|---:|---:|\n")
	for _, name := range Strategies(runs) {
		of := Of(runs, name)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %.1f s |\n", name,
			Range(of, func(r Run) int { return r.Duplicates }),
			Range(of, func(r Run) int { return r.Missing }),
			Range(of, func(r Run) int { return r.Pending }),
			Median(of, func(r Run) float64 { return r.EffectsSeconds }))
	}
	return b.String()
}

// Splice returns the document with the text between the two markers replaced
// by table.
func Splice(document, table string) (string, error) {
	before, rest, ok := strings.Cut(document, BeginMarker)
	if !ok {
		return "", ErrNoMarkers
	}
	_, after, ok := strings.Cut(rest, EndMarker)
	if !ok {
		return "", ErrNoMarkers
	}
	return before + BeginMarker + "\n" + table + EndMarker + after, nil
}
