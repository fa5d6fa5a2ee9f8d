package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// process is the parent's view of a child.
type process struct {
	cfg    childConfig
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	ready  chan string   // the argument of its ready, closed when it ends
	exited chan struct{} // closed when it has ended
	err    error         // of its end, set before exited is closed
}

// startProcess runs this program again as a child.
func startProcess(cfg childConfig) (*process, error) {
	text, err := json.Marshal(cfg)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cfg: cfg, cmd: exec.Command(self), ready: make(chan string, 1), exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), childEnv+"="+string(text))
	p.cmd.Stderr = os.Stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		for out := bufio.NewScanner(stdout); out.Scan(); {
			if word, argument, _ := strings.Cut(out.Text(), " "); word == wordReady {
				p.ready <- argument
			}
		}
		close(p.ready)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// awaitReady returns what the child says when it is ready.
func (p *process) awaitReady() (argument string, err error) {
	select {
	case argument, ok := <-p.ready:
		if !ok {
			<-p.exited
			return "", fmt.Errorf("%s ended before it was ready: %w", p.cfg.Name, p.err)
		}
		return argument, nil
	case <-time.After(30 * time.Second):
		return "", fmt.Errorf("%s did not get ready", p.cfg.Name)
	}
}

func (p *process) tell(word string) error {
	_, err := io.WriteString(p.stdin, word+"\n")
	return err
}

// hasExited tells whether the process is gone.
func (p *process) hasExited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// kill ends the process with SIGKILL and returns when it is gone. Killing a
// process that has ended does nothing.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// finish lets the process end by itself within patience.
func (p *process) finish(patience time.Duration) error {
	if err := p.tell(wordFinish); err != nil {
		<-p.exited
		return errors.Join(err, p.err)
	}
	select {
	case <-p.exited:
		if p.err != nil {
			return fmt.Errorf("%s: %w", p.cfg.Name, p.err)
		}
		return nil
	case <-time.After(patience):
		p.kill()
		return fmt.Errorf("%s did not end within %s", p.cfg.Name, patience)
	}
}
