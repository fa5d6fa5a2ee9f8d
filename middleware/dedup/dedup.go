package dedup

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// mode is what a claim means for the handler.
type mode int

const (
	modeLeased mode = iota
	modeAtMostOnce
	modeObserve
)

// Dedup is the middleware. It is safe for concurrent use by any number of
// handlers and routers.
type Dedup struct {
	mode      mode
	store     store.Store
	namespace string
	local     bool
	key       keyextract.Func
	cfg       Config
	logger    watermill.LoggerAdapter

	outage outage
	// unrecorded are jobs whose effect happened while the store could not
	// record it.
	unrecorded jobMemory
	// unanswered are jobs of AtMostOnce whose claim got no answer.
	unanswered jobMemory
	releaser   releaser
	names      handlerNames
	tasks      tasks

	closeOnce   sync.Once
	closing     chan struct{} // closed by Close
	abandonOnce sync.Once
	abandon     chan struct{} // closed when Close stops waiting
}

// Leased returns a middleware for effects outside the store's database: a
// message is claimed with a lease before its handler runs and recorded as done
// after it. No message is lost. An effect is repeated only when the process
// dies or stalls beyond its lease between the effect and the record, or when
// the store loses or cannot take the record; where the effect's service
// accepts one, IdempotencyKey closes that gap too.
//
// s, key and cfg.Retention are required; a nil logger logs nothing. Every
// error matches ErrInvalidConfig and names the argument or field. The
// constructor does no I/O and starts no goroutine.
func Leased(s store.Store, key keyextract.Func, cfg Config, logger watermill.LoggerAdapter) (*Dedup, error) {
	return newDedup(modeLeased, s, key, cfg, logger)
}

func newDedup(m mode, s store.Store, key keyextract.Func, cfg Config, logger watermill.LoggerAdapter) (*Dedup, error) {
	if s == nil {
		return nil, fmt.Errorf("%w: store is nil", ErrInvalidConfig)
	}
	if !reflect.TypeOf(s).Comparable() {
		return nil, fmt.Errorf("%w: store of type %T cannot be compared, pass a pointer", ErrInvalidConfig, s)
	}
	if key == nil {
		return nil, fmt.Errorf("%w: key is nil", ErrInvalidConfig)
	}
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	if logger == nil {
		logger = watermill.NopLogger{}
	}
	d := &Dedup{
		mode:    m,
		store:   s,
		key:     key,
		cfg:     cfg,
		logger:  logger,
		outage:  outage{logger: logger, calm: cfg.Lease},
		names:   handlerNames{logger: logger},
		closing: make(chan struct{}),
		abandon: make(chan struct{}),
	}
	if named, ok := s.(store.Namespacer); ok {
		d.namespace = named.Namespace()
	}
	_, d.local = s.(store.Local)
	return d, nil
}

// Middleware wraps a handler; give it to router.AddMiddleware for all handlers
// or to a handler's AddMiddleware for one. What stands outside it should be
// Recoverer and PoisonQueue, what stands inside Limit, Retry and Timeout, in
// that order.
func (d *Dedup) Middleware(h message.HandlerFunc) message.HandlerFunc {
	var named sync.Once
	return func(msg *message.Message) ([]*message.Message, error) {
		return newPass(d, msg, h, &named).run()
	}
}

// Close ends the waiting of copies, which are nacked, and waits until the jobs
// whose messages the router has published are recorded as done. Call it after
// the router's Close, which does not wait for that step. A message that still
// arrives is handled as before, but waits for nothing.
//
// When ctx ends first, Close gives up what is left, which may run again, and
// returns an error that wraps ctx's, at most Config.StoreTimeout later, after
// the calls to the store under way. From then on a job whose handler returned
// messages is only recorded if they are published already. It may be called
// more than once.
func (d *Dedup) Close(ctx context.Context) error {
	d.closeOnce.Do(func() { close(d.closing) })

	idle, _ := d.tasks.wait()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	idle, left := d.tasks.wait()
	if left == 0 {
		return nil
	}
	d.abandonOnce.Do(func() { close(d.abandon) })
	timeout := time.NewTimer(d.cfg.StoreTimeout)
	defer timeout.Stop()
	select {
	case <-idle:
	case <-timeout.C:
	}
	return fmt.Errorf("could not record the jobs of %d messages as done: %w", left, context.Cause(ctx))
}

// storeContext returns a context for one call to the store. parent's values
// are kept and its end is not: a router's Timeout or a closing subscriber ends
// the message's context exactly when the claim has to be settled. A store in
// memory waits for nothing and needs neither.
func (d *Dedup) storeContext(parent context.Context) (context.Context, context.CancelFunc) {
	if d.local {
		return context.Background(), func() {}
	}
	return context.WithTimeout(context.WithoutCancel(parent), d.cfg.StoreTimeout)
}
