package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
)

func TestServiceAbsorbsRepeats(t *testing.T) {
	t.Parallel()
	l := testLedger(t)
	s := &service{ledger: l, run: "run"}
	post := func(key, job string) int {
		body := `{"Job":"` + job + `","Consumer":"a","Attempt":"` + watermill.NewUUID() + `"}`
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/effects", strings.NewReader(body))
		if key != "" {
			r.Header.Set(keyHeader, key)
		}
		w := httptest.NewRecorder()
		s.effect(w, r)
		return w.Code
	}
	for _, step := range []struct {
		key, job string
		want     int
	}{
		{"k1", "1", http.StatusCreated},
		{"k2", "2", http.StatusCreated},
		{"k1", "1", http.StatusOK},
		{"", "3", http.StatusBadRequest},
	} {
		if got := post(step.key, step.job); got != step.want {
			t.Errorf("job %s with key %q: status %d, want %d", step.job, step.key, got, step.want)
		}
	}
	effects, _, err := l.read(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	if len(effects) != 2 || s.absorbed.Load() != 1 {
		t.Errorf("%d effects and %d absorbed, want 2 and 1", len(effects), s.absorbed.Load())
	}
}

// testLedger returns a ledger in a schema of its own.
func testLedger(t *testing.T) *ledger {
	t.Helper()
	dsn := testserver.SharedPostgres(t).DSN
	l, err := openLedger(t.Context(), dsn, "test_"+strings.ToLower(watermill.NewShortUUID()), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.drop(context.Background()); err != nil {
			t.Error(err)
		}
		l.pool.Close()
	})
	if err := l.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}
