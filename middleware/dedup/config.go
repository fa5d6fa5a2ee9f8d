package dedup

import (
	"fmt"
	"time"
)

// Defaults of Config. The poll intervals and the size of the memory for
// unrecorded jobs are not configurable.
const (
	// DefaultLease is the default of Config.Lease.
	DefaultLease = 30 * time.Second
	// DefaultHeldWait is the default of Config.HeldWait where
	// Config.RedeliverAfter allows it.
	DefaultHeldWait = 5 * time.Second
	// MinHeldWait is the shortest HeldWait that is accepted. A shorter one
	// turns a claim held elsewhere into a storm of redeliveries.
	MinHeldWait = 100 * time.Millisecond
	// DefaultPublishTimeout is the default of Config.PublishTimeout.
	DefaultPublishTimeout = time.Minute
)

// MissingKeyPolicy says what happens to a message without a business key.
type MissingKeyPolicy int

const (
	// MissingKeyError returns the extractor's error after a pause of 100 ms,
	// so that a poison queue can take the message and a router without one
	// does not spin. It is the default.
	MissingKeyError MissingKeyPolicy = iota
	// MissingKeyProcess runs the handler without any protection.
	MissingKeyProcess
	// MissingKeyDrop acknowledges the message without running the handler.
	MissingKeyDrop
)

// Config tunes a Dedup of any mode. Retention must be set; every other field's zero value
// is its default.
type Config struct {
	// Retention is how long a job is remembered as done, counted from its
	// effect. A copy that arrives later runs again, so it must exceed the
	// broker's longest redelivery delay plus the consumer's longest delay plus
	// whatever operations may reprocess. Too long costs storage: one small
	// record a job.
	// Required; at least Lease, and longer than RedeliverAfter.
	Retention time.Duration

	// Lease is how long a claim outlives a process that died or stalled. It is
	// renewed while the handler runs, so it need not cover the handler's time.
	// Longer delays the jobs of a dead process; shorter makes a short pause of
	// process, network or store count as a death, and the job can run twice.
	// At least 10 ms.
	// Default: 30 s.
	Lease time.Duration

	// HeldWait is how long a copy waits for the delivery that holds its claim
	// before it is nacked. Shorter spends more delivery attempts where the
	// broker counts them; RedeliverAfter or longer has the broker deliver the
	// waiting message a second time. At least 100 ms; it cannot be off.
	// Default: 5 s or half of RedeliverAfter, whichever is shorter.
	HeldWait time.Duration

	// RedeliverAfter is the time after which the Pub/Sub delivers an
	// unanswered message again: MaxIdleTime of Redis Streams, AckDeadline of
	// watermill-sql and Google Pub/Sub, the ack wait of NATS. HeldWait is
	// checked against it.
	// Default: 0, the Pub/Sub never does.
	RedeliverAfter time.Duration

	// StoreTimeout bounds each call to the store. Longer than a third of the
	// lease leaves no time for a second attempt to renew. Must be shorter than
	// Lease.
	// Default: Lease / 6.
	StoreTimeout time.Duration

	// PublishTimeout is how long the claim of a handler that returned messages
	// is renewed while the router publishes them. A publish that takes longer
	// risks that another copy runs the job meanwhile.
	// Default: 1 min.
	PublishTimeout time.Duration

	// Scope names the consumer whose memory of done jobs this is, given the
	// router's handler name. Two handlers with one scope swallow each other's
	// messages; a renamed handler without a Scope starts with an empty memory.
	// An empty scope is refused with ErrNoScope.
	// Default: the handler name.
	Scope func(handlerName string) string

	// MissingKey says what happens to a message without a business key.
	// Default: MissingKeyError.
	MissingKey MissingKeyPolicy

	// FailOpen runs the handler unprotected when the store could not be
	// reached for HeldWait, instead of nacking. It trades duplicates during an
	// outage for progress.
	// Default: false, the message is nacked.
	FailOpen bool

	// Observer is told the outcome of every message.
	// Default: none.
	Observer Observer
}

// withDefaults returns a checked copy with every default filled in.
func (c Config) withDefaults() (Config, error) {
	if c.Retention <= 0 {
		return c, configError("Retention", "is required and must be positive, got %s", c.Retention)
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"Lease", c.Lease},
		{"HeldWait", c.HeldWait},
		{"RedeliverAfter", c.RedeliverAfter},
		{"StoreTimeout", c.StoreTimeout},
		{"PublishTimeout", c.PublishTimeout},
	} {
		if f.value < 0 {
			return c, configError(f.name, "must not be negative, got %s", f.value)
		}
	}
	if c.MissingKey < MissingKeyError || c.MissingKey > MissingKeyDrop {
		return c, configError("MissingKey", "is not a known policy, got %d", c.MissingKey)
	}

	if c.Retention <= c.RedeliverAfter {
		return c, configError("Retention", "must be longer than RedeliverAfter (%s), got %s", c.RedeliverAfter, c.Retention)
	}

	if c.Lease == 0 {
		c.Lease = DefaultLease
	}
	if c.Lease < minLease {
		return c, configError("Lease", "must be at least %s, got %s", minLease, c.Lease)
	}
	if c.Retention < c.Lease {
		return c, configError("Retention", "must be at least Lease (%s), got %s", c.Lease, c.Retention)
	}

	if c.HeldWait == 0 {
		c.HeldWait = DefaultHeldWait
		if c.RedeliverAfter > 0 {
			c.HeldWait = max(MinHeldWait, min(c.HeldWait, c.RedeliverAfter/2))
		}
	}
	if c.HeldWait < MinHeldWait {
		return c, configError("HeldWait", "must be at least %s, got %s", MinHeldWait, c.HeldWait)
	}
	if c.RedeliverAfter > 0 && c.HeldWait >= c.RedeliverAfter {
		return c, configError("HeldWait", "(%s) must be shorter than RedeliverAfter (%s)", c.HeldWait, c.RedeliverAfter)
	}

	if c.StoreTimeout == 0 {
		c.StoreTimeout = c.Lease / 6
	}
	if c.StoreTimeout >= c.Lease {
		return c, configError("StoreTimeout", "(%s) must be shorter than Lease (%s)", c.StoreTimeout, c.Lease)
	}
	if c.PublishTimeout == 0 {
		c.PublishTimeout = DefaultPublishTimeout
	}
	if c.Scope == nil {
		c.Scope = func(handlerName string) string { return handlerName }
	}
	if c.Observer == nil {
		c.Observer = nopObserver{}
	}
	return c, nil
}

// minLease keeps a third of the lease above the resolution of timers.
const minLease = 10 * time.Millisecond

func configError(field, format string, args ...any) error {
	return fmt.Errorf("%w: Config.%s %s", ErrInvalidConfig, field, fmt.Sprintf(format, args...))
}
