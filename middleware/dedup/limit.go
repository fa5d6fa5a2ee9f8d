package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Limit lets at most n messages at a time into each handler it wraps, and is
// placed inside the deduplication:
//
//	router.AddMiddleware(d.Middleware, dedup.Limit(20))
//
// A copy that waits for a claim held elsewhere then takes no slot, so with
// about twice as many subscriptions as slots every slot has work. Every
// wrapped handler has slots of its own.
//
// A message whose context ends, whose claim is lost, whose Dedup is closed or
// whose router closes (see WakeOnClose) while it waits for a slot is nacked, or
// fails with ErrAlreadyAcked, and the handler does not run. Limit panics when n
// is less than 1.
func Limit(n int) message.HandlerMiddleware {
	if n < 1 {
		panic(fmt.Sprintf("dedup.Limit: n must be at least 1, got %d", n))
	}
	return func(h message.HandlerFunc) message.HandlerFunc {
		slots := make(chan struct{}, n)
		return func(msg *message.Message) ([]*message.Message, error) {
			select {
			case slots <- struct{}{}:
			default:
				if !waitForSlot(slots, msg) {
					return nil, turnAway(msg)
				}
			}
			defer func() { <-slots }()
			return h(msg)
		}
	}
}

// waitForSlot reports whether it got a slot before the message's time ran out.
func waitForSlot(slots chan struct{}, msg *message.Message) bool {
	ctx := msg.Context()
	arrived := time.Now()
	select {
	case slots <- struct{}{}:
		// Both may have been ready; a handler must not start on a lost claim.
		if ctx.Err() == nil {
			return true
		}
		<-slots
	case <-ctx.Done():
	case <-closingFrom(ctx):
	case <-deliveryFrom(msg).dedupClosed():
	}
	avoidSpin(msg, arrived)
	return false
}

// errCopied fails a message that a middleware between dedup and Limit copied:
// a nack of the copy would reach nobody, and the job would count as done.
var errCopied = errors.New("dedup.Limit: message is a copy of the one that was delivered, and got no slot")

// turnAway sends back a message that got no slot.
func turnAway(msg *message.Message) error {
	v, _ := msg.Context().Value(deliveryKey{}).(*delivery)
	if v != nil && v.msg != msg {
		return errCopied
	}
	v.turnAway()
	return sendBack(msg)
}

// sendBack nacks the message so that the broker delivers it again. The caller
// returns without an error: as an error it would be retried by Retry, and
// acked by PoisonQueue, although nothing is wrong with the message.
func sendBack(msg *message.Message) error {
	if !msg.Nack() {
		return ErrAlreadyAcked
	}
	return nil
}
