package dedup

import (
	"context"
	"sync"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// maxStray bounds the claims that wait to be released. One that is dropped
// ends with its lease.
const maxStray = 10_000

// stray is a claim that may stand, or may come to stand, in the store although
// nobody works under it: a Claim or Release whose answer was lost. A server
// that was stopped carries such a Claim out when it resumes, and the key's
// copies would wait for a lease that nobody uses.
type stray struct {
	key   store.Key
	token string
	// until is one lease after the store was first reached; zero before.
	until time.Time
}

// releaser releases stray claims in the background. The zero value is ready.
type releaser struct {
	mu      sync.Mutex
	queue   []stray
	running bool
}

// releaseStray queues a claim for release.
func (d *Dedup) releaseStray(key store.Key, token string) {
	r := &d.releaser
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) < maxStray {
		r.queue = append(r.queue, stray{key: key, token: token})
	}
	if !r.running {
		r.running = true
		d.tasks.run(d.releaseStrays)
	}
}

// releaseStrays runs until nothing is queued, or Close. A claim leaves the
// queue when its release finds it, or a lease after the store answers again:
// whatever was still under way has expired by then.
func (d *Dedup) releaseStrays() {
	r := &d.releaser
	var wait backoff
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-d.closing:
			r.mu.Lock()
			r.queue, r.running = nil, false
			r.mu.Unlock()
			return
		case <-pause.C:
		}

		r.mu.Lock()
		batch := r.queue
		r.queue = nil
		r.mu.Unlock()

		kept, failed := d.releaseBatch(batch)

		r.mu.Lock()
		r.queue = append(kept, r.queue...)
		if len(r.queue) == 0 {
			r.running = false
			r.mu.Unlock()
			return
		}
		r.mu.Unlock()
		if failed {
			pause.Reset(wait.next())
		} else {
			// Rarely anything is left to find, and there may be thousands.
			pause.Reset(d.cfg.Lease / 20)
		}
	}
}

// releaseBatch tries each claim once and returns those to try again. It stops
// at the first failure, which the others would meet too, as a rule; the one
// that failed is tried last the next time.
func (d *Dedup) releaseBatch(batch []stray) (kept []stray, failed bool) {
	for i, s := range batch {
		ctx, cancel := d.storeContext(context.Background())
		state, err := d.store.Release(ctx, s.key, s.token)
		cancel()
		d.outage.note(err)
		if err != nil {
			return append(append(kept, batch[i+1:]...), s), true
		}
		now := time.Now()
		if s.until.IsZero() {
			s.until = now.Add(d.cfg.Lease)
		}
		if state != store.Acquired && state != store.Done && now.Before(s.until) {
			kept = append(kept, s)
		}
	}
	return kept, false
}
