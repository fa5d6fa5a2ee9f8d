package testserver

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// guard is a shell that runs a script when this program dies without having
// dismissed it. It notices by the end of a pipe, which the kernel closes
// however this program ends. (A parent-death signal would be sent when the
// starting *thread* ends, exists on Linux only, and would not reach a
// container.)
type guard struct {
	cmd  *exec.Cmd
	pipe *os.File
}

func newGuard(script string) (*guard, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()

	cmd := exec.Command("/bin/sh", "-c", "read -r _ && exit 0\n"+script)
	cmd.Dir = "/"
	cmd.Stdin = r
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // survives a Ctrl-C in the terminal
	if err := cmd.Start(); err != nil {
		w.Close()
		return nil, fmt.Errorf("could not start the guard of a server: %w", err)
	}
	return &guard{cmd: cmd, pipe: w}, nil
}

// dismiss ends the guard; the script does not run. It may be called twice.
func (g *guard) dismiss() {
	_, _ = g.pipe.WriteString("\n")
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
}

// orphanScript ends a process politely within five seconds, then by SIGKILL,
// and removes its folder.
func orphanScript(pid int, sig syscall.Signal, dir string) string {
	return fmt.Sprintf(`kill -%d %[2]d; kill -CONT %[2]d
i=0
while [ $i -lt 50 ] && kill -0 %[2]d; do sleep 0.1; i=$((i+1)); done
kill -KILL %[2]d
rm -rf '%[3]s'`, sig, pid, dir)
}
