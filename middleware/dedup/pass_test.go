package dedup

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
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
