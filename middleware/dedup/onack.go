package dedup

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// completeOnAck returns the handler's messages to the router and records the
// job as done once the router has published them and acked. A marker written
// before would lose them when the publish fails. Copies find the claim held
// meanwhile. When the publish fails the claim is released: the messages are
// never lost, and the effect may repeat.
//
// cancel ends the context that the handler ran with. The outputs may carry it,
// so it lasts until they are published, also when the claim is lost meanwhile:
// the effect has happened.
func (p *pass) completeOnAck(outputs []*message.Message, cancel context.CancelCauseFunc) []*message.Message {
	p.lease.keepContext()
	outputs = p.came.restore(p.msg, outputs)
	p.d.tasks.run(func() {
		defer cancel(nil)
		timer := time.NewTimer(p.d.cfg.PublishTimeout)
		defer timer.Stop()
		for {
			select {
			case <-p.msg.Acked():
				p.recordPublished()
				return
			case <-p.msg.Nacked():
				p.lease.stop()
				p.release()
				p.end(Failed)
				return
			case <-p.d.abandon:
				p.lease.stop()
				p.end(Unrecorded)
				return
			case <-timer.C:
				p.lease.stop()
			}
		}
	})
	return outputs
}

// recordPublished records a job whose messages are out. The message is acked,
// so a job that cannot be recorded only waits for another copy.
func (p *pass) recordPublished() {
	lost, until := p.lease.stop()
	found, err := p.complete(until, p.pauseToRecord)
	switch {
	case err != nil:
		p.end(Unrecorded)
	case lost || found != store.Acquired:
		p.end(LeaseLost)
	default:
		p.end(Processed)
	}
}
