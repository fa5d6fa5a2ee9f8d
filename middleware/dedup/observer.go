package dedup

import "time"

// Outcome is how one pass of a message through the middleware ended. Every
// pass has exactly one.
type Outcome int

const (
	// Processed: the handler succeeded and the job is recorded as done.
	Processed Outcome = iota + 1
	// Replayed: the effect had happened earlier in this process, but could not
	// be recorded then. It is recorded now and the handler did not run.
	Replayed
	// Duplicate: the job was already done. The handler did not run and the
	// message was acknowledged. With Observe the handler ran, and the job may
	// also have been another delivery's at the moment.
	Duplicate
	// Held: another delivery had the claim until the wait ended, or the wait
	// for it or for a slot of Limit was cut short. The message was nacked.
	Held
	// Failed: the handler returned an error, panicked, exited or nacked its
	// message, or its messages could not be published. The claim was released.
	Failed
	// MissingKey: the message has no business key, or no scope. Config says
	// what was done.
	MissingKey
	// StoreError: the store could not be reached for HeldWait. The handler did
	// not run and the message was nacked. With Observe it ran.
	StoreError
	// Unrecorded: the handler succeeded, but the job could not be recorded as
	// done within the lease. The message was nacked, unless it had been acked
	// before or the mode is Observe; a copy that comes back to this process is
	// recorded without running the handler again. Or Close gave up waiting for
	// the job's messages to be published.
	Unrecorded
	// LeaseLost: the claim was lost while the handler ran, so the job may have
	// run twice.
	LeaseLost
	// Lost: the handler failed and will not be run again, by choice of an
	// at-most-once mode.
	Lost
	// Bypassed: the handler ran without a claim of this pass: an outer
	// instance has it, or Config.FailOpen let it through.
	Bypassed
)

var outcomeNames = [...]string{
	Processed:  "processed",
	Replayed:   "replayed",
	Duplicate:  "duplicate",
	Held:       "held",
	Failed:     "failed",
	MissingKey: "missing_key",
	StoreError: "store_error",
	Unrecorded: "unrecorded",
	LeaseLost:  "lease_lost",
	Lost:       "lost",
	Bypassed:   "bypassed",
}

// String returns the outcome's name in lower case with underscores, fit for a
// metric label.
func (o Outcome) String() string {
	if o <= 0 || int(o) >= len(outcomeNames) {
		return "unknown"
	}
	return outcomeNames[o]
}

// Outcomes returns every outcome in the order of the constants.
func Outcomes() []Outcome {
	all := make([]Outcome, 0, len(outcomeNames)-1)
	for o := Processed; int(o) < len(outcomeNames); o++ {
		all = append(all, o)
	}
	return all
}

// Pass describes one pass of a message through the middleware. It never
// carries the business key.
type Pass struct {
	// Handler is the router's name of the handler.
	Handler string
	// Topic is the topic the message came from.
	Topic string
	// Outcome is how the pass ended.
	Outcome Outcome
	// Waited is the time from the message's arrival until its claim was
	// decided.
	Waited time.Duration
	// Ran is the time inside the wrapped handler; zero if it did not run.
	Ran time.Duration
	// AckedEarly says that the message had been acknowledged before it got
	// here, by InstantAck for one: the broker will not deliver it again.
	AckedEarly bool
}

// Observer is told how every pass ended, from the goroutine that ends it: the
// handler's, or a later one for a handler that returned messages. Calls are
// concurrent. It should return quickly; a panic is recovered and logged.
type Observer interface {
	ObservePass(Pass)
}

// ObserverFunc makes a function an Observer.
type ObserverFunc func(Pass)

// ObservePass calls f(p).
func (f ObserverFunc) ObservePass(p Pass) { f(p) }

type nopObserver struct{}

func (nopObserver) ObservePass(Pass) {}
