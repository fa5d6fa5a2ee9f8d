package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

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
