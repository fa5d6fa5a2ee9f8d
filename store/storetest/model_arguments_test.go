package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

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
