package dedup

import "sync"

// tasks counts goroutines that outlive a pass. Unlike a sync.WaitGroup it may
// grow while somebody waits for it, and the wait can be given up.
type tasks struct {
	mu    sync.Mutex
	count int
	idle  chan struct{} // closed when count falls to zero; nil when nobody waits
}

func (t *tasks) run(f func()) {
	t.mu.Lock()
	t.count++
	t.mu.Unlock()
	go func() {
		defer t.done()
		f()
	}()
}

func (t *tasks) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count--
	if t.count == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// wait returns a channel that closes when nothing runs, and how much does.
func (t *tasks) wait() (idle <-chan struct{}, running int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count == 0 {
		done := make(chan struct{})
		close(done)
		return done, 0
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	return t.idle, t.count
}
