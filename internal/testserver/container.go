package testserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// image is an official Docker image and how it is run.
type image struct {
	name string
	port int // that the server listens on inside
	env  []string
	args []string
}

// dockerAnswers tells whether there is a Docker daemon to use.
func dockerAnswers(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "version", "--format", "{{.Server.Version}}").Run() == nil
}

// pull brings the image here; that can take minutes, once on a machine.
func (i image) pull(ctx context.Context) error {
	if _, err := docker(ctx, "image", "inspect", i.name); err == nil {
		return nil
	}
	_, err := docker(ctx, "pull", "--quiet", i.name)
	return err
}

// useContainer makes s run the image with its port published at port.
func (s *server) useContainer(ctx context.Context, i image, port int) error {
	name := strings.ToLower("testserver-" + rand.Text())
	args := []string{"create", "--name", name, "--publish", fmt.Sprintf("%s:%d", loopback(port), i.port)}
	for _, e := range i.env {
		args = append(args, "--env", e)
	}
	if _, err := docker(ctx, append(append(args, i.name), i.args...)...); err != nil {
		return err
	}
	guard, err := newGuard("docker rm --force --volumes " + name)
	if err != nil {
		return errors.Join(err, removeContainer(name))
	}
	s.name = "container of " + i.name
	s.run = func() (process, error) { return startContainer(name) }
	s.output = func() []byte {
		out, _ := exec.Command("docker", "logs", "--tail", "50", name).CombinedOutput()
		return out
	}
	s.clean = func() error {
		guard.dismiss()
		return removeContainer(name)
	}
	return nil
}

func removeContainer(name string) error {
	_, err := docker(context.Background(), "rm", "--force", "--volumes", name)
	return err
}

// container is one run of a Docker container.
type container struct{ name string }

func startContainer(name string) (process, error) {
	_, err := docker(context.Background(), "start", name)
	if err != nil && (strings.Contains(err.Error(), "in use") || strings.Contains(err.Error(), "already allocated")) {
		return nil, fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return container{name: name}, err
}

func (c container) pid() int { return 0 }

// signalNames has the signals that a container can be sent, by names: the
// numbers of SIGSTOP and SIGCONT are not the same on macOS as in a container.
var signalNames = map[syscall.Signal]string{
	syscall.SIGCONT: "CONT",
	syscall.SIGINT:  "INT",
	syscall.SIGKILL: "KILL",
	syscall.SIGQUIT: "QUIT",
	syscall.SIGSTOP: "STOP",
	syscall.SIGTERM: "TERM",
}

func (c container) signal(sig syscall.Signal) error {
	name, ok := signalNames[sig]
	if !ok {
		return fmt.Errorf("could not signal a container: it is sent names, and none is known for %q", sig)
	}
	_, err := docker(context.Background(), "kill", "--signal", name, c.name)
	if err != nil && c.exited() {
		return os.ErrProcessDone
	}
	return err
}

func (c container) exited() bool {
	out, err := docker(context.Background(), "inspect", "--format", "{{.State.Running}}", c.name)
	return err == nil && out == "false"
}

func (c container) kill(sig syscall.Signal) error { return end(c, sig) }

// docker runs one command of the client and returns what it printed.
func docker(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("docker %s: %w: %s", args[0], err, bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
