package dedup

import "errors"

// ErrInvalidConfig is matched by every error of a constructor. The text names
// the argument or field.
var ErrInvalidConfig = errors.New("invalid dedup configuration")

// ErrLeaseLost is the cause of a handler's cancelled context when its claim is
// no longer surely its own: the store said so, or the lease has passed without
// a renewal. Another delivery may be running the job. Ask for it with
// context.Cause(msg.Context()).
var ErrLeaseLost = errors.New("lease lost")

// ErrNoScope is returned for a message whose scope comes out empty: the
// handler name is empty (a message that no router delivered) or Config.Scope
// returned "". The handler has not run.
var ErrNoScope = errors.New("scope is empty")

// ErrAlreadyAcked is returned where a message had to go back to the broker
// but had been acknowledged before (by the InstantAck middleware, or by the
// handler): the broker will not deliver it again.
var ErrAlreadyAcked = errors.New("message was acknowledged before it was settled")
