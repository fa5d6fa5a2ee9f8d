package dedup

import (
	"context"
	"sync"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// lease keeps one claim alive while its handler runs, and notices when it no
// longer surely holds it.
//
// Until the first renewal is due it is a timer and no goroutine: most handlers
// end before. From then on a goroutine renews, and a second timer watches the
// deadline on the local monotonic clock, independent of the renewal, because a
// call to a hung server returns late.
type lease struct {
	p *pass

	mu sync.Mutex
	// cancel ends the handler's context when the lease is lost before stop;
	// nil for nobody to tell.
	cancel   context.CancelCauseFunc
	until    time.Time
	lost     bool
	stopped  bool
	first    *time.Timer
	deadline *time.Timer
	stopping chan struct{} // closed by stop; nil until the first renewal
	renewed  chan struct{} // closed when the renewing goroutine has ended
}

// start watches over the claim of p, which has just been acquired.
func (l *lease) start(p *pass, cancel context.CancelCauseFunc) {
	// The callback may run before AfterFunc has returned.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.p = p
	l.cancel = cancel
	l.until = p.sent.Add(p.d.cfg.Lease)
	now := p.arrived.Add(p.waited)
	l.first = time.AfterFunc(p.sent.Add(p.d.cfg.Lease/3).Sub(now), l.keep)
}

// keep renews until stop or the loss of the lease.
func (l *lease) keep() {
	l.mu.Lock()
	if l.stopped {
		l.mu.Unlock()
		return
	}
	l.stopping = make(chan struct{})
	l.renewed = make(chan struct{})
	defer close(l.renewed)
	l.deadline = time.AfterFunc(time.Until(l.until), l.expire)
	l.mu.Unlock()

	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-l.stopping:
			return
		case <-pause.C:
		}
		next, owned := l.renew()
		if !owned {
			l.markLost()
			return
		}
		pause.Reset(time.Until(next))
	}
}

// renew sends one renewal. It returns when the next one is due, and false when
// the store says that the claim is not ours. A failed call alone is no loss:
// the lease goes on until its deadline.
func (l *lease) renew() (next time.Time, owned bool) {
	d, v, lease := l.p.d, &l.p.delivery, l.p.d.cfg.Lease
	sent := time.Now()
	ctx, cancel := d.storeContext(l.p.ctx)
	defer cancel()
	state, err := d.store.Renew(ctx, v.key, v.token, lease)
	d.outage.note(err)
	if err != nil {
		return time.Now().Add(lease / 20), true
	}
	if state != store.Acquired {
		return time.Time{}, false
	}
	l.extend(sent.Add(lease))
	return sent.Add(lease / 3), true
}

func (l *lease) extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopped || l.lost {
		return
	}
	l.until = until
	l.deadline.Reset(time.Until(until))
}

// expire runs at the deadline, unless a renewal has just moved it.
func (l *lease) expire() {
	l.mu.Lock()
	moved := time.Now().Before(l.until)
	l.mu.Unlock()
	if !moved {
		l.markLost()
	}
}

func (l *lease) markLost() {
	l.mu.Lock()
	first := !l.lost && !l.stopped
	if first {
		l.lost = true
	}
	cancel := l.cancel
	l.mu.Unlock()
	if first && cancel != nil {
		cancel(ErrLeaseLost)
	}
}

// keepContext has the handler's context survive a loss from now on.
func (l *lease) keepContext() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel = nil
}

// stop ends the renewal and joins it, so that no renewal is sent after a
// Complete or Release. It returns whether the lease was lost, and the deadline
// up to which it was ours. Later calls return the same; on a lease that was
// never started it does nothing.
func (l *lease) stop() (lost bool, until time.Time) {
	if l.p == nil {
		return false, time.Time{}
	}
	l.mu.Lock()
	if !l.stopped {
		l.stopped = true
		// A process that stood still may not have seen its own timer.
		l.lost = l.lost || time.Now().After(l.until)
		l.first.Stop()
		if l.stopping != nil {
			l.deadline.Stop()
			close(l.stopping)
		}
	}
	renewed := l.renewed
	lost, until = l.lost, l.until
	l.mu.Unlock()
	if renewed != nil {
		<-renewed
	}
	return lost, until
}
