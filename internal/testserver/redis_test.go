package testserver_test

import (
	"bufio"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

// command sends one inline command and returns the first line of the answer,
// or "" when there is none within a second.
func command(t *testing.T, addr, line string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return ""
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte(line + "\r\n")); err != nil {
		return ""
	}
	answer, _ := bufio.NewReader(conn).ReadString('\n')
	return strings.TrimSpace(answer)
}

func TestRedisKeepsPersistedDataOverRestarts(t *testing.T) {
	t.Parallel()
	r := testserver.NewRedis(t, testserver.RedisOptions{Persist: true})
	if got := command(t, r.Addr, "SET key value"); got != "+OK" {
		t.Fatalf("SET answered %q", got)
	}
	before := r.PID()
	if err := r.Kill(); err != nil {
		t.Fatal(err)
	}
	if got := command(t, r.Addr, "PING"); got != "" {
		t.Fatalf("a killed server answered %q", got)
	}
	if err := r.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := command(t, r.Addr, "EXISTS key"); got != ":1" {
		t.Errorf("after a restart EXISTS answered %q, want :1", got)
	}
	if r.PID() == before && before != 0 {
		t.Errorf("the process id is still %d", before)
	}
}

func TestRedisForgetsByDefault(t *testing.T) {
	t.Parallel()
	r := testserver.NewRedis(t, testserver.RedisOptions{})
	command(t, r.Addr, "SET key value")
	if err := r.Restart(); err != nil {
		t.Fatal(err)
	}
	if got := command(t, r.Addr, "EXISTS key"); got != ":0" {
		t.Errorf("after a restart EXISTS answered %q, want :0", got)
	}
}

func TestRedisHangsWhileStopped(t *testing.T) {
	t.Parallel()
	r := testserver.NewRedis(t, testserver.RedisOptions{})
	if err := r.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if got := command(t, r.Addr, "PING"); got != "" {
		t.Errorf("a stopped server answered %q", got)
	}
	if err := r.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := command(t, r.Addr, "PING"); got != "+PONG" {
		t.Errorf("a continued server answered %q", got)
	}
	// Stop must not hang on a server that cannot act on a signal.
	if err := r.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(); err != nil {
		t.Error(err)
	}
}

func TestRedisReportsBadArguments(t *testing.T) {
	t.Parallel()
	testserver.SharedRedis(t) // skips where there is no Redis
	_, err := testserver.StartRedis(t.Context(), testserver.RedisOptions{Args: []string{"--no-such-setting", "1"}})
	if err == nil || !strings.Contains(err.Error(), "no-such-setting") {
		t.Errorf("error does not quote the server's output: %v", err)
	}
}
