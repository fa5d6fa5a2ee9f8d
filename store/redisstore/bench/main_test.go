package main

import (
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

// The ways still answer as the comparison expects.
func TestRun(t *testing.T) {
	t.Parallel()
	server := testserver.NewRedis(t, testserver.RedisOptions{})
	if err := run(server.Addr, 1, 10*time.Millisecond); err != nil {
		t.Fatal(err)
	}
}
