package storetest

import (
	"context"
	"errors"
	"fmt"
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

func (m *model) name(key store.Key) string {
	scope, id := key.Scope, key.ID
	switch m.fault {
	case "keys joined without separator":
		return m.namespace + "\x00" + scope + id
	case "keys joined by a separator that parts may hold":
		return m.namespace + "\x00" + scope + ":" + id
	case "scope ignored":
		scope = ""
	case "namespace ignored":
		return fmt.Sprintf("%q %q", scope, id)
	case "long keys truncated":
		id = id[:min(len(id), 255)]
	case "keys ignore case":
		id = strings.ToLower(id)
	case "keys ignore spaces at their ends":
		id = strings.TrimSpace(id)
	case "keys end at NUL":
		id, _, _ = strings.Cut(id, "\x00")
	case "keys made valid UTF-8":
		id = strings.ToValidUTF8(id, "\ufffd")
	case "keys normalised":
		id = strings.ReplaceAll(id, "e\u0301", "\u00e9")
	case "keys unescaped":
		id = strings.ReplaceAll(id, "%3A", ":")
	}
	return fmt.Sprintf("%q %q %q", m.namespace, scope, id)
}

// open begins an operation: it checks the arguments and locks.
func (m *model) open(ctx context.Context, key store.Key, durations ...time.Duration) (time.Duration, error) {
	if err := m.checkContext(ctx); err != nil {
		return 0, err
	}
	if m.db.broken && m.fault != "failures swallowed" {
		if m.fault == "key in error" {
			return 0, fmt.Errorf("key %s: %w", key.ID, errUnreachable)
		}
		return 0, errUnreachable
	}
	m.db.mu.Lock()
	if len(durations) == 0 {
		return 0, nil
	}
	d, err := m.duration(key, durations[0])
	if err != nil {
		m.db.mu.Unlock()
	}
	return d, err
}

func (m *model) checkContext(ctx context.Context) error {
	switch {
	case m.fault == "ended contexts ignored":
		return nil
	case m.fault == "deadlines ignored" && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil
	case m.fault == "other error for ended contexts" && ctx.Err() != nil:
		return errUnreachable
	}
	return ctx.Err()
}

func (m *model) duration(key store.Key, d time.Duration) (time.Duration, error) {
	switch {
	case m.fault == "bad durations accepted" && d <= 0:
		return time.Hour, nil
	case m.fault == "negative durations accepted" && d < 0:
		return -d, nil
	case m.fault == "bad durations clamped" && d <= 0:
		return time.Millisecond, nil
	case m.fault == "other error for bad durations" && d <= 0:
		return 0, errors.New("no")
	case m.fault == "key in validation error" && d <= 0:
		return 0, fmt.Errorf("%s of %s: %w", key.ID, key.Scope, store.ErrInvalidDuration)
	}
	ms, err := store.Millis("duration", d)
	if err != nil {
		return 0, err
	}
	switch m.fault {
	case "seconds for milliseconds":
		return time.Duration(ms) * time.Second, nil
	case "microseconds for milliseconds":
		return time.Duration(ms) * time.Microsecond, nil
	case "rounded down to milliseconds":
		return d.Truncate(time.Millisecond), nil
	case "sub-millisecond durations refused":
		if d < time.Millisecond {
			return 0, store.ErrInvalidDuration
		}
	case "rounded up to seconds":
		return (d + time.Second - 1).Truncate(time.Second), nil
	case "overflow":
		if ms > 1<<31 {
			return -time.Hour, nil
		}
	}
	return time.Duration(ms) * time.Millisecond, nil
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

func (m *model) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (store.Claim, error) {
	if m.fault == "bad lease written" && lease <= 0 {
		m.db.rows[m.name(key)] = row{state: store.Held, token: token, end: m.db.now().Add(time.Hour)}
	}
	if m.fault == "written in an ended context" && ctx.Err() != nil {
		_, _ = m.Claim(context.WithoutCancel(ctx), key, token, lease)
	}
	lease, err := m.open(ctx, key, lease)
	if err != nil {
		return store.Claim{}, err
	}
	defer m.db.mu.Unlock()
	name := m.name(key)
	r, state := m.find(name, token)
	_, there := m.db.rows[name]

	end := m.db.now().Add(lease)
	switch state {
	case store.Done:
		switch m.fault {
		case "done undone by its owner's claim":
			if r.token == token {
				break
			}
			return store.Claim{State: store.Done, At: r.doneAt}, nil
		case "done undone by a claim":
			delete(m.db.rows, name)
		case "done extended by a duplicate":
			r.end = m.later(r.end, end)
			m.db.rows[name] = r
		case "done shortened by a claim":
			r.end = end
			m.db.rows[name] = r
		case "done answered as error":
			return store.Claim{}, errors.New("done")
		case "done answered as held":
			return store.Claim{State: store.Held}, nil
		case "time of done is the time asked":
			r.doneAt = m.db.now()
		}
		if m.fault != "done undone by its owner's claim" {
			return store.Claim{State: store.Done, At: r.doneAt}, nil
		}
	case store.Held:
		switch m.fault {
		case "claim extended by a duplicate":
			r.end = m.later(r.end, end)
			m.db.rows[name] = r
		case "held answered as error":
			return store.Claim{}, errors.New("held")
		case "result shown to a stranger":
			return store.Claim{State: store.Held, Result: []byte("x")}, nil
		case "held claims taken over":
			r.token = token
			m.db.rows[name] = r
			return store.Claim{State: store.Acquired}, nil
		}
		return store.Claim{State: store.Held}, nil
	case store.Acquired:
		switch m.fault {
		case "own claim answered as held":
			return store.Claim{State: store.Held}, nil
		case "lease not restarted by the owner's claim":
			return store.Claim{State: store.Acquired}, nil
		case "own claim released when claimed again":
			delete(m.db.rows, name)
			return store.Claim{State: store.Acquired}, nil
		}
	case store.Free:
		if there {
			m.gap("takeover checks, then acts")
		} else {
			m.gap("claim checks, then acts")
		}
		if m.fault == "claim forgotten" {
			return store.Claim{State: store.Acquired}, nil
		}
		if m.fault == "free answered as free" {
			m.db.rows[name] = row{state: store.Held, token: token, end: end}
			return store.Claim{State: store.Free}, nil
		}
		if m.fault == "nothing is ever free again" && there {
			return store.Claim{State: store.Held}, nil
		}
	}
	m.db.rows[name] = row{state: store.Held, token: token, end: end}
	claim := store.Claim{State: store.Acquired}
	if m.fault == "time shown for a claim" {
		claim.At = m.db.now()
	}
	return claim, nil
}

func (m *model) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) (store.State, error) {
	if m.fault == "renewed in an ended context" && ctx.Err() != nil {
		_, _ = m.Renew(context.WithoutCancel(ctx), key, token, lease)
	}
	lease, err := m.open(ctx, key, lease)
	if err != nil {
		return 0, err
	}
	defer m.db.mu.Unlock()
	name := m.name(key)
	r, state := m.find(name, token)
	end := m.db.now().Add(lease)

	switch {
	case state == store.Acquired:
		m.gap("renewal checks, then acts")
		if m.fault == "lease not restarted by renewal" {
			return state, nil
		}
		if m.fault == "renewal works once" {
			token = "spent"
		}
		m.db.rows[name] = row{state: store.Held, token: token, end: end}
	case m.fault == "renewal by anyone" && state == store.Held && !r.newer:
		r.end = end
		m.db.rows[name] = r
		return store.Acquired, nil
	case m.fault == "foreign renewal extends" && state == store.Held:
		r.end = m.later(r.end, end)
		m.db.rows[name] = r
	case m.fault == "renewal creates" && state == store.Free:
		m.db.rows[name] = row{state: store.Held, token: token, end: end}
	case m.fault == "renewal brings back" && state == store.Free && r.token == token:
		m.db.rows[name] = row{state: store.Held, token: token, end: end}
		return store.Acquired, nil
	case m.fault == "renewal of nothing answered as held" && state == store.Free:
		return store.Held, nil
	case m.fault == "done undone by renewal" && state == store.Done:
		m.db.rows[name] = row{state: store.Held, token: token, end: end}
	case m.fault == "done extended by renewal" && state == store.Done:
		r.end = m.later(r.end, end)
		m.db.rows[name] = r
	}
	return state, nil
}

func (m *model) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	if m.fault == "bad retention written" && retention <= 0 {
		m.db.rows[m.name(key)] = row{state: store.Done, end: m.db.now().Add(time.Hour)}
	}
	if m.fault == "completed in an ended context" && ctx.Err() != nil {
		_, _ = m.Complete(context.WithoutCancel(ctx), key, token, retention)
	}
	retention, err := m.open(ctx, key, retention)
	if err != nil {
		return 0, err
	}
	defer m.db.mu.Unlock()
	name := m.name(key)
	r, state := m.find(name, token)
	m.gap("completion checks, then acts")
	end := m.db.now().Add(retention)

	switch m.fault {
	case "plain write shortens done":
	case "done moved later by a second Complete":
		if state == store.Done {
			end = m.later(end, r.end)
		}
	default:
		if state == store.Done {
			if m.fault == "second Complete answered as acquired" && r.token == token {
				return store.Acquired, nil
			}
			return state, nil
		}
	}
	switch {
	case m.fault == "completion refused after a takeover" && state == store.Held,
		m.fault == "completion refused without a claim" && state == store.Free,
		m.fault == "completion refused after expiry" && state == store.Free && r.token == token && token != "",
		m.fault == "completion forgotten" && state == store.Acquired:
		return state, nil
	case m.fault == "completion refused over a newer claim" && r.newer:
		return state, nil
	case m.fault == "completion keeps the lease's end" && state == store.Acquired:
		end = r.end
	case m.fault == "completion keeps the later end" && state == store.Acquired:
		end = m.later(end, r.end)
	case m.fault == "takeover answered as acquired" && state == store.Held:
		state = store.Acquired
	}
	m.db.rows[name] = row{state: store.Done, token: token, end: end, doneAt: m.db.now()}
	if m.fault == "time of done runs backwards" {
		r := m.db.rows[name]
		r.doneAt = time.Unix(0, 0).Add(-time.Duration(len(m.db.rows)) * time.Hour)
		m.db.rows[name] = r
	}
	return state, nil
}

func (m *model) Release(ctx context.Context, key store.Key, token string) (store.State, error) {
	if m.fault == "released in an ended context" && ctx.Err() != nil {
		_, _ = m.Release(context.WithoutCancel(ctx), key, token)
	}
	if _, err := m.open(ctx, key); err != nil {
		return 0, err
	}
	defer m.db.mu.Unlock()
	name := m.name(key)
	r, state := m.find(name, token)
	if m.fault == "release touches all" && state == store.Acquired {
		for other, r := range m.db.rows {
			if r.token == token {
				delete(m.db.rows, other)
			}
		}
	}

	switch {
	case state == store.Acquired:
		m.gap("release checks, then acts")
		if m.fault != "release forgotten" {
			delete(m.db.rows, name)
		}
	case m.fault == "release by anyone" && state == store.Held && !r.newer:
		delete(m.db.rows, name)
	case m.fault == "done undone by release" && state == store.Done:
		delete(m.db.rows, name)
	case m.fault == "second release answered as held" && state == store.Free:
		return store.Held, nil
	case m.fault == "second release answered as acquired" && state == store.Free:
		return store.Acquired, nil
	}
	return state, nil
}

func (m *model) later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func BenchmarkModel(b *testing.B) {
	Bench(b, func(testing.TB) Harness { return newHarness("", true) })
}
