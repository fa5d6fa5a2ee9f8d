package dedup

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// maxUnrecorded bounds the memory for jobs whose effect could not be recorded.
// The oldest is forgotten first, and would run again.
const maxUnrecorded = 10_000

// unrecordedJob is a job whose effect happened in this process while the store
// could not record it.
type unrecordedJob struct {
	key store.Key
	// token is that of the claim the job ran under, which may still stand.
	token string
	// until is when the job is forgotten.
	until time.Time
}

// unrecorded remembers such jobs, so that a copy that comes back to this
// process records them without running the handler again. The zero value is
// ready.
type unrecorded struct {
	// count spares every message the lock: nearly always it is zero.
	count atomic.Int64
	mu    sync.Mutex
	byKey map[store.Key]*list.Element
	order list.List // of unrecordedJob, oldest first
}

// add remembers a job.
func (u *unrecorded) add(job unrecordedJob) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byKey == nil {
		u.byKey = make(map[store.Key]*list.Element)
	}
	if old, ok := u.byKey[job.key]; ok {
		u.order.Remove(old)
	} else if len(u.byKey) >= maxUnrecorded {
		delete(u.byKey, u.order.Remove(u.order.Front()).(unrecordedJob).key)
	}
	u.byKey[job.key] = u.order.PushBack(job)
	u.count.Store(int64(len(u.byKey)))
}

// get returns the job of key, if it is remembered.
func (u *unrecorded) get(key store.Key) (unrecordedJob, bool) {
	if u.count.Load() == 0 {
		return unrecordedJob{}, false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	element, ok := u.byKey[key]
	if !ok {
		return unrecordedJob{}, false
	}
	job := element.Value.(unrecordedJob)
	return job, time.Now().Before(job.until)
}

// forget ends the memory of a job at the latest at until. It is called for
// every job that is recorded, and so also drops what is over, as far as the
// oldest that is not.
func (u *unrecorded) forget(key store.Key, until time.Time) {
	if u.count.Load() == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if element, ok := u.byKey[key]; ok {
		if job := element.Value.(unrecordedJob); until.Before(job.until) {
			job.until = until
			element.Value = job
		}
	}
	now := time.Now()
	for oldest := u.order.Front(); oldest != nil; oldest = u.order.Front() {
		job := oldest.Value.(unrecordedJob)
		if now.Before(job.until) {
			break
		}
		u.order.Remove(oldest)
		delete(u.byKey, job.key)
	}
	u.count.Store(int64(len(u.byKey)))
}
