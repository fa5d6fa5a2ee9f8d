package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// A minute is longer than any case, so a lease of it never ends by itself.
const minute = time.Minute

// units are the short leases that a case is tried with: should the machine
// take longer between two calls than a lease lasts, the next one decides.
var units = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1600 * time.Millisecond}

var (
	errCannotRun = errors.New("the harness lacks a field")
	errTooSlow   = errors.New("the machine is too slow: leases end before the answers come")
)

// run returns nil if the store keeps the rule.
func (c testCase) run(fresh func() Harness) error {
	for _, unit := range units {
		h := fresh()
		if !h.has(c.needs) {
			return errCannotRun
		}
		p := &probe{Harness: h, ctx: context.Background(), unit: unit, started: time.Now()}
		c.check(p)
		if !p.slow {
			return p.err
		}
	}
	return errTooSlow
}

// probe makes calls and compares the answers. The first answer that is wrong
// is kept, and what follows it does nothing, so that cases are plain lists of
// calls.
type probe struct {
	Harness
	ctx  context.Context
	unit time.Duration

	started  time.Time
	advanced time.Duration
	calls    []string
	err      error
	slow     bool
}

// failf reports a broken rule, with the calls that led there.
func (p *probe) failf(format string, args ...any) {
	if p.err != nil {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, format, args...)
	if len(p.calls) > 0 {
		b.WriteString("\n\nafter\n")
		for _, c := range p.calls {
			b.WriteString("  " + c + "\n")
		}
	}
	p.err = errors.New(b.String())
}

// now is the time since the case began, as the store should see it.
func (p *probe) now() time.Duration {
	if p.Advance != nil {
		return p.advanced
	}
	return time.Since(p.started)
}

// wait lets d pass.
func (p *probe) wait(d time.Duration) {
	if p.err != nil {
		return
	}
	p.calls = append(p.calls, fmt.Sprintf("%s passed", d))
	if p.Advance != nil {
		p.Advance(d)
		p.advanced += d
		return
	}
	// A server that counts whole milliseconds may end a lease one late.
	time.Sleep(d + 2*time.Millisecond)
}

// waitUntil lets time pass until t, if it has not come yet.
func (p *probe) waitUntil(t time.Duration) {
	d := t - p.now()
	if p.err != nil || d <= 0 {
		return
	}
	if p.Advance != nil {
		p.Advance(d)
		p.advanced += d
		return
	}
	time.Sleep(d)
}

// before makes calls whose answers only count if they came before end.
func (p *probe) before(end time.Duration, calls func()) {
	if p.err != nil {
		return
	}
	calls()
	if p.err != nil && p.now() >= end {
		p.slow = true
	}
}

func (p *probe) claim(key store.Key, token string, lease time.Duration, want store.State) {
	if p.err != nil {
		return
	}
	got, err := p.Store.Claim(p.ctx, key, token, lease)
	p.answer(describe("Claim", key, token, lease), got.State, err, want)
	p.wellFormed(got)
}

func (p *probe) renew(key store.Key, token string, lease time.Duration, want store.State) {
	if p.err != nil {
		return
	}
	got, err := p.Store.Renew(p.ctx, key, token, lease)
	p.answer(describe("Renew", key, token, lease), got, err, want)
}

func (p *probe) complete(key store.Key, token string, retention time.Duration, want store.State) {
	if p.err != nil {
		return
	}
	got, err := p.Store.Complete(p.ctx, key, token, retention)
	p.answer(describe("Complete", key, token, retention), got, err, want)
}

func (p *probe) release(key store.Key, token string, want store.State) {
	if p.err != nil {
		return
	}
	got, err := p.Store.Release(p.ctx, key, token)
	p.answer(describe("Release", key, token, 0), got, err, want)
}

// stays checks the state of a key as a stranger sees it, without changing it.
func (p *probe) stays(key store.Key, want store.State) {
	p.release(key, "a stranger", want)
}

func (p *probe) answer(call string, got store.State, err error, want store.State) {
	switch {
	case err != nil:
		p.failf("%s failed: %v; want %s", call, err, want)
	case got != want:
		p.failf("%s answered %s, want %s", call, got, want)
	default:
		p.calls = append(p.calls, fmt.Sprintf("%s -> %s", call, got))
	}
}

func (p *probe) wellFormed(c store.Claim) {
	if c.State != store.Acquired && c.Result != nil {
		p.failf("Claim answered %s with a Result, which only the owner may see", c.State)
	}
	if c.State != store.Done && !c.At.IsZero() {
		p.failf("Claim answered %s with a time At, which only a done marker has", c.State)
	}
}

// refused checks that a call failed, with an error that matches want unless
// that is nil, and that the error's text does not show the key.
func (p *probe) refused(call string, key store.Key, err, want error) {
	if p.err != nil {
		return
	}
	switch {
	case err == nil:
		p.failf("%s succeeded, want an error", call)
	case want != nil && !errors.Is(err, want):
		p.failf("%s failed with %q, which does not match %q", call, err, want)
	case key.ID != "" && strings.Contains(err.Error(), key.ID), key.Scope != "" && strings.Contains(err.Error(), key.Scope):
		p.failf("%s failed with an error that shows the key: %q", call, err)
	default:
		p.calls = append(p.calls, call+" -> refused")
	}
}

// race makes n calls at once and returns the states they answered.
func (p *probe) race(n int, call func(i int) (store.State, error)) []store.State {
	if p.err != nil {
		return nil
	}
	states := make([]store.State, n)
	errs := make([]error, n)
	start := make(chan struct{})
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			<-start
			states[i], errs[i] = call(i)
		})
	}
	close(start)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		p.failf("a call in a race of %d failed: %v", n, err)
	}
	return states
}

func (p *probe) claimState(key store.Key, token string, lease time.Duration) (store.State, error) {
	c, err := p.Store.Claim(p.ctx, key, token, lease)
	return c.State, err
}

func describe(method string, key store.Key, token string, d time.Duration) string {
	s := fmt.Sprintf("%s(%s/%s, token %s", method, short(key.Scope), short(key.ID), short(token))
	if method != "Release" {
		s += ", " + d.String()
	}
	return s + ")"
}

func short(s string) string {
	if len(s) > 40 {
		return fmt.Sprintf("%.40q... (%d bytes)", s, len(s))
	}
	return fmt.Sprintf("%q", s)
}

func count(states []store.State, want store.State) int {
	n := 0
	for _, s := range states {
		if s == want {
			n++
		}
	}
	return n
}
