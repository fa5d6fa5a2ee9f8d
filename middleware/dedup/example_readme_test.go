package dedup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestREADMECode keeps the README's code equal to that of the examples, which
// compile and run.
func TestREADMECode(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("example_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var examples strings.Builder
	for _, file := range files {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		examples.WriteString(unindented(string(code)))
	}

	blocks := strings.Split(string(readme), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Error("README.md has no code")
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(examples.String(), unindented(block)) {
			t.Errorf("README.md has code that is in no example:\n%s", block)
		}
	}
}

// unindented returns the code without the spaces around its lines, and with
// single ones inside them: gofmt aligns comments differently in other blocks.
func unindented(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.Join(strings.Fields(line), " "))
		b.WriteByte('\n')
	}
	return b.String()
}
