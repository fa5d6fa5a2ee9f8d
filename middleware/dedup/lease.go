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
	d     *Dedup
	key   store.Key
	token string

	mu sync.Mutex
	// lose is called once when the lease is lost before stop.
	lose     func()
	until    time.Time
	lost     bool
	stopped  bool
	first    *time.Timer
	deadline *time.Timer
	stopping chan struct{} // closed by stop; nil until the first renewal
	renewed  chan struct{} // closed when the renewing goroutine has ended
}

// startLease watches over a claim that was sent to the store at sent.
func (d *Dedup) startLease(key store.Key, token string, sent time.Time, lose func()) *lease {
	l := &lease{d: d, key: key, token: token, lose: lose, until: sent.Add(d.cfg.Lease)}
	// The callback may run before AfterFunc has returned.
	l.mu.Lock()
	defer l.mu.Unlock()
	l.first = time.AfterFunc(time.Until(sent.Add(d.cfg.Lease/3)), l.keep)
	return l
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
	sent := time.Now()
	ctx, cancel := l.d.storeContext(context.Background())
	defer cancel()
	state, err := l.d.store.Renew(ctx, l.key, l.token, l.d.cfg.Lease)
	l.d.outage.note(err)
	if err != nil {
		return time.Now().Add(l.d.cfg.Lease / 12), true
	}
	if state != store.Acquired {
		return time.Time{}, false
	}
	l.extend(sent.Add(l.d.cfg.Lease))
	return sent.Add(l.d.cfg.Lease / 3), true
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
	l.lost = l.lost || first
	lose := l.lose
	l.mu.Unlock()
	if first {
		lose()
	}
}

// onLoss replaces what is called when the lease is lost from now on.
func (l *lease) onLoss(lose func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose = lose
}

// stop ends the renewal and joins it, so that no renewal is sent after a
// Complete or Release. It returns whether the lease was lost, and the deadline
// up to which it was ours. Later calls return the same.
func (l *lease) stop() (lost bool, until time.Time) {
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
