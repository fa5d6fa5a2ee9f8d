package dedup

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// pass is one message on its way through the middleware. It belongs to the
// goroutine that runs it, and then to the one that completes it on ack.
type pass struct {
	d     *Dedup
	msg   *message.Message
	h     message.HandlerFunc
	named *sync.Once      // per wrapped handler
	ctx   context.Context // the message's, as it came

	handler, topic, scope string
	arrived               time.Time
	waited, ran           time.Duration
	ackedEarly            bool

	delivery delivery
	inner    handlerContext
	came     snapshot // from before the handler runs
	lease    lease    // of a claimed handler
	// sent is when the claim that succeeded was sent: its lease counts from
	// before the store saw it.
	sent time.Time
	// stray is set when a Claim ended in an error: it may still take effect.
	stray bool
}

func newPass(d *Dedup, msg *message.Message, h message.HandlerFunc, named *sync.Once) *pass {
	ctx := msg.Context()
	return &pass{
		d:          d,
		msg:        msg,
		h:          h,
		named:      named,
		ctx:        ctx,
		handler:    message.HandlerNameFromCtx(ctx),
		topic:      message.SubscribeTopicFromCtx(ctx),
		arrived:    time.Now(),
		ackedEarly: acked(msg),
	}
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
	// With the token of an outer instance that has the same key, an inner one
	// in the same database meets its own claim, not a stranger's.
	p.delivery.token, p.delivery.shared = outer.tokenOf(key)
	if !p.delivery.shared {
		p.delivery.token = newToken()
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
func (p *pass) businessKey() (id string, err error) {
	returned := false
	defer func() {
		if !returned {
			// The user's function panicked.
			avoidSpin(p.msg, p.arrived)
			p.end(MissingKey)
		}
	}()
	p.scope = p.d.cfg.Scope(p.handler)
	p.named.Do(func() { p.d.names.note(p.topic, p.handler, p.scope) })
	if p.scope == "" {
		err = fmt.Errorf("handler %q: %w", p.handler, ErrNoScope)
	} else {
		id, err = p.d.key(p.msg)
	}
	returned = true
	if err == nil && id == "" {
		err = keyextract.ErrNoKey
	}
	return id, err
}

func (p *pass) missingKey(err error) ([]*message.Message, error) {
	if p.d.mode == modeObserve {
		return p.runWithoutKey()
	}
	if errors.Is(err, keyextract.ErrNoKey) {
		switch p.d.cfg.MissingKey {
		case MissingKeyProcess:
			return p.runWithoutKey()
		case MissingKeyDrop:
			p.end(MissingKey)
			return nil, nil
		case MissingKeyError:
		}
	}
	avoidSpin(p.msg, p.arrived)
	p.end(MissingKey)
	return nil, fmt.Errorf("could not tell which job the message is: %w", err)
}

// runWithoutKey runs the handler of a message that is no known job, and so has
// no idempotency key either.
func (p *pass) runWithoutKey() ([]*message.Message, error) {
	if deliveryFrom(p.msg) == nil {
		p.msg.SetContext(&handlerContext{Context: p.ctx})
		defer p.msg.SetContext(p.ctx)
	}
	return p.runUnclaimed(MissingKey)
}

// runUnclaimed runs the handler without a claim of this pass.
func (p *pass) runUnclaimed(outcome Outcome) ([]*message.Message, error) {
	defer p.end(outcome)
	return p.runHandler(func() {})
}

// runHandler runs the wrapped handler. Where it does not return, unfinished is
// called on the way: after a panic, which goes on to Recoverer with the stack
// of the handler, or runtime.Goexit.
func (p *pass) runHandler(unfinished func()) ([]*message.Message, error) {
	finished := false
	defer func() {
		p.ran = time.Since(p.arrived) - p.waited
		if finished {
			return
		}
		cause := recover()
		unfinished()
		if cause != nil {
			panic(cause)
		}
		p.nackUnanswered()
	}()
	outputs, err := p.h(p.msg)
	finished = true
	return outputs, err
}

// nackUnanswered nacks one lease later, if nobody answers: after Goexit the
// router does not, and the message would stay unanswered for ever.
func (p *pass) nackUnanswered() {
	p.d.tasks.run(func() {
		timer := time.NewTimer(p.d.cfg.Lease)
		defer timer.Stop()
		select {
		case <-p.msg.Acked():
		case <-p.msg.Nacked():
		case <-timer.C:
		case <-p.d.closing:
		}
		p.msg.Nack()
	})
}

// turnAway sends the message back to the broker without running the handler.
func (p *pass) turnAway(outcome Outcome) ([]*message.Message, error) {
	avoidSpin(p.msg, p.arrived)
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
