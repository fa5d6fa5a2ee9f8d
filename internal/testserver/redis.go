package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// RedisOptions tunes StartRedis. The zero value is a server that keeps nothing.
type RedisOptions struct {
	// Persist writes an append-only file, so that data survives Kill and
	// Restart.
	// Default: false, a restarted server is empty.
	Persist bool
	// Args are further arguments of redis-server, such as "--maxmemory", "1mb".
	// Default: none.
	Args []string
}

// Redis is a running Redis server.
type Redis struct {
	// Addr is host:port. It stays the same when the server is restarted.
	Addr string

	server
}

// StartRedis starts a Redis server and returns when it answers. The caller
// must call Stop. The error matches ErrMissing if there is no server to start.
func StartRedis(ctx context.Context, opts RedisOptions) (*Redis, error) {
	place := opts.inDir
	if _, err := exec.LookPath("redis-server"); err != nil {
		if !dockerAnswers(ctx) {
			return nil, fmt.Errorf("%w: redis-server is not in PATH, and no Docker daemon answers (on Debian: apt-get install redis-server)", ErrMissing)
		}
		if err := redisImage.pull(ctx); err != nil {
			return nil, err
		}
		place = opts.inContainer
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	var r *Redis
	err := onFreePort(func(port int) error {
		r = &Redis{Addr: loopback(port)}
		r.crash = syscall.SIGKILL
		r.ready = func(_ context.Context, p process) bool { return redisAnswers(r.Addr, p.pid()) }
		if err := place(ctx, r, port); err != nil {
			return err
		}
		if err := r.start(ctx); err != nil {
			return errors.Join(err, r.Stop())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (o RedisOptions) inDir(_ context.Context, r *Redis, port int) error {
	dir, err := os.MkdirTemp("", "testserver-redis-")
	if err != nil {
		return err
	}
	argv := []string{"redis-server", "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir}
	r.useDir(dir, append(argv, o.args()...), nil)
	return nil
}

var redisImage = image{name: "redis:7", port: 6379}

func (o RedisOptions) inContainer(ctx context.Context, r *Redis, port int) error {
	i := redisImage
	// The port is published on the loopback address only.
	i.args = append([]string{"redis-server", "--protected-mode", "no"}, o.args()...)
	return r.useContainer(ctx, i, port)
}

// args are the arguments that do not depend on where the server runs.
func (o RedisOptions) args() []string {
	appendOnly := "no"
	if o.Persist {
		appendOnly = "yes"
	}
	return append([]string{"--save", "", "--appendonly", appendOnly, "--daemonize", "no"}, o.Args...)
}

// redisAnswers tells whether the server at addr has loaded its data and is the
// process pid (any, if pid is 0).
func redisAnswers(addr string, pid int) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := io.WriteString(conn, "PING\r\nINFO server\r\nQUIT\r\n"); err != nil {
		return false
	}
	answer, err := io.ReadAll(conn) // ends with the answer to QUIT
	if err != nil || !strings.HasPrefix(string(answer), "+PONG\r\n") {
		return false
	}
	return pid == 0 || strings.Contains(string(answer), fmt.Sprintf("\r\nprocess_id:%d\r\n", pid))
}
