package dedup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"go.uber.org/goleak"

	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	errStore   = errors.New("store is away")
	errHandler = errors.New("handler failed")
)

// hookedStore is a store whose calls a test can count, fail and delay.
type hookedStore struct {
	store.Store

	mu    sync.Mutex
	calls map[string]int
	// before runs before a call and after behind it; an error of either
	// replaces the answer.
	before, after func(ctx context.Context, op string) error
}

func newHookedStore(t *testing.T) *hookedStore {
	t.Helper()
	s, err := memstore.New("test", memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return &hookedStore{Store: s, calls: make(map[string]int)}
}

func (s *hookedStore) called(op string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[op]
}

func (s *hookedStore) hook(before, after func(ctx context.Context, op string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

func hooked[T any](ctx context.Context, s *hookedStore, op string, call func() (T, error)) (T, error) {
	s.mu.Lock()
	s.calls[op]++
	before, after := s.before, s.after
	s.mu.Unlock()
	var none T
	if before != nil {
		if err := before(ctx, op); err != nil {
			return none, err
		}
	}
	answer, err := call()
	if after != nil {
		if err := after(ctx, op); err != nil {
			return none, err
		}
	}
	return answer, err
}

func (s *hookedStore) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (store.Claim, error) {
	return hooked(ctx, s, "claim", func() (store.Claim, error) { return s.Store.Claim(ctx, key, token, lease) })
}

func (s *hookedStore) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) (store.State, error) {
	return hooked(ctx, s, "renew", func() (store.State, error) { return s.Store.Renew(ctx, key, token, lease) })
}

func (s *hookedStore) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	return hooked(ctx, s, "complete", func() (store.State, error) { return s.Store.Complete(ctx, key, token, retention) })
}

func (s *hookedStore) Release(ctx context.Context, key store.Key, token string) (store.State, error) {
	return hooked(ctx, s, "release", func() (store.State, error) { return s.Store.Release(ctx, key, token) })
}

// failing fails the named operations.
func failing(ops ...string) func(context.Context, string) error {
	return func(_ context.Context, op string) error {
		for _, o := range ops {
			if o == op {
				return errStore
			}
		}
		return nil
	}
}

// hanging has the named operation wait until its context ends or resume does,
// as a client does whose server has stopped.
func hanging(op string, resume <-chan struct{}) func(context.Context, string) error {
	return func(ctx context.Context, called string) error {
		if called != op {
			return nil
		}
		select {
		case <-resume:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// outcomes collects what an observer is told.
type outcomes struct {
	mu  sync.Mutex
	all []Outcome
}

func (o *outcomes) ObservePass(p Pass) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, p.Outcome)
}

func (o *outcomes) want(t *testing.T, want ...Outcome) {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) != len(want) {
		t.Fatalf("outcomes are %v, want %v", o.all, want)
	}
	for i := range want {
		if o.all[i] != want[i] {
			t.Fatalf("outcomes are %v, want %v", o.all, want)
		}
	}
}

// testConfig has a lease of 3 s, so renewals are due every second.
func testConfig() Config {
	return Config{
		Retention: time.Hour,
		Lease:     3 * time.Second,
		Scope:     func(string) string { return "test" },
	}
}

func byJob(msg *message.Message) (string, error) { return msg.Metadata["job"], nil }

func newTestDedup(t *testing.T, s store.Store, cfg Config) (*Dedup, *outcomes) {
	t.Helper()
	seen := &outcomes{}
	cfg.Observer = seen
	d, err := Leased(s, byJob, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return d, seen
}

func closeDedup(t *testing.T, d *Dedup) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := d.Close(ctx); err != nil {
		t.Errorf("could not close: %v", err)
	}
}

// newCopy returns a delivery of a job: every one is a message of its own.
func newCopy(job string) *message.Message {
	msg := message.NewMessage("uuid of a copy", []byte("payload"))
	msg.Metadata["job"] = job
	return msg
}

// counting returns a handler that counts its runs.
func counting(runs *int) message.HandlerFunc {
	return func(*message.Message) ([]*message.Message, error) {
		*runs++
		return nil, nil
	}
}

// logs collects what is logged.
type logs struct {
	mu    sync.Mutex
	lines []string
}

func (l *logs) add(level, msg string, err error, fields watermill.LogFields) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, fmt.Sprint(level, ": ", msg, " ", err, " ", fields))
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func (l *logs) Error(msg string, err error, f watermill.LogFields) { l.add("error", msg, err, f) }
func (l *logs) Info(msg string, f watermill.LogFields)             { l.add("info", msg, nil, f) }
func (l *logs) Debug(msg string, f watermill.LogFields)            { l.add("debug", msg, nil, f) }
func (l *logs) Trace(msg string, f watermill.LogFields)            { l.add("trace", msg, nil, f) }
func (l *logs) With(watermill.LogFields) watermill.LoggerAdapter   { return l }
