package dedup

import (
	"context"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// runLeased is the middleware of Leased: claim, run, record.
func (p *pass) runLeased() ([]*message.Message, error) {
	if job, ok := p.d.unrecorded.get(p.delivery.key); ok {
		return p.replay(job)
	}

	state, err := p.claim()
	if state == store.Acquired || err != nil && p.d.cfg.FailOpen {
		// Once more: this copy may have waited since before the effect.
		if job, ok := p.d.unrecorded.get(p.delivery.key); ok {
			return p.replay(job)
		}
	}
	switch {
	case err != nil && p.d.cfg.FailOpen:
		return p.runOpen()
	case err != nil:
		p.releaseLater()
		return p.turnAway(StoreError)
	case state == store.Held:
		if p.stray {
			p.releaseLater()
		}
		return p.turnAway(Held)
	case state == store.Done:
		p.end(Duplicate)
		return nil, nil
	default:
		return p.runClaimed()
	}
}

// runClaimed runs the handler under its lease and settles the claim.
func (p *pass) runClaimed() (outputs []*message.Message, err error) {
	p.came = takeSnapshot(p.msg)
	ctx, cancel := context.WithCancelCause(p.handlerContext())
	p.msg.SetContext(ctx)
	p.lease.start(p, cancel)

	publishing := false
	defer func() {
		if !publishing {
			cancel(nil)
		}
	}()
	outputs, err = p.runHandler(p.abort)

	switch {
	case err != nil:
		return p.fail(outputs, err)
	case nacked(p.msg):
		return p.settleNacked()
	case len(outputs) > 0 && !acked(p.msg):
		publishing = true
		// The outputs may carry the handler's context, so it lasts until they
		// are published, also when the claim is lost meanwhile: the effect has
		// happened.
		p.lease.keepContext()
		return p.settleOnAck(outputs, func(a answer) {
			p.settleClaimed(a)
			cancel(nil)
		}), nil
	default:
		return p.succeed(outputs)
	}
}

// succeed records the effect before the message is acked.
func (p *pass) succeed(outputs []*message.Message) ([]*message.Message, error) {
	lost, until := p.lease.stop()
	found, err := p.complete(until, p.pauseToRecord)
	outputs = p.came.restore(p.msg, outputs)
	switch {
	case err != nil:
		p.end(Unrecorded)
		if err := sendBack(p.msg); err != nil && len(outputs) == 0 {
			return nil, err
		}
		// Acked before: nothing brings the outputs back if they are not
		// published now.
	case lost || overtaken(found):
		p.end(LeaseLost)
	default:
		p.end(Processed)
	}
	return outputs, nil
}

// fail releases the claim of a handler that returned an error.
func (p *pass) fail(outputs []*message.Message, err error) ([]*message.Message, error) {
	lost, _ := p.lease.stop()
	p.release()
	outputs = p.came.restore(p.msg, outputs)
	if lost {
		// The job may be done elsewhere: nothing to retry or to poison.
		p.end(LeaseLost)
		if sendBack(p.msg) == nil {
			return nil, nil
		}
		return outputs, err
	}
	p.end(Failed)
	return outputs, err
}

// settleNacked settles a handler that nacked its message and returned no error.
// The subscriber may be reading the message already, so it is not restored.
func (p *pass) settleNacked() ([]*message.Message, error) {
	lost, _ := p.lease.stop()
	p.release()
	p.came.restore(p.msg, nil)
	switch {
	case lost:
		p.end(LeaseLost)
	case p.delivery.turnedAway:
		p.end(Held)
	default:
		p.end(Failed)
	}
	return nil, nil
}

// abort settles a handler that did not return.
func (p *pass) abort() {
	lost, _ := p.lease.stop()
	p.release()
	p.came.restore(p.msg, nil)
	if lost {
		p.end(LeaseLost)
	} else {
		p.end(Failed)
	}
}

// runOpen runs the handler without a claim, as Config.FailOpen asks for, and
// still tries to record the effect.
func (p *pass) runOpen() (outputs []*message.Message, err error) {
	p.came = takeSnapshot(p.msg)
	p.msg.SetContext(p.handlerContext())
	settled := refused
	publishing := false
	defer func() {
		if !publishing {
			outputs = p.came.restore(p.msg, outputs)
			p.settleOpen(settled)
		}
	}()
	outputs, err = p.runHandler(func() {})
	switch {
	case err != nil || nacked(p.msg):
	case len(outputs) > 0 && !acked(p.msg):
		publishing = true
		outputs = p.settleOnAck(outputs, p.settleOpen)
	default:
		settled = published
	}
	return outputs, err
}

// settleOpen settles a handler that ran without a claim. One of its claims may
// have won all the same.
func (p *pass) settleOpen(a answer) {
	if a == published {
		_, _ = p.complete(time.Now(), p.pauseToRecord) // a failure is remembered
	} else {
		p.releaseLater()
	}
	p.end(Bypassed)
}

// replay settles a message whose effect this process knows to have happened.
// It needs no claim: Complete records done whatever it finds.
func (p *pass) replay(job rememberedJob) ([]*message.Message, error) {
	p.delivery.token = job.token
	found, err := p.complete(p.arrived.Add(p.d.cfg.HeldWait), p.pause)
	p.waited = time.Since(p.arrived)
	switch {
	case err == nil && found == store.Done:
		p.end(Duplicate)
	case err == nil:
		p.end(Replayed)
	case p.d.cfg.FailOpen:
		p.end(Bypassed)
	default:
		return p.turnAway(StoreError)
	}
	return nil, nil
}
