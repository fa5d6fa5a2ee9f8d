package dedup

import (
	"container/list"
	"sync"
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
	// until is the effect's time plus the retention.
	until time.Time
}

// unrecorded remembers such jobs until a copy comes back and they can be
// recorded. The zero value is ready.
type unrecorded struct {
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
		oldest := u.order.Front()
		delete(u.byKey, u.order.Remove(oldest).(unrecordedJob).key)
	}
	u.byKey[job.key] = u.order.PushBack(job)
}

// take removes and returns the job of key, so that only one copy at a time
// works on it; the caller adds it again if it could not be recorded.
func (u *unrecorded) take(key store.Key) (unrecordedJob, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	element, ok := u.byKey[key]
	if !ok {
		return unrecordedJob{}, false
	}
	delete(u.byKey, key)
	job := u.order.Remove(element).(unrecordedJob)
	return job, time.Now().Before(job.until)
}
