package dedup

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// maxRemembered bounds each memory of jobs. The oldest is forgotten first.
const maxRemembered = 10_000

// rememberedJob is what this process knows about a job and the store may not.
type rememberedJob struct {
	key store.Key
	// token is that of a claim which may stand in the store.
	token string
	// until is when the job is forgotten.
	until time.Time
}

// jobMemory remembers such jobs until a copy comes back to this process. The
// zero value is ready.
type jobMemory struct {
	// count spares every message the lock: nearly always it is zero.
	count atomic.Int64
	mu    sync.Mutex
	byKey map[store.Key]*list.Element
	order list.List // of rememberedJob, oldest first
}

// add remembers a job, unless its key is remembered already.
func (m *jobMemory) add(job rememberedJob) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byKey == nil {
		m.byKey = make(map[store.Key]*list.Element)
	}
	if old, ok := m.byKey[job.key]; ok {
		if time.Now().Before(old.Value.(rememberedJob).until) {
			return
		}
		m.remove(old)
	}
	if len(m.byKey) >= maxRemembered {
		m.remove(m.order.Front())
	}
	m.byKey[job.key] = m.order.PushBack(job)
	m.count.Store(int64(len(m.byKey)))
}

// get returns the job of key, if it is remembered.
func (m *jobMemory) get(key store.Key) (rememberedJob, bool) {
	if m.count.Load() == 0 {
		return rememberedJob{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.byKey[key]
	if !ok {
		return rememberedJob{}, false
	}
	job := element.Value.(rememberedJob)
	return job, time.Now().Before(job.until)
}

// take is get, and forgets the job.
func (m *jobMemory) take(key store.Key) (rememberedJob, bool) {
	if m.count.Load() == 0 {
		return rememberedJob{}, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	element, ok := m.byKey[key]
	if !ok {
		return rememberedJob{}, false
	}
	job := m.remove(element)
	return job, time.Now().Before(job.until)
}

// forget ends the memory of a job at the latest at until. It is called for
// every job that is recorded, and so also drops what is over, as far as the
// oldest that is not.
func (m *jobMemory) forget(key store.Key, until time.Time) {
	if m.count.Load() == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if element, ok := m.byKey[key]; ok {
		if job := element.Value.(rememberedJob); until.Before(job.until) {
			job.until = until
			element.Value = job
		}
	}
	now := time.Now()
	for oldest := m.order.Front(); oldest != nil; oldest = m.order.Front() {
		if now.Before(oldest.Value.(rememberedJob).until) {
			return
		}
		m.remove(oldest)
	}
}

func (m *jobMemory) remove(element *list.Element) rememberedJob {
	job := m.order.Remove(element).(rememberedJob)
	delete(m.byKey, job.key)
	m.count.Store(int64(len(m.byKey)))
	return job
}
