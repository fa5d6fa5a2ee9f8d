package dedup

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

func TestConfigDefaults(t *testing.T) {
	t.Parallel()
	cfg, err := Config{Retention: time.Hour}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Lease != 30*time.Second || cfg.HeldWait != 5*time.Second || cfg.StoreTimeout != 5*time.Second || cfg.PublishTimeout != time.Minute {
		t.Errorf("defaults are %+v", cfg)
	}
	if got := cfg.Scope("mail"); got != "mail" {
		t.Errorf("default scope of handler mail is %q", got)
	}
}

func TestHeldWaitFollowsRedeliverAfter(t *testing.T) {
	t.Parallel()
	for redeliver, want := range map[time.Duration]time.Duration{
		0:                      5 * time.Second,
		time.Minute:            5 * time.Second,
		4 * time.Second:        2 * time.Second,
		150 * time.Millisecond: 100 * time.Millisecond,
	} {
		cfg, err := Config{Retention: time.Hour, RedeliverAfter: redeliver}.withDefaults()
		if err != nil || cfg.HeldWait != want {
			t.Errorf("RedeliverAfter %s gives HeldWait %s, %v; want %s", redeliver, cfg.HeldWait, err, want)
		}
	}
}

func TestConfigErrorsNameTheField(t *testing.T) {
	t.Parallel()
	valid := func(change func(*Config)) Config {
		c := Config{Retention: time.Hour}
		change(&c)
		return c
	}
	for field, cfg := range map[string]Config{
		"Config.Retention is required":     {},
		"Config.Retention must be at":      valid(func(c *Config) { c.Retention = time.Second }),
		"Config.Retention must be longer":  valid(func(c *Config) { c.RedeliverAfter = time.Hour }),
		"Config.Lease must not":            valid(func(c *Config) { c.Lease = -1 }),
		"Config.Lease must be":             valid(func(c *Config) { c.Lease = time.Millisecond }),
		"Config.HeldWait must not":         valid(func(c *Config) { c.HeldWait = -1 }),
		"Config.HeldWait must be at":       valid(func(c *Config) { c.HeldWait = time.Millisecond }),
		"Config.HeldWait (1m0s) must":      valid(func(c *Config) { c.HeldWait = time.Minute; c.RedeliverAfter = time.Minute }),
		"Config.HeldWait (100ms) must":     valid(func(c *Config) { c.RedeliverAfter = 100 * time.Millisecond }),
		"Config.RedeliverAfter must not":   valid(func(c *Config) { c.RedeliverAfter = -1 }),
		"Config.StoreTimeout must not":     valid(func(c *Config) { c.StoreTimeout = -1 }),
		"Config.StoreTimeout (30s) must":   valid(func(c *Config) { c.StoreTimeout = 30 * time.Second }),
		"Config.PublishTimeout must not":   valid(func(c *Config) { c.PublishTimeout = -1 }),
		"Config.MissingKey is not a known": valid(func(c *Config) { c.MissingKey = 7 }),
	} {
		_, err := cfg.withDefaults()
		if !errors.Is(err, ErrInvalidConfig) || !strings.Contains(err.Error(), field) {
			t.Errorf("error is %v, want it to say %q", err, field)
		}
	}
}

// uncomparable cannot be compared, and a nested instance has to.
type uncomparable struct {
	store.Store
	_ []int
}

func TestConstructorRefusesBadArguments(t *testing.T) {
	t.Parallel()
	s, err := memstore.New("test", memstore.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Retention: time.Hour}
	for name, construct := range map[string]func() (*Dedup, error){
		"store is nil":       func() (*Dedup, error) { return Leased(nil, byJob, cfg, nil) },
		"key is nil":         func() (*Dedup, error) { return AtMostOnce(s, nil, cfg, nil) },
		"cannot be compared": func() (*Dedup, error) { return Observe(uncomparable{Store: s}, byJob, cfg, nil) },
	} {
		if _, err := construct(); !errors.Is(err, ErrInvalidConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("error is %v, want it to say %q", err, name)
		}
	}
}
