package testserver_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

// childEnv makes the test binary run child instead of the tests.
const childEnv = "TESTSERVER_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		child()
		return
	}
	goleak.VerifyTestMain(m)
}

// child starts both servers, says so and waits to be killed.
func child() {
	_, err := testserver.StartRedis(context.Background(), testserver.RedisOptions{})
	if err == nil {
		_, err = testserver.StartPostgres(context.Background(), testserver.PostgresOptions{})
	}
	fmt.Println("started:", err)
	time.Sleep(time.Minute)
}

func TestServersEndWithAKilledProgram(t *testing.T) {
	t.Parallel()
	testserver.SharedRedis(t) // skips where there is no server
	testserver.SharedPostgres(t)

	tmp, err := os.MkdirTemp("", "testserver-guard-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(tmp) })
	if err := os.Chmod(tmp, 0o755); err != nil { // Postgres may run as another user
		t.Fatal(err)
	}

	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"=1", "TMPDIR="+tmp)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, _ := bufio.NewReader(out).ReadString('\n')
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if strings.TrimSpace(line) != "started: <nil>" {
		t.Fatalf("the child said %q", line)
	}

	// A guard removes a server's folder after the server has ended.
	for end := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(tmp, "*"))
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left behind: %v", left)
		}
	}
}
