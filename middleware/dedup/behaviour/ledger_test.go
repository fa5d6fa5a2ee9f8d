package behaviour_test

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// jobField is the metadata field of the business key.
const jobField = "job"

// ledger is what an observer outside the middleware saw happen.
type ledger struct {
	mu        sync.Mutex
	published map[string]int // copies by job
	effects   map[string]int
	runs      map[string]int
	delivered map[string]int
	acked     int
	nacked    int
	// recorded are the jobs known to be done in the store; nil if the test
	// does not watch that.
	recorded map[string]bool
	// undone are the jobs of which a copy was acked too early: before any
	// effect, or before the record.
	undone map[string]bool
}

func newLedger() *ledger {
	return &ledger{
		published: map[string]int{},
		effects:   map[string]int{},
		runs:      map[string]int{},
		delivered: map[string]int{},
		undone:    map[string]bool{},
	}
}

func (l *ledger) note(change func(l *ledger)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(l)
}

// run notes a start of the job's handler and returns how many there were.
func (l *ledger) run(job string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[job]++
	return l.runs[job]
}

func (l *ledger) effect(job string) {
	l.note(func(l *ledger) { l.effects[job]++ })
}

// counts is a ledger's sum.
type counts struct{ delivered, acked, nacked, runs, effects int }

func (l *ledger) counts() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return counts{sum(l.delivered), l.acked, l.nacked, sum(l.runs), sum(l.effects)}
}

// wrong returns how many jobs had no effect, and how many effects there were
// beyond each job's first.
func (l *ledger) wrong() (missing, duplicates int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for job := range l.published {
		if l.effects[job] == 0 {
			missing++
		}
	}
	for _, n := range l.effects {
		duplicates += n - 1
	}
	return missing, duplicates
}

func (l *ledger) ackedUndone() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Sorted(maps.Keys(l.undone))
}

func sum(of map[string]int) (n int) {
	for _, v := range of {
		n += v
	}
	return n
}

// witness is a subscriber that enters every delivery and its answer in the
// ledger.
type witness struct {
	message.Subscriber
	ledger *ledger
	ended  <-chan struct{}
}

func (w witness) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	in, err := w.Subscriber.Subscribe(ctx, topic)
	if err != nil {
		return nil, err
	}
	out := make(chan *message.Message)
	go func() {
		defer close(out)
		for msg := range in {
			job := msg.Metadata.Get(jobField)
			w.ledger.note(func(l *ledger) { l.delivered[job]++ })
			go w.watch(msg, job)
			select {
			case out <- msg:
			case <-ctx.Done():
				for range in {
				}
				return
			}
		}
	}()
	return out, nil
}

func (w witness) watch(msg *message.Message, job string) {
	select {
	case <-msg.Acked():
		w.ledger.note(func(l *ledger) {
			l.acked++
			if l.effects[job] == 0 || l.recorded != nil && !l.recorded[job] {
				l.undone[job] = true
			}
		})
	case <-msg.Nacked():
		w.ledger.note(func(l *ledger) { l.nacked++ })
	case <-w.ended:
	}
}
