package memstore

import (
	"container/heap"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// forever is the end of a key that outlives the clock's range.
const forever = time.Duration(math.MaxInt64)

// expirePerCall is how many expired keys of each kind one call removes. More
// than one, so that the backlog shrinks while a call adds at most one key.
const expirePerCall = 2

// entry is a live key. It sits in the map of its shard and in the queue of its
// kind.
type entry struct {
	key    store.Key
	token  string        // of a claim
	doneAt time.Duration // of a done marker
	end    time.Duration // end of lease or retention
	queue  *queue        // claims or dones; nil while in neither
	index  int           // in queue
}

type shard struct {
	mu      sync.Mutex
	limit   int // 0 is none
	entries map[store.Key]*entry
	claims  queue
	dones   queue
	// Shards are locked by different cores: keep them on their own cache
	// lines.
	_ [64]byte
}

// find returns the key's entry, if it is live, and its state as token sees it.
func (sh *shard) find(key store.Key, token string, now time.Duration) (*entry, store.State) {
	e := sh.entries[key]
	switch {
	case e == nil:
		return nil, store.Free
	case e.end <= now:
		sh.remove(e)
		return nil, store.Free
	case e.queue == &sh.dones:
		return e, store.Done
	case e.token == token:
		return e, store.Acquired
	default:
		return e, store.Held
	}
}

// add makes room for a new key, or fails with ErrFull.
func (sh *shard) add(key store.Key) (*entry, error) {
	if sh.limit > 0 && len(sh.entries) >= sh.limit {
		if len(sh.dones) == 0 {
			return nil, ErrFull
		}
		sh.remove(sh.dones[0])
	}
	return sh.insert(key), nil
}

// addAnyway adds a key even where the shard is full of live claims.
func (sh *shard) addAnyway(key store.Key) *entry {
	if e, err := sh.add(key); err == nil {
		return e
	}
	return sh.insert(key)
}

func (sh *shard) insert(key store.Key) *entry {
	// A key cut out of a message must not keep the whole message in memory.
	key.ID = strings.Clone(key.ID)
	e := &entry{key: key}
	sh.entries[key] = e
	return e
}

// keep makes e a claim (store.Acquired) or a done marker until end.
func (sh *shard) keep(e *entry, kind store.State, end time.Duration) {
	q := &sh.claims
	if kind == store.Done {
		q = &sh.dones
	}
	e.end = end
	if e.queue == q {
		heap.Fix(q, e.index)
		return
	}
	if e.queue != nil {
		heap.Remove(e.queue, e.index)
	}
	e.queue = q
	heap.Push(q, e)
}

func (sh *shard) remove(e *entry) {
	heap.Remove(e.queue, e.index)
	delete(sh.entries, e.key)
}

// expire removes a few keys whose time has passed.
func (sh *shard) expire(now time.Duration) {
	for _, q := range [...]*queue{&sh.claims, &sh.dones} {
		for range expirePerCall {
			if len(*q) == 0 || (*q)[0].end > now {
				break
			}
			sh.remove((*q)[0])
		}
	}
}

// after adds without overflow.
func after(now, d time.Duration) time.Duration {
	if d > forever-now {
		return forever
	}
	return now + d
}

// queue is a heap of entries, the first to end at its root. Ends mostly grow
// from one entry to the next, so a push rarely moves anything.
type queue []*entry

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].end < q[j].end }
func (q queue) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].index, q[j].index = i, j
}

func (q *queue) Push(x any) {
	e := x.(*entry)
	e.index = len(*q)
	*q = append(*q, e)
}

func (q *queue) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return e
}
