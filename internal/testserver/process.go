package testserver

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is one run of a server.
type process interface {
	// pid is the process id on this machine, or 0 for one in a container.
	pid() int
	signal(sig syscall.Signal) error
	// exited tells whether the run has ended. It does not block.
	exited() bool
	// kill sends sig, and SIGKILL if the process is still there after
	// killTimeout. It returns when the process has ended.
	kill(sig syscall.Signal) error
}

// killTimeout is how long a server may take to end after a polite signal.
const killTimeout = 5 * time.Second

// localProcess is a child of this program. It is reaped by polling, never by
// a blocked wait, which would need a goroutine for as long as the server runs.
type localProcess struct {
	id    int
	guard *guard

	mu   sync.Mutex
	dead bool
}

// startLocal runs argv in dir with its output appended to the log file. cred
// is nil to keep this program's user. When this program dies first, the
// process gets sig and dir is removed.
func startLocal(argv []string, dir, log string, cred *syscall.Credential, sig syscall.Signal) (process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer out.Close()

	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = out, out
	// A group of its own keeps a Ctrl-C in the terminal from the server, which
	// should end by Stop or by its guard.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: cred}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &localProcess{id: cmd.Process.Pid}
	_ = cmd.Process.Release() // from here on reaped by exited

	p.guard, err = newGuard(orphanScript(p.id, sig, dir))
	if err != nil {
		return nil, errors.Join(err, p.kill(syscall.SIGKILL))
	}
	return p, nil
}

func (p *localProcess) pid() int { return p.id }

func (p *localProcess) signal(sig syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reap() {
		return os.ErrProcessDone
	}
	return syscall.Kill(p.id, sig)
}

func (p *localProcess) exited() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reap()
}

// reap requires mu: a pid is only safe to signal while it is not reaped.
func (p *localProcess) reap() bool {
	if p.dead {
		return true
	}
	var status syscall.WaitStatus
	id, err := syscall.Wait4(p.id, &status, syscall.WNOHANG, nil)
	p.dead = id == p.id || errors.Is(err, syscall.ECHILD)
	return p.dead
}

func (p *localProcess) kill(sig syscall.Signal) error {
	if p.guard != nil {
		// First, so that the guard never signals a pid that was given away.
		p.guard.dismiss()
	}
	return end(p, sig)
}

// end sends sig, then SIGKILL, and returns when the process has ended.
func end(p process, sig syscall.Signal) error {
	for _, sig := range []syscall.Signal{sig, syscall.SIGKILL} {
		err := p.signal(sig)
		if errors.Is(err, os.ErrProcessDone) {
			return nil
		}
		if err != nil {
			return err
		}
		_ = p.signal(syscall.SIGCONT) // a stopped process acts on nothing but SIGKILL
		for limit := time.Now().Add(killTimeout); time.Now().Before(limit); time.Sleep(pollEvery) {
			if p.exited() {
				return nil
			}
		}
	}
	return errors.New("it survives SIGKILL")
}
