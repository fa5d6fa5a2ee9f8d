package dedup

import (
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// AtMostOnce returns a middleware for effects that are better skipped than
// repeated, such as a notification: the claim is the done marker. A message
// whose key was claimed before, by anyone, is acknowledged without running the
// handler, so a job is lost when its process dies in mid-handler, and when its
// handler fails or the messages it returned cannot be published: the error is
// returned once, counted as Lost, and a redelivery finds the claim. An effect is never repeated while the store
// keeps the claim, for Config.Retention.
//
// Config.FailOpen and Config.PublishTimeout are not used, and Config.Lease only
// sets the default of Config.StoreTimeout. Arguments and errors are those of
// Leased.
func AtMostOnce(s store.Store, key keyextract.Func, cfg Config, logger watermill.LoggerAdapter) (*Dedup, error) {
	return newDedup(modeAtMostOnce, s, key, cfg, logger)
}

// runAtMostOnce is the middleware of AtMostOnce: the claim is the marker.
func (p *pass) runAtMostOnce() (outputs []*message.Message, err error) {
	state, err := p.claimForGood()
	switch {
	case err != nil:
		// The claim may stand all the same. Its handler has not run, so it can
		// be given back; a copy that arrives before is lost.
		p.releaseLater()
		return p.turnAway(StoreError)
	case state != store.Acquired:
		p.end(Duplicate)
		return nil, nil
	}

	p.came = takeSnapshot(p.msg)
	p.msg.SetContext(p.handlerContext())
	outcome := Lost
	defer func() {
		if p.delivery.turnedAway {
			// The handler has not run, and a redelivery must find the key free.
			outcome = Held
			p.release()
		}
		outputs = p.came.restore(p.msg, outputs)
		p.end(outcome)
	}()
	outputs, err = p.runHandler()
	if err == nil && !nacked(p.msg) {
		outcome = Processed
	}
	return outputs, err
}

// claimForGood claims the key for the whole retention. It asks again only when
// the store fails: held is an answer here.
func (p *pass) claimForGood() (store.State, error) {
	defer func() { p.waited = time.Since(p.arrived) }()
	var wait backoff
	for {
		state, err := p.claimOnce(p.d.cfg.Retention)
		if err == nil {
			return state, nil
		}
		left := p.d.cfg.HeldWait - time.Since(p.arrived)
		if left <= 0 || !p.pause(min(wait.next(), left)) {
			return state, err
		}
	}
}
