package behaviour_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store"
)

// secret is part of every business key, so that one found in a log stands out.
const secret = "secret-"

// patience is how long a test waits for what must happen.
const patience = 20 * time.Second

// handlerName is the handler, and with it the scope and consumer group, of the
// tests that need only one.
const handlerName = "charge"

// crowd is how many copies make sure that two of them are in flight: one
// subscription of Redis Streams takes three, two of them in advance.
const crowd = 4

// rig is one consumer process as far as Watermill is concerned: a router, its
// handlers, and the instances of the middleware between them.
type rig struct {
	t      *testing.T
	ps     *pubSub
	store  store.Store
	ledger *ledger
	router *message.Router

	// subscriptions is how many messages are in flight on a Pub/Sub that hands
	// out one at a time.
	subscriptions int
	// noWake leaves out the plugin that wakes waiting copies.
	noWake bool
	// acksUndone says that this test acks jobs that had no effect.
	acksUndone bool

	logs, routerLogs *logs
	instances        []*instance
	gates            []*gate
	publisher        message.Publisher
	started          bool
	stop             context.CancelFunc
	stopped          chan struct{}
	ended            chan struct{}
	closing          sync.Once
}

func newRig(t *testing.T, ps *pubSub) *rig {
	t.Helper()
	r := &rig{
		t: t, ps: ps, store: ps.store, ledger: newLedger(),
		subscriptions: 4,
		logs:          &logs{}, routerLogs: &logs{},
		stopped: make(chan struct{}), ended: make(chan struct{}),
		publisher: ps.publisher(),
	}
	var err error
	r.router, err = message.NewRouter(message.RouterConfig{CloseTimeout: patience / 2}, r.routerLogs)
	noError(t, err)
	t.Cleanup(r.close)
	return r
}

// successor is the process that takes over: the same Pub/Sub, store and
// ledger, a new router and new instances.
func (r *rig) successor() *rig {
	next := newRig(r.t, r.ps)
	next.store, next.ledger = r.store, r.ledger
	return next
}

// jobKey is the extractor of most tests.
func jobKey(msg *message.Message) (string, error) {
	if key := msg.Metadata.Get(jobField); key != "" {
		return key, nil
	}
	return "", keyextract.ErrNoKey
}

type mode func(store.Store, keyextract.Func, dedup.Config, watermill.LoggerAdapter) (*dedup.Dedup, error)

// instance builds a middleware whose outcomes are counted.
func (r *rig) instance(m mode, key keyextract.Func, change ...func(*dedup.Config)) *instance {
	r.t.Helper()
	i := &instance{outcomes: map[dedup.Outcome]int{}}
	cfg := dedup.Config{Retention: time.Hour, Observer: i}
	for _, c := range change {
		c(&cfg)
	}
	var err error
	i.Dedup, err = m(r.store, key, cfg, r.logs)
	noError(r.t, err)
	r.instances = append(r.instances, i)
	return i
}

func (r *rig) leased(change ...func(*dedup.Config)) *instance {
	r.t.Helper()
	return r.instance(dedup.Leased, jobKey, change...)
}

// subscriber returns a subscriber with several messages in flight.
func (r *rig) subscriber(group string) message.Subscriber {
	sub := message.Subscriber(witness{r.ps.subscriber(group), r.ledger, r.ended})
	if r.ps.oneInFlight {
		return dedup.Subscriptions(sub, r.subscriptions)
	}
	return sub
}

// consume adds the handler; the first middleware is the outermost.
func (r *rig) consume(h message.NoPublishHandlerFunc, mw ...message.HandlerMiddleware) {
	r.consumeAs(handlerName, r.ps.topic, h, mw...)
}

func (r *rig) consumeAs(name, topic string, h message.NoPublishHandlerFunc, mw ...message.HandlerMiddleware) {
	r.router.AddConsumerHandler(name, topic, r.subscriber(name), h).AddMiddleware(mw...)
}

// produce adds the handler, whose messages go to out.
func (r *rig) produce(h message.HandlerFunc, out message.Publisher, mw ...message.HandlerMiddleware) {
	r.router.AddHandler(handlerName, r.ps.topic, r.subscriber(handlerName), r.ps.topic+"-out", out, h).AddMiddleware(mw...)
}

func (r *rig) run() {
	r.t.Helper()
	if !r.noWake {
		r.router.AddPlugin(dedup.WakeOnClose)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.started = cancel, true
	go func() {
		defer close(r.stopped)
		if err := r.router.Run(ctx); err != nil {
			r.t.Errorf("router: %v", err)
		}
	}()
	select {
	case <-r.router.Running():
	case <-time.After(patience):
		r.t.Fatal("the router does not start")
	}
}

// publish sends copies of each job, each with a UUID of its own.
func (r *rig) publish(copies int, jobs ...string) {
	r.t.Helper()
	r.publishTo(r.ps.topic, copies, jobs...)
}

func (r *rig) publishTo(topic string, copies int, jobs ...string) {
	r.t.Helper()
	for range copies {
		for _, job := range jobs {
			msg := newJob(secret + job)
			r.ledger.note(func(l *ledger) { l.published[secret+job]++ })
			noError(r.t, r.publisher.Publish(topic, msg))
		}
	}
}

func newJob(key string) *message.Message {
	msg := message.NewMessage(watermill.NewUUID(), []byte(`{"amount":100}`))
	msg.Metadata.Set(jobField, key)
	return msg
}

// start notes that the message's handler runs and returns the job and the
// number of the run. It reads the key, so a handler calls it first.
func (r *rig) start(msg *message.Message) (job string, run int) {
	job = msg.Metadata.Get(jobField)
	return job, r.ledger.run(job)
}

// work is a handler that takes a time and has its effect at the end.
func (r *rig) work(d time.Duration) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		job, _ := r.start(msg)
		time.Sleep(d)
		r.ledger.effect(job)
		return nil
	}
}

// await waits until something is so.
func (r *rig) await(what string, is func() bool) {
	r.t.Helper()
	for limit := time.Now().Add(patience); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(limit) {
			missing, duplicates := r.ledger.wrong()
			r.t.Fatalf("gave up waiting until %s: %+v, %d missing, %d duplicates, outcomes %v",
				what, r.ledger.counts(), missing, duplicates, r.instances)
		}
	}
}

// sendBackFirst is a middleware that nacks each of the first n messages once,
// so that what comes inside are redeliveries.
func (r *rig) sendBackFirst(n int64) message.HandlerMiddleware {
	var sent sync.Map
	var count atomic.Int64
	return func(h message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			if _, again := sent.LoadOrStore(msg.UUID, true); !again && count.Add(1) <= n {
				msg.Nack()
				return nil, nil
			}
			return h(msg)
		}
	}
}

// awaitAcks waits until n messages are acked.
func (r *rig) awaitAcks(n int) {
	r.t.Helper()
	r.await("all messages are acked", func() bool { return r.ledger.counts().acked >= n })
}

// awaitCrowd waits until a crowd's first copy runs and another waits for it.
func (r *rig) awaitCrowd() {
	r.t.Helper()
	r.await("two copies are in flight", func() bool {
		c := r.ledger.counts()
		return c.delivered >= 2 && c.runs > 0
	})
}

// eachOnce checks that every published job had one effect.
func (r *rig) eachOnce() {
	r.t.Helper()
	missing, duplicates := r.ledger.wrong()
	if missing != 0 || duplicates != 0 {
		r.t.Errorf("%d jobs are missing and %d effects are duplicates, want none: %+v, outcomes %v",
			missing, duplicates, r.ledger.counts(), r.instances)
	}
}

// close ends the process in the documented order and checks what holds for
// every test.
func (r *rig) close() { r.closing.Do(r.closeNow) }

func (r *rig) closeNow() {
	r.t.Helper()
	for _, g := range r.gates {
		g.open()
	}
	if r.started {
		if err := r.router.Close(); err != nil {
			r.t.Errorf("could not close the router: %v", err)
		}
		<-r.stopped
		r.stop()
	}
	close(r.ended)
	for _, i := range r.instances {
		ctx, cancel := context.WithTimeout(context.Background(), patience/2)
		if err := i.Close(ctx); err != nil {
			r.t.Errorf("could not close an instance: %v", err)
		}
		cancel()
		i.verify(r.t)
	}
	_ = r.publisher.Close()
	if lines := r.logs.errorsWith(""); r.t.Failed() && len(lines) > 0 {
		r.t.Logf("the middleware logged %d errors, the first: %s", len(lines), lines[0])
	}
	if lines := r.logs.linesWith(secret); len(lines) > 0 {
		r.t.Errorf("a business key was logged: %s", lines[0])
	}
	if jobs := r.ledger.ackedUndone(); len(jobs) > 0 && !r.acksUndone {
		r.t.Errorf("acked before they were done: %v", jobs)
	}
}

// gate holds handlers until it is opened, at the latest at the test's end.
type gate struct {
	once   sync.Once
	opened chan struct{}
}

func (r *rig) gate() *gate {
	g := &gate{opened: make(chan struct{})}
	r.gates = append(r.gates, g)
	return g
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }
func (g *gate) wait() { <-g.opened }
