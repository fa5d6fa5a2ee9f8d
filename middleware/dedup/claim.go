package dedup

import (
	"errors"
	"fmt"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// errUnexpectedState is the error of a store that breaks its contract.
var errUnexpectedState = errors.New("store answered with an unexpected state")

// claim asks for the key until it is ours or done, or HeldWait is over. The
// last answer is returned: Acquired, Done, Held, or an error, in which case
// the store was failing when the wait ended.
func (p *pass) claim() (store.State, error) {
	var wait backoff
	sent := p.arrived
	for {
		state, err := p.claimOnce(p.d.cfg.Lease)
		now := time.Now()
		p.waited = now.Sub(p.arrived)
		switch {
		case err == nil && state == store.Done:
			return state, nil
		case err == nil && state == store.Acquired:
			if now.Before(sent.Add(p.d.cfg.Lease)) {
				p.sent = sent
				return state, nil
			}
			// The process stood still meanwhile, and somebody may have
			// overtaken: ask again.
			state, p.stray = store.Held, true
		}
		left := p.d.cfg.HeldWait - p.waited
		if left <= 0 || !p.pause(min(wait.next(), left)) {
			p.waited = time.Since(p.arrived)
			return state, err
		}
		sent = time.Now()
	}
}

// claimOnce sends one Claim.
func (p *pass) claimOnce(lease time.Duration) (store.State, error) {
	ctx, cancel := p.d.storeContext(p.ctx)
	defer cancel()
	found, err := p.d.store.Claim(ctx, p.delivery.key, p.delivery.token, lease)
	p.d.outage.note(err)
	if err != nil {
		p.stray = true
		return 0, err
	}
	if found.State != store.Acquired && found.State != store.Held && found.State != store.Done {
		return 0, fmt.Errorf("%w: %s", errUnexpectedState, found.State)
	}
	return found.State, nil
}

// release gives the claim up, so that a copy need not wait for the lease. If
// the store does not answer, or an earlier Claim may still take effect there,
// it goes on in the background.
func (p *pass) release() {
	ctx, cancel := p.d.storeContext(p.ctx)
	defer cancel()
	_, err := p.d.store.Release(ctx, p.delivery.key, p.delivery.token)
	p.d.outage.note(err)
	if err != nil || p.stray {
		p.releaseLater()
	}
}

// releaseLater has the claim released in the background, unless an instance
// further out has it too and may claim it again.
func (p *pass) releaseLater() {
	if p.delivery.shared {
		return
	}
	p.d.releaseStray(p.delivery.key, p.delivery.token)
}

// complete records the job as done. It tries once, and again until the
// deadline as long as pause, which waits, allows. From the first failure until
// it succeeds the job is remembered: copies in this process must not run it
// when its claim ends before its marker is written.
func (p *pass) complete(deadline time.Time, pause func(time.Duration) bool) (store.State, error) {
	var wait backoff
	for {
		found, err := p.completeOnce()
		if err == nil {
			// A copy may have claimed the key just before the marker and be
			// about to look here: remember the job for a while.
			p.d.unrecorded.forget(p.delivery.key, time.Now().Add(p.d.cfg.Lease))
			return found, nil
		}
		p.d.unrecorded.add(rememberedJob{
			key:   p.delivery.key,
			token: p.delivery.token,
			until: time.Now().Add(p.d.cfg.Retention),
		})
		next := wait.next()
		if time.Until(deadline) < next || !pause(next) {
			return 0, err
		}
	}
}

// overtaken reports whether a Complete that found this had lost its claim
// without noticing. A marker that it found is its own as a rule, of an attempt
// whose answer was lost.
func overtaken(found store.State) bool {
	return found == store.Held || found == store.Free
}

func (p *pass) completeOnce() (store.State, error) {
	ctx, cancel := p.d.storeContext(p.ctx)
	defer cancel()
	found, err := p.d.store.Complete(ctx, p.delivery.key, p.delivery.token, p.d.cfg.Retention)
	p.d.outage.note(err)
	return found, err
}

// pauseToRecord waits between attempts to record an effect. Only a Close that
// gives up ends it early: the marker is worth more than the time.
func (p *pass) pauseToRecord(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-p.d.abandon:
		return false
	}
}
