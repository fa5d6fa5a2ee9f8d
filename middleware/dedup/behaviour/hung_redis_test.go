package behaviour_test

import (
	"syscall"
	"testing"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

// hungRedis is a Redis of one test, which can stop answering: connections stay
// open, and what was sent is carried out when it resumes.
type hungRedis struct {
	*testserver.Redis
	t *testing.T
}

func newHungRedis(t *testing.T) hungRedis {
	t.Helper()
	return hungRedis{testserver.NewRedis(t, testserver.RedisOptions{}), t}
}

func (r hungRedis) hang()   { r.signal(syscall.SIGSTOP) }
func (r hungRedis) resume() { r.signal(syscall.SIGCONT) }

// signal may be called outside the test's goroutine.
func (r hungRedis) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.Signal(s); err != nil {
		r.t.Error(err)
	}
}
