package testserver

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
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
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("%w: redis-server is not in PATH (on Debian: apt-get install redis-server)", ErrMissing)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	var r *Redis
	err = onFreePort(func(port int) error {
		dir, err := os.MkdirTemp("", "testserver-redis-")
		if err != nil {
			return err
		}
		argv := append([]string{binary, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--dir", dir}, opts.args()...)
		r = &Redis{Addr: loopback(port)}
		r.name, r.dir, r.log = "redis-server", dir, filepath.Join(dir, "redis.log")
		r.crash = syscall.SIGKILL
		r.run = func() (process, error) { return startLocal(argv, dir, r.log, nil, r.crash) }
		r.ready = func(_ context.Context, p process) bool { return redisAnswers(r.Addr, p.pid()) }
		if err := r.start(ctx); err != nil {
			_ = r.Stop()
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
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
