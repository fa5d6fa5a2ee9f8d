// Command prove runs the long experiments of crashtest, holds their figures to
// what this module promises, and writes the README's table from them.
//
//	go run ./internal/e2e/prove
//	go run ./internal/e2e/prove -run 'crash|no-crash' -readme ""
//
// Compared runs take turns and medians are compared. The figures are those of
// an otherwise idle machine with two cores; the exit status is 1 if one of
// them is not as it must be. It all takes about half an hour.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/e2e/report"
)

func main() {
	only := flag.String("run", "", "regular expression; run only experiments whose name it matches")
	readme := flag.String("readme", "README.md", "file whose crash table is replaced; empty for none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ok, err := prove(ctx, *only, *readme, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "prove:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func prove(ctx context.Context, only, readme string, out io.Writer) (ok bool, err error) {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return false, err
	}
	dir, err := os.MkdirTemp("", "prove-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program := filepath.Join(dir, "crashtest")
	if built, err := exec.CommandContext(ctx, "go", "build", "-o", program, "./internal/e2e/crashtest").CombinedOutput(); err != nil {
		return false, fmt.Errorf("could not build crashtest: %w\n%s", err, built)
	}

	say := func(format string, args ...any) { _, _ = fmt.Fprintf(out, format, args...) }
	ok = true
	for _, e := range experiments {
		if !wanted.MatchString(e.name) {
			continue
		}
		began := time.Now()
		say("%s: crashtest %s\n", e.name, strings.Join(e.variants, "\n    and crashtest "))
		variants, err := e.run(ctx, program)
		if err != nil {
			return false, fmt.Errorf("%s: %w", e.name, err)
		}
		for _, f := range e.judge(variants) {
			mark := "  ok    "
			if !f.ok {
				mark, ok = "  FAILED", false
			}
			say("%s %s\n", mark, f.text)
		}
		say("  took %s\n", time.Since(began).Round(time.Second))
		if e.name == "crash" && readme != "" {
			if err := writeTable(readme, report.Markdown(variants[0])); err != nil {
				return false, err
			}
		}
	}
	return ok, nil
}

// run returns the runs of each variant.
func (e experiment) run(ctx context.Context, program string) ([][]report.Run, error) {
	variants := make([][]report.Run, len(e.variants))
	for round := range max(e.rounds, 1) {
		for i, flags := range e.variants {
			runs, err := crashtest(ctx, program, flags, round+1)
			if err != nil {
				return nil, err
			}
			variants[i] = append(variants[i], runs...)
		}
	}
	return variants, nil
}

// crashtest runs the program. A broken promise is no error: the runs tell.
func crashtest(ctx context.Context, program, flags string, seed int) (runs []report.Run, err error) {
	cmd := exec.CommandContext(ctx, program, append(strings.Fields(flags), "-json", "-seed", strconv.Itoa(seed))...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it has servers to stop
	cmd.WaitDelay = 30 * time.Second
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if broken := errors.As(err, &exit) && exit.ExitCode() == 1; err != nil && !broken {
		return nil, err
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
		var r report.Run
		if err := decoder.Decode(&r); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	if len(runs) == 0 {
		return nil, errors.New("crashtest printed no run")
	}
	return runs, nil
}

func writeTable(path, table string) error {
	document, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	written, err := report.Splice(string(document), table)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(written), 0o644)
}
