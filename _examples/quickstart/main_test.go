package main

import (
	"testing"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

const testJobs = 100

func TestInMemory(t *testing.T) {
	t.Parallel()
	got := runAll(t, inMemory)

	if r := got["none"]; r.duplicates != testJobs || r.missing != 0 {
		t.Errorf("none: want every job twice, got %+v", r)
	}
	if r := got["stock Deduplicator"]; r.duplicates != 0 || r.missing != testJobs/10 {
		t.Errorf("stock: want one job in ten missing, got %+v", r)
	}
	if r := got["dedup.Leased"]; r.duplicates != 0 || r.missing != 0 {
		t.Errorf("leased: want every job once, got %+v", r)
	}
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	server := testserver.NewRedis(t, testserver.RedisOptions{})
	got := runAll(t, func() (*place, error) { return onRedis("redis://" + server.Addr) })

	if r := got["none"]; r.duplicates != testJobs || r.missing != 0 {
		t.Errorf("none: want every job twice, got %+v", r)
	}
	// How many depends on which replica got which copy.
	if r := got["stock Deduplicator"]; r.duplicates == 0 || r.missing == 0 {
		t.Errorf("stock: want jobs missing and repeated, got %+v", r)
	}
	if r := got["dedup.Leased"]; r.duplicates != 0 || r.missing != 0 {
		t.Errorf("leased: want every job once, got %+v", r)
	}
}

func runAll(t *testing.T, open func() (*place, error)) map[string]result {
	t.Helper()
	got := map[string]result{}
	for _, a := range approaches {
		r, err := run(a, open, testJobs)
		if err != nil {
			t.Fatalf("%s: %v", a.name, err)
		}
		if r.jobs != testJobs || r.done+r.missing != testJobs {
			t.Errorf("%s: figures do not add up: %+v", a.name, r)
		}
		got[a.name] = r
	}
	return got
}
