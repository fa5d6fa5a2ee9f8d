package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// model is a store as plain as possible, that can be built with one fault.
type model struct {
	fault     string
	namespace string
	db        *database
}

// database is what models of several namespaces share.
type database struct {
	mu     sync.Mutex
	now    func() time.Time
	rows   map[string]row
	broken bool
}

type row struct {
	state  store.State // Held or Done
	token  string
	end    time.Time
	doneAt time.Time
	newer  bool
}

var errUnreachable = errors.New("database is unreachable")

// newHarness returns a model with a clock that Advance moves, or in real time.
func newHarness(fault string, realTime bool) Harness {
	db := &database{now: time.Now, rows: map[string]row{}}
	m := &model{fault: fault, namespace: "one", db: db}
	h := Harness{
		Store:      m,
		Neighbour:  &model{fault: fault, namespace: "two", db: db},
		WriteNewer: m.writeNewer,
		Break:      func() { db.broken = true },
	}
	if !realTime {
		// Far from the caller's clock, which must not matter.
		now := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
		db.now = func() time.Time { return now }
		h.Advance = func(d time.Duration) {
			db.mu.Lock()
			defer db.mu.Unlock()
			now = now.Add(d)
		}
	}
	return h
}

func (m *model) writeNewer(_ context.Context, key store.Key, state store.State) error {
	m.db.mu.Lock()
	defer m.db.mu.Unlock()
	m.db.rows[m.name(key)] = row{state: state, newer: true, end: m.db.now().Add(2 * time.Minute)}
	return nil
}

// find returns the row as token sees it.
func (m *model) find(name, token string) (row, store.State) {
	r, ok := m.db.rows[name]
	if !ok {
		return r, store.Free
	}
	expired := !r.end.After(m.db.now())
	switch {
	case m.fault == "claims never expire" && r.state == store.Held,
		m.fault == "done never expires" && r.state == store.Done:
		expired = false
	case m.fault == "newer done markers unreadable" && r.newer && r.state == store.Done:
		return r, store.Held
	case m.fault == "newer claims taken over" && r.newer && r.state == store.Held:
		return r, store.Free
	case m.fault == "tokens compared in 16 bytes":
		r.token, token = r.token[:min(16, len(r.token))], token[:min(16, len(token))]
	case m.fault == "tokens ignore case":
		token, r.token = strings.ToLower(token), strings.ToLower(r.token)
	case m.fault == "windows end a second early":
		expired = !r.end.Add(-time.Second).After(m.db.now()) && r.end.Sub(m.db.now()) > 500*time.Millisecond
	}
	switch {
	case expired:
		return r, store.Free
	case r.state == store.Done:
		return r, store.Done
	case r.token == token && !r.newer:
		return r, store.Acquired
	default:
		return r, store.Held
	}
}

// gap lets other goroutines in between a look and a write, if the fault is one
// of these.
func (m *model) gap(faults ...string) {
	if slices.Contains(faults, m.fault) {
		m.db.mu.Unlock()
		time.Sleep(200 * time.Microsecond)
		m.db.mu.Lock()
	}
}

func BenchmarkModel(b *testing.B) {
	Bench(b, func(testing.TB) Harness { return newHarness("", true) })
}
