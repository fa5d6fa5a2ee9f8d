package dedup

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/components/delay"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestMissingKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		policy   MissingKeyPolicy
		runs     int
		isError  bool
		duration time.Duration
	}{
		"error":   {MissingKeyError, 0, true, 100 * time.Millisecond},
		"process": {MissingKeyProcess, 1, false, 0},
		"drop":    {MissingKeyDrop, 0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newHookedStore(t)
				cfg := testConfig()
				cfg.MissingKey = c.policy
				d, seen := newTestDedup(t, s, cfg)
				runs := 0
				start := time.Now()
				_, err := d.Middleware(counting(&runs))(newCopy(""))
				if (err != nil) != c.isError || runs != c.runs || time.Since(start) != c.duration || len(s.calls) != 0 {
					t.Errorf("returned %v after %s and %d runs with calls %v", err, time.Since(start), runs, s.calls)
				}
				seen.want(t, MissingKey)
			})
		})
	}
}

func TestEmptyScopeIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		cfg.Scope = nil
		cfg.MissingKey = MissingKeyProcess
		d, seen := newTestDedup(t, newHookedStore(t), cfg)
		runs := 0
		if _, err := d.Middleware(counting(&runs))(newCopy("1")); !errors.Is(err, ErrNoScope) || runs != 0 {
			t.Errorf("returned %v after %d runs, want ErrNoScope and none", err, runs)
		}
		seen.want(t, MissingKey)
	})
}

func TestALostLeaseIsLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newHookedStore(t)
		s.hook(failing("renew"), nil)
		logged := &logs{}
		d, err := Leased(s, byJob, testConfig(), logged)
		if err != nil {
			t.Fatal(err)
		}
		h := d.Middleware(func(*message.Message) ([]*message.Message, error) {
			time.Sleep(4 * time.Second)
			return nil, nil
		})
		if _, err := h(newCopy("secret")); err != nil {
			t.Fatal(err)
		}
		if text := logged.String(); !strings.Contains(text, "may have run twice") || strings.Contains(text, "secret") {
			t.Errorf("log is %q", text)
		}
	})
}

func TestTheLogDoesNotShowTheKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cfg := testConfig()
		logged := &logs{}
		d, err := Leased(newHookedStore(t), byJob, cfg, logged)
		if err != nil {
			t.Fatal(err)
		}
		h := d.Middleware(func(msg *message.Message) ([]*message.Message, error) {
			return nil, msg.Context().Err()
		})
		for range 2 {
			if _, err := h(newCopy("secret")); err != nil {
				t.Fatal(err)
			}
		}
		if text := logged.String(); text == "" || strings.Contains(text, "secret") {
			t.Errorf("log is %q", text)
		}
	})
}

// A subscriber that delivers a message whose time is over delivers it again at
// once when it is nacked.
func TestMessageWhoseTimeIsOverDoesNotSpin(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Outcome{"held": Held, "store error": StoreError, "missing key": MissingKey, "limited": Held} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newHookedStore(t)
				d, seen := newTestDedup(t, s, testConfig())
				job := "1"
				inner := counting(new(int))
				switch name {
				case "held":
					if _, err := s.Store.Claim(t.Context(), store.Key{Scope: "test", ID: "1"}, "another", time.Minute); err != nil {
						t.Fatal(err)
					}
				case "store error":
					s.hook(failing("claim"), nil)
				case "missing key":
					job = ""
				case "limited":
					inner = Limit(1)(func(msg *message.Message) ([]*message.Message, error) {
						time.Sleep(time.Hour)
						return nil, nil
					})
					go inner(newCopy("another"))
					synctest.Wait()
				}
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				msg := newCopy(job)
				msg.SetContext(ctx)
				start := time.Now()
				_, _ = d.Middleware(inner)(msg)
				if kept := time.Since(start); kept != spinPause {
					t.Errorf("message went back after %s, want %s", kept, spinPause)
				}
				seen.want(t, want)
				closeDedup(t, d)
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

func TestMissingKeyPolicyIsNotForOtherErrors(t *testing.T) {
	t.Parallel()
	for _, policy := range []MissingKeyPolicy{MissingKeyProcess, MissingKeyDrop} {
		cfg := testConfig()
		cfg.MissingKey = policy
		errRegistry := errors.New("schema registry is away")
		d, err := Leased(newHookedStore(t), func(*message.Message) (string, error) { return "", errRegistry }, cfg, nil)
		if err != nil {
			t.Fatal(err)
		}
		runs := 0
		if _, err := d.Middleware(counting(&runs))(newCopy("1")); !errors.Is(err, errRegistry) || runs != 0 {
			t.Errorf("policy %d: returned %v after %d runs", policy, err, runs)
		}
	}
}

func TestPanickingExtractorIsAMissingKey(t *testing.T) {
	t.Parallel()
	seen := &outcomes{}
	cfg := testConfig()
	cfg.Observer = seen
	d, err := Leased(newHookedStore(t), func(*message.Message) (string, error) { panic("extractor") }, cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	func() {
		defer func() {
			if got := recover(); got != "extractor" {
				t.Errorf("recovered %v", got)
			}
		}()
		_, _ = d.Middleware(counting(new(int)))(newCopy("1"))
	}()
	seen.want(t, MissingKey)
}

func TestPanicIsTheRoutersToAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, _ := newTestDedup(t, newHookedStore(t), testConfig())
		msg := newCopy("1")
		func() {
			defer func() { _ = recover() }()
			_, _ = d.Middleware(func(*message.Message) ([]*message.Message, error) { panic("handler") })(msg)
		}()
		time.Sleep(time.Minute) // a Retry outside may wait longer than a lease
		if nacked(msg) {
			t.Error("nacked although a middleware outside may be about to retry")
		}
	})
}

func TestInnerInstanceWithAnotherKeyHasItsOwnToken(t *testing.T) {
	t.Parallel()
	s := newHookedStore(t)
	outer, _ := newTestDedup(t, s, testConfig())
	cfg := testConfig()
	cfg.Scope = func(string) string { return "inner" }
	inner, _ := newTestDedup(t, s, cfg)
	var tokens []string
	collect := func(next message.HandlerFunc) message.HandlerFunc {
		return func(msg *message.Message) ([]*message.Message, error) {
			tokens = append(tokens, deliveryFrom(msg).token)
			return next(msg)
		}
	}
	h := outer.Middleware(collect(inner.Middleware(collect(counting(new(int))))))
	if _, err := h(newCopy("1")); err != nil {
		t.Fatal(err)
	}
	if len(tokens) != 2 || tokens[0] == tokens[1] {
		t.Errorf("tokens are %q: a background release of the inner claim could free one taken again", tokens)
	}
}

// The README tells users to place DelayOnError outside.
func TestDelayOnErrorInsideIsUndone(t *testing.T) {
	t.Parallel()
	failing := func(*message.Message) ([]*message.Message, error) { return nil, errHandler }
	delayed := middleware.DelayOnError{InitialInterval: time.Second, MaxInterval: time.Minute, Multiplier: 2}
	d, _ := newTestDedup(t, newHookedStore(t), testConfig())
	for name, c := range map[string]struct {
		h    message.HandlerFunc
		kept bool
	}{
		"inside":  {d.Middleware(delayed.Middleware(failing)), false},
		"outside": {delayed.Middleware(d.Middleware(failing)), true},
	} {
		msg := newCopy(name)
		_, _ = c.h(msg)
		if kept := msg.Metadata.Get(delay.DelayedForKey) != ""; kept != c.kept {
			t.Errorf("%s: the delay is on the message: %t, want %t", name, kept, c.kept)
		}
	}
}
