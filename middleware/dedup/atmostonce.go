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
// handler, so a job is lost when its process dies in mid-handler, when the
// answer to its claim is lost and another process gets the redelivery, and when
// its handler fails or the messages it returned cannot be published: the error
// is returned once, counted as Lost, and a redelivery finds the claim. An effect
// is never repeated while the store keeps the claim, for Config.Retention.
//
// It keeps no done markers apart from its claims: Leased on the same namespace
// and scope would wait for them. Give the consumer another scope when you
// change its mode.
//
// Config.FailOpen and Config.PublishTimeout are not used, and Config.Lease only
// sets the default of Config.StoreTimeout. Arguments and errors are those of
// Leased.
func AtMostOnce(s store.Store, key keyextract.Func, cfg Config, logger watermill.LoggerAdapter) (*Dedup, error) {
	return newDedup(modeAtMostOnce, s, key, cfg, logger)
}

// runAtMostOnce is the middleware of AtMostOnce: the claim is the marker.
func (p *pass) runAtMostOnce() (outputs []*message.Message, err error) {
	// A claim whose answer was lost may stand. With its token a redelivery
	// meets its own claim, not a stranger's.
	if job, ok := p.d.unanswered.take(p.delivery.key); ok {
		p.delivery.token = job.token
	}
	state, err := p.claimForGood()
	switch {
	case err != nil:
		p.d.unanswered.add(rememberedJob{
			key:   p.delivery.key,
			token: p.delivery.token,
			until: time.Now().Add(p.d.cfg.Retention),
		})
		return p.turnAway(StoreError)
	case state != store.Acquired:
		p.end(Duplicate)
		return nil, nil
	}

	p.came = takeSnapshot(p.msg)
	p.msg.SetContext(p.handlerContext())
	outputs, err = p.runHandler(func() {
		p.came.restore(p.msg, nil)
		p.end(Lost)
	})
	switch {
	case p.delivery.turnedAway:
		// The handler has not run, and a redelivery must find the key free.
		p.release()
		p.came.restore(p.msg, nil)
		p.end(Held)
	case err != nil || nacked(p.msg):
		outputs = p.came.restore(p.msg, outputs)
		p.end(Lost)
	case len(outputs) > 0 && !acked(p.msg):
		return p.settleOnAck(outputs, func(a answer) {
			if a == published {
				p.end(Processed)
			} else {
				p.end(Lost)
			}
		}), nil
	default:
		outputs = p.came.restore(p.msg, outputs)
		p.end(Processed)
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
