package testserver

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Not parallel: it puts a docker of its own in PATH.
func TestContainerSignal(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\necho \"$@\" >>'" + dir + "/calls'\n"
	if err := os.WriteFile(filepath.Join(dir, "docker"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)

	c := container{name: "box"}
	for _, sig := range []syscall.Signal{syscall.SIGSTOP, syscall.SIGCONT, syscall.SIGKILL, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGINT} {
		if err := c.signal(sig); err != nil {
			t.Errorf("%v: %v", sig, err)
		}
	}
	if err := c.signal(syscall.SIGHUP); err == nil || !strings.Contains(err.Error(), syscall.SIGHUP.String()) {
		t.Errorf("a signal without a name: got %v, want an error that tells which", err)
	}

	var want strings.Builder
	for _, name := range strings.Fields("STOP CONT KILL QUIT TERM INT") {
		want.WriteString("kill --signal " + name + " box\n")
	}
	got, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || string(got) != want.String() {
		t.Errorf("docker was called with (%v)\n%swant\n%s", err, got, want.String())
	}
}
