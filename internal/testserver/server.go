package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// startTimeout bounds a start, image download excluded.
	startTimeout = 30 * time.Second
	pollEvery    = 10 * time.Millisecond
)

// server is what Redis and Postgres have in common.
type server struct {
	name string // for errors

	// output returns what the server printed, to explain a failed start.
	output func() []byte

	// run starts the server's process.
	run func() (process, error)
	// ready tells whether this very process, and not another program on its
	// port, answers clients.
	ready func(ctx context.Context, p process) bool
	// crash is the signal that ends the server at once without losing what it
	// persisted.
	crash syscall.Signal
	// clean removes what the server leaves behind.
	clean func() error

	mu   sync.Mutex
	proc process // nil while not running
}

// PID returns the server's process id. It is 0 while the server does not run
// and for a server in a container.
func (s *server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return 0
	}
	return s.proc.pid()
}

// Signal sends sig to the server: SIGSTOP and SIGCONT make it hang and go on.
// A server that does not run gives os.ErrProcessDone.
func (s *server) Signal(sig os.Signal) error {
	number, ok := sig.(syscall.Signal)
	if !ok {
		return fmt.Errorf("%s: %v is not a signal of this system", s.name, sig)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc == nil {
		return os.ErrProcessDone
	}
	return s.proc.signal(number)
}

// Kill ends the server as a crash does, and keeps its port and folder for
// Start. It returns when the process is gone, and may be called twice.
func (s *server) Kill() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kill()
}

func (s *server) kill() error {
	if s.proc == nil {
		return nil
	}
	if err := s.proc.kill(s.crash); err != nil {
		return fmt.Errorf("could not stop %s: %w", s.name, err)
	}
	s.proc = nil
	return nil
}

// Start starts the server again after Kill, on the same port and with what it
// had persisted. It returns when the server answers, which may take up to 30 s.
func (s *server) Start() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return s.start(ctx)
}

// Restart is Kill followed by Start.
func (s *server) Restart() error {
	if err := s.Kill(); err != nil {
		return err
	}
	return s.Start()
}

// Stop ends the server and removes what it wrote. It may be called twice.
func (s *server) Stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	return s.clean()
}

func (s *server) start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proc != nil {
		return fmt.Errorf("%s runs already", s.name)
	}
	proc, err := s.run()
	if err != nil {
		return fmt.Errorf("could not start %s: %w", s.name, err)
	}
	if err := s.await(ctx, proc); err != nil {
		_ = proc.kill(syscall.SIGKILL)
		return fmt.Errorf("could not start %s: %w%s", s.name, err, s.tail())
	}
	s.proc = proc
	return nil
}

func (s *server) await(ctx context.Context, proc process) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for !s.ready(ctx, proc) {
		if proc.exited() {
			if bytes.Contains(s.output(), []byte("in use")) { // of EADDRINUSE, in both servers' logs
				return errPortTaken
			}
			return errors.New("it exited")
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("it does not answer: %w", context.Cause(ctx))
		case <-tick.C:
		}
	}
	return nil
}

// tail returns the end of the server's output as a suffix for an error.
func (s *server) tail() string {
	const most = 2000
	out := bytes.TrimSpace(s.output())
	if len(out) == 0 {
		return ""
	}
	return "\n" + string(out[max(0, len(out)-most):])
}

// useDir makes s run argv in a folder of its own. cred is the user to run it
// as, or nil to keep this program's.
func (s *server) useDir(dir string, argv []string, cred *syscall.Credential) {
	log := filepath.Join(dir, "output.log")
	s.name = filepath.Base(argv[0])
	s.run = func() (process, error) { return startLocal(argv, dir, log, cred, s.crash) }
	s.output = func() []byte {
		out, _ := os.ReadFile(log)
		return out
	}
	s.clean = func() error { return os.RemoveAll(dir) }
}
