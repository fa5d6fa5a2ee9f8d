package behaviour_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
)

// instance is a middleware under test, and what its observer was told.
type instance struct {
	*dedup.Dedup

	mu         sync.Mutex
	passes     int
	outcomes   map[dedup.Outcome]int
	ackedEarly int
	longest    time.Duration // wait for a claim
	// unrestored counts the passes after which the message had not got its
	// context back.
	unrestored int
}

func (i *instance) ObservePass(p dedup.Pass) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.outcomes[p.Outcome]++
	i.longest = max(i.longest, p.Waited)
	if p.AckedEarly {
		i.ackedEarly++
	}
}

// wrap is the middleware with its passes counted.
func (i *instance) wrap(h message.HandlerFunc) message.HandlerFunc {
	h = i.Middleware(h)
	return func(msg *message.Message) ([]*message.Message, error) {
		i.mu.Lock()
		i.passes++
		i.mu.Unlock()
		ctx := msg.Context()
		defer func() {
			if msg.Context() != ctx {
				i.mu.Lock()
				i.unrestored++
				i.mu.Unlock()
			}
		}()
		return h(msg)
	}
}

func (i *instance) count(o dedup.Outcome) int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.outcomes[o]
}

// expect checks how often each given outcome was observed.
func (i *instance) expect(t *testing.T, want map[dedup.Outcome]int) {
	t.Helper()
	for o, n := range want {
		if got := i.count(o); got != n {
			t.Errorf("outcome %s was observed %d times, want %d (all: %s)", o, got, n, i)
		}
	}
}

// only checks that no other outcome than the given ones was observed.
func (i *instance) only(t *testing.T, allowed ...dedup.Outcome) {
	t.Helper()
	total := 0
	for _, o := range allowed {
		total += i.count(o)
	}
	if _, observed := i.sums(); total != observed {
		t.Errorf("%d of %d passes ended as %v, want all (all: %s)", total, observed, allowed, i)
	}
}

func (i *instance) sums() (passes, observed int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, n := range i.outcomes {
		observed += n
	}
	return i.passes, observed
}

func (i *instance) String() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var all []string
	for _, o := range dedup.Outcomes() {
		if n := i.outcomes[o]; n > 0 {
			all = append(all, fmt.Sprintf("%s %d", o, n))
		}
	}
	return strings.Join(all, ", ")
}

// verify checks what holds for every pass of every test.
func (i *instance) verify(t *testing.T) {
	t.Helper()
	passes, observed := i.sums()
	// A router's Close can miss a message that arrives meanwhile, and return
	// while its handler runs.
	for limit := time.Now().Add(patience); passes != observed && time.Now().Before(limit); time.Sleep(5 * time.Millisecond) {
		passes, observed = i.sums()
	}
	if passes != observed {
		t.Errorf("%d passes gave %d outcomes, want one each: %s", passes, observed, i)
	}
	if i.unrestored > 0 {
		t.Errorf("after %d of %d passes the message had not got its context back", i.unrestored, passes)
	}
}
