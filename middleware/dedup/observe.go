package dedup

import (
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// observeScope prefixes the scopes of Observe, which must never hold out a
// real instance that is rolled out beside it.
const observeScope = "observe:"

func (d *Dedup) scopePrefix() string {
	if d.mode == modeObserve {
		return observeScope
	}
	return ""
}

// Observe returns a middleware that changes nothing and counts the duplicates
// that a consumer really gets: every handler runs, and the observer is told
// Duplicate where the job was done already or another delivery was handling
// it. A failing store delays a handler by at most Config.StoreTimeout. Its
// records are kept apart from those of the other modes, so that it can run
// beside them during a rollout.
//
// Config.HeldWait, Config.MissingKey, Config.PublishTimeout and Config.FailOpen
// are not used. Arguments and errors are those of Leased.
func Observe(s store.Store, key keyextract.Func, cfg Config, logger watermill.LoggerAdapter) (*Dedup, error) {
	return newDedup(modeObserve, s, key, cfg, logger)
}

// runObserved is the middleware of Observe: whatever the store says, the
// handler runs.
func (p *pass) runObserved() (outputs []*message.Message, err error) {
	state, claimErr := p.claimOnce(p.d.cfg.Lease)
	p.waited = time.Since(p.arrived)
	p.msg.SetContext(p.handlerContext())
	defer p.msg.SetContext(p.ctx)
	if claimErr != nil {
		p.releaseLater()
		return p.runUnclaimed(StoreError)
	}
	if state != store.Acquired {
		return p.runUnclaimed(Duplicate)
	}

	p.sent = p.arrived
	p.lease.start(p, nil)
	succeeded := false
	defer func() {
		p.lease.stop()
		if !succeeded {
			p.release()
			if p.delivery.turnedAway {
				p.end(Held)
			} else {
				p.end(Failed)
			}
			return
		}
		if _, err := p.completeOnce(); err != nil {
			p.end(Unrecorded)
			return
		}
		p.end(Processed)
	}()
	outputs, err = p.runHandler(func() {})
	succeeded = err == nil && !nacked(p.msg)
	return outputs, err
}
