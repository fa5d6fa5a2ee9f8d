package behaviour_test

import (
	"context"
	"flag"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"
)

// atATime is how many tests run at a time. They wait far more than they
// compute, so the number of cores would be a poor limit.
const atATime = "24"

func TestMain(m *testing.M) {
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", atATime)
	}
	redis.SetLogger(quiet{}) // it logs every connection that a test has cut
	goleak.VerifyTestMain(unhurried{m})
}

type quiet struct{}

func (quiet) Printf(context.Context, string, ...any) {}

// unhurried gives Redis Streams subscriptions time to end: a closed one sleeps
// half a second first, longer than goleak waits.
type unhurried struct{ *testing.M }

func (m unhurried) Run() int {
	code := m.M.Run()
	for range 5 {
		if goleak.Find() == nil {
			break
		}
	}
	return code
}
