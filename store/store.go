// Package store defines what the deduplication middleware asks of a database:
// four atomic operations on the state of one key.
//
// A store is dumb on purpose. When to claim, how long to wait and what a
// failed handler means are decided once, in package dedup; a store only
// answers which state it found. The states of a key are
//
//	absent -> claimed (token, lease) -> done (retention) -> absent
//
// Package storetest holds the rules below as a test suite that any
// implementation can run.
package store

import (
	"context"
	"fmt"
	"time"
)

// Key names one job of one consumer. Both parts are opaque bytes: they may be
// empty, contain any byte, and be long. A store must keep ("a", "bc") and
// ("ab", "c") apart, and must not put either part into an error text, because
// business keys can be personal data.
type Key struct {
	// Scope is the consumer: two consumers of one message have two scopes.
	Scope string
	// ID is the business key of the job within that scope.
	ID string
}

// State is what an operation found, before it changed anything.
type State int

const (
	// Free means that nothing is there: never claimed, released, or expired.
	Free State = iota + 1
	// Acquired means that the claim is the caller's own.
	Acquired
	// Held means that another token has a live claim, or that the claim was
	// written in a format this version cannot read.
	Held
	// Done means that the job's effect is recorded.
	Done
)

// String returns the state's name in lower case.
func (s State) String() string {
	switch s {
	case Free:
		return "free"
	case Acquired:
		return "acquired"
	case Held:
		return "held"
	case Done:
		return "done"
	default:
		return fmt.Sprintf("state(%d)", int(s))
	}
}

// Claim is the answer to Store.Claim.
type Claim struct {
	// State is Acquired, Held or Done; never Free.
	State State
	// Result is what an earlier owner saved into the claim, and is set only
	// when State is Acquired. No store saves anything yet: it is nil.
	Result []byte
	// At is when the job was recorded as done, by the store's clock, and is
	// set only when State is Done. It is advisory: zero means unknown.
	At time.Time
}

// Store keeps claims and done markers.
//
// A token names the owner of a claim: an opaque, non-empty, printable string
// that the caller chooses and makes unique. Stores tell tokens apart by every
// byte and need not check them.
//
// Rules for every method, all of which package storetest checks:
//
//   - It is one atomic operation in the store, and safe for concurrent use.
//   - Held and Done are results. An error means that the store failed or was
//     not reached; the operation may or may not have happened.
//   - Whether a lease or a retention has ended is decided by the store's own
//     clock. The caller's clock never matters.
//   - Durations are kept to the millisecond, rounded up. Zero or less is
//     refused with an error that matches ErrInvalidDuration, and nothing is
//     written. Nothing is ever written without an end.
//   - It may be sent twice with the same token, because clients resend after
//     a timeout: the second call must not change the outcome of the first.
//   - Done is never undone and never shortened.
//   - A context that has already ended gives its error, and nothing is
//     written.
type Store interface {
	// Claim takes the key for token until lease has passed.
	//
	// It answers Acquired when the key was free, or was already claimed with
	// this token, which restarts the lease. It answers Held while another
	// token's lease runs and Done while a done marker is kept; neither is
	// extended by being asked.
	Claim(ctx context.Context, key Key, token string, lease time.Duration) (Claim, error)

	// Renew restarts the lease of a claim that token still owns, and answers
	// Acquired. In any other state it changes nothing and answers that state:
	// Free after the lease ran out, Held after somebody else took over.
	Renew(ctx context.Context, key Key, token string, lease time.Duration) (State, error)

	// Complete records the key as done for retention, in every case: the
	// effect has happened, and must not happen again. The answer is the state
	// it found: Acquired as a rule, Held or Free when the caller had lost its
	// lease. Where it finds Done it leaves the marker's end as it is, or moves
	// it later, and answers Done, also when the marker is its own.
	Complete(ctx context.Context, key Key, token string, retention time.Duration) (State, error)

	// Release gives up a claim that token still owns, and answers Acquired.
	// In any other state it changes nothing and answers that state, so that a
	// second Release answers Free.
	Release(ctx context.Context, key Key, token string) (State, error)
}

// Namespacer is implemented by a store that separates the keys of several
// services. Package dedup mixes the namespace into idempotency keys, so that
// two services whose handlers share a name do not share those.
type Namespacer interface {
	// Namespace returns the name that the store was built with.
	Namespace() string
}

// Local is implemented by a store in the caller's own memory. Its operations
// do not wait for anything, so callers need not bound their time.
type Local interface {
	// Local does nothing.
	Local()
}
