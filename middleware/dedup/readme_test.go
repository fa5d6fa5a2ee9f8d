package dedup_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// TestREADMECode keeps the code in READMEs equal to that of the examples, which
// compile and run.
func TestREADMECode(t *testing.T) {
	t.Parallel()
	for readme, examples := range map[string]string{
		"../../README.md":                  "example_*_test.go",
		"../../store/redisstore/README.md": "../../store/redisstore/example_test.go",
	} {
		code := codeOf(t, examples)
		blocks := strings.Split(read(t, readme), "```go\n")[1:]
		if len(blocks) == 0 {
			t.Errorf("%s has no code", readme)
		}
		for _, block := range blocks {
			block, _, _ = strings.Cut(block, "```")
			if !strings.Contains(code, unindented(block)) {
				t.Errorf("%s has code that is in no example:\n%s", readme, block)
			}
		}
	}
}

func TestREADMEListsEveryOutcome(t *testing.T) {
	t.Parallel()
	readme := read(t, "../../README.md")
	for _, o := range dedup.Outcomes() {
		if !strings.Contains(readme, "\n| `"+o.String()+"` | ") {
			t.Errorf("README.md does not list the outcome %s", o)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// codeOf returns the unindented code of the files that match pattern.
func codeOf(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	var code strings.Builder
	for _, file := range files {
		code.WriteString(unindented(read(t, file)))
	}
	return code.String()
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
