package dedup

import (
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// answer is what became of a message whose handler returned messages.
type answer int

const (
	published answer = iota // the router published them and acked
	refused                 // it could not, and nacked
	abandoned               // Close gave up waiting for it
)

// settleOnAck hands the handler's messages to the router and calls settle when
// it has answered. A job that is recorded as done before its messages are
// published loses them when the publish fails: they are never lost this way,
// and the effect may repeat.
func (p *pass) settleOnAck(outputs []*message.Message, settle func(answer)) []*message.Message {
	outputs = p.came.restore(p.msg, outputs)
	p.d.tasks.run(func() { settle(p.awaitAnswer()) })
	return outputs
}

// awaitAnswer waits for the router. After PublishTimeout the claim is no
// longer renewed.
func (p *pass) awaitAnswer() answer {
	timeout := time.NewTimer(p.d.cfg.PublishTimeout)
	defer timeout.Stop()
	for {
		select {
		case <-p.msg.Acked():
			return published
		case <-p.msg.Nacked():
			return refused
		case <-p.d.abandon:
			if acked(p.msg) {
				return published
			}
			return abandoned
		case <-timeout.C:
			p.lease.stop()
		}
	}
}

// settleClaimed settles the claim of a handler that returned messages. Copies
// found it held meanwhile.
func (p *pass) settleClaimed(a answer) {
	lost, until := p.lease.stop()
	switch a {
	case refused:
		p.release()
		p.end(Failed)
		return
	case abandoned:
		p.end(Unrecorded)
		return
	case published:
	}
	// The message is acked: a job that cannot be recorded waits for a copy.
	found, err := p.complete(until, p.pauseToRecord)
	switch {
	case err != nil:
		p.end(Unrecorded)
	case lost || overtaken(found):
		p.end(LeaseLost)
	default:
		p.end(Processed)
	}
}
