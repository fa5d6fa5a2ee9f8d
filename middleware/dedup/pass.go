package dedup

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// pass is one message on its way through the middleware. It belongs to the
// goroutine that runs it, and then to the one that completes it on ack.
type pass struct {
	d   *Dedup
	msg *message.Message
	h   message.HandlerFunc
	ctx context.Context // the message's, as it came

	handler, topic, scope string
	arrived               time.Time
	waited, ran           time.Duration
	ackedEarly            bool

	delivery delivery
	inner    handlerContext
	recorded atomic.Bool // delivery.recorded, unless an outer instance has it
	came     snapshot    // from before the handler runs
	lease    lease       // of a claimed handler
	// sent is when the claim that succeeded was sent: its lease counts from
	// before the store saw it.
	sent time.Time
	// stray is set when a Claim ended in an error: it may still take effect.
	stray bool
}

func newPass(d *Dedup, msg *message.Message, h message.HandlerFunc) *pass {
	ctx := msg.Context()
	p := &pass{
		d:          d,
		msg:        msg,
		h:          h,
		ctx:        ctx,
		handler:    message.HandlerNameFromCtx(ctx),
		topic:      message.SubscribeTopicFromCtx(ctx),
		arrived:    time.Now(),
		ackedEarly: acked(msg),
	}
	p.scope = d.cfg.Scope(p.handler)
	return p
}

// handlerContext returns the context for the wrapped handler.
func (p *pass) handlerContext() context.Context {
	p.inner = handlerContext{Context: p.ctx, delivery: &p.delivery}
	return &p.inner
}

// run decides what happens to the message.
func (p *pass) run() ([]*message.Message, error) {
	id, err := p.businessKey()
	if err != nil {
		return p.missingKey(err)
	}
	key := store.Key{Scope: p.d.scopePrefix() + p.scope, ID: id}

	outer := deliveryFrom(p.msg)
	if outer.claims(p.d.store, key) {
		return p.runUnclaimed(Bypassed)
	}
	p.delivery = delivery{outer: outer, msg: p.msg, dedup: p.d, key: key}
	// One token a delivery: an inner instance with the same key in the same
	// database then meets its own claim, not a stranger's.
	if outer != nil {
		p.delivery.token = outer.token
		p.delivery.recorded = outer.recordedOf(key)
	} else {
		p.delivery.token = newToken()
	}
	if p.delivery.recorded == nil {
		p.delivery.recorded = &p.recorded
	}

	switch p.d.mode {
	case modeAtMostOnce:
		return p.runAtMostOnce()
	case modeObserve:
		return p.runObserved()
	default:
		return p.runLeased()
	}
}

// businessKey extracts the message's key, once: a handler may rewrite it.
func (p *pass) businessKey() (string, error) {
	if p.scope == "" {
		return "", fmt.Errorf("handler %q: %w", p.handler, ErrNoScope)
	}
	id, err := p.d.key(p.msg)
	if err == nil && id == "" {
		err = keyextract.ErrNoKey
	}
	return id, err
}

func (p *pass) missingKey(err error) ([]*message.Message, error) {
	if p.d.mode == modeObserve {
		return p.runUnclaimed(MissingKey)
	}
	if p.scope != "" {
		switch p.d.cfg.MissingKey {
		case MissingKeyProcess:
			return p.runUnclaimed(MissingKey)
		case MissingKeyDrop:
			p.end(MissingKey)
			return nil, nil
		}
	}
	p.pause(spinPause)
	p.end(MissingKey)
	return nil, fmt.Errorf("could not tell which job the message is: %w", err)
}

// runUnclaimed runs the handler without a claim of this pass.
func (p *pass) runUnclaimed(outcome Outcome) ([]*message.Message, error) {
	defer p.end(outcome)
	return p.runHandler()
}

// runHandler runs the wrapped handler and takes its time.
func (p *pass) runHandler() ([]*message.Message, error) {
	defer func() { p.ran = time.Since(p.arrived) - p.waited }()
	return p.h(p.msg)
}

// turnAway sends the message back to the broker without running the handler.
func (p *pass) turnAway(outcome Outcome) ([]*message.Message, error) {
	p.delivery.outer.turnAway()
	p.end(outcome)
	return nil, sendBack(p.msg)
}

// pause waits, and reports false when the message's time ran out before:
// its context ended, its subscription is closing, or Close was called.
func (p *pass) pause(d time.Duration) bool {
	ended := p.ctx.Done()
	if p.ackedEarly {
		// Its context may have ended with the ack, and it will not come back.
		ended = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ended:
	case <-closingFrom(p.ctx):
	case <-p.d.closing:
		pauseAfterClose(p.ctx)
	}
	return false
}

// end reports the outcome of the pass. Every path calls it once.
func (p *pass) end(outcome Outcome) {
	p.log(outcome)
	defer func() {
		// Observing must not change what happens to the message.
		if r := recover(); r != nil {
			p.d.logger.Error("Observer panicked", fmt.Errorf("%v", r), nil)
		}
	}()
	p.d.cfg.Observer.ObservePass(Pass{
		Handler:    p.handler,
		Topic:      p.topic,
		Outcome:    outcome,
		Waited:     p.waited,
		Ran:        p.ran,
		AckedEarly: p.ackedEarly,
	})
}

// log says what an operator would want to know without an Observer.
func (p *pass) log(outcome Outcome) {
	var text string
	switch outcome {
	case Duplicate:
		p.d.logger.Debug("Message is a duplicate", nil)
		return
	case LeaseLost:
		text = "Claim was lost while the handler ran: the job may have run twice"
	case Unrecorded:
		text = "Job could not be recorded as done, and may run again"
	case Lost:
		text = "Handler failed, and its job is lost by choice of AtMostOnce"
	default:
		return
	}
	p.d.logger.Info(text, watermill.LogFields{"handler_name": p.handler, "topic": p.topic})
}
