package redisstore_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestValues(t *testing.T) {
	t.Parallel()
	addr := testserver.SharedRedis(t).Addr
	raw := newClient(t, addr)
	namespace := randomNamespace()
	s := open(t, addr, namespace)
	ctx := t.Context()
	name := "dedup:" + namespace + ":consumer:job-1"

	expect := func(pattern string, ttl time.Duration) {
		t.Helper()
		value, err := raw.Get(ctx, name).Result()
		if err != nil || !regexp.MustCompile(pattern).MatchString(value) {
			t.Errorf("value is %q, %v, want it to match %s", value, err, pattern)
		}
		if got := raw.PTTL(ctx, name).Val(); got > ttl || got < ttl-time.Minute {
			t.Errorf("time to live is %s, want nearly %s", got, ttl)
		}
	}

	if _, err := s.Claim(ctx, job, strings.Repeat("long token ", 100), time.Hour); err != nil {
		t.Fatal(err)
	}
	expect(`^1C[A-Za-z0-9_-]{22}$`, time.Hour)
	if _, err := s.Complete(ctx, job, "b", 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	expect(`^1D[0-9]{10}:[0-9]{1,6}$`, 24*time.Hour)

	c, err := s.Claim(ctx, job, "b", time.Hour)
	if err != nil || c.State != store.Done || time.Since(c.At).Abs() > time.Minute {
		t.Errorf("got %s at %s, %v, want done just now", c.State, c.At, err)
	}
}

// What is written by hand, by an operator or by another version, is read as
// the rules say.
func TestOddValues(t *testing.T) {
	t.Parallel()
	addr := testserver.SharedRedis(t).Addr
	raw := newClient(t, addr)
	namespace := randomNamespace()
	s := open(t, addr, namespace)
	ctx := t.Context()

	owner := strings.Repeat("o", 22)
	for value, want := range map[string]struct {
		state store.State
		at    time.Time
	}{
		"1C" + owner:       {state: store.Held},
		"1C" + owner + "x": {state: store.Held},
		"1C":               {state: store.Held},
		"2C" + owner:       {state: store.Held},
		"1X" + owner:       {state: store.Held},
		"":                 {state: store.Held},
		"1":                {state: store.Held},
		"D":                {state: store.Held},
		"1D1000000000:7":   {store.Done, time.Unix(1_000_000_000, 7000)},
		"1D":               {state: store.Done},
		"1D1000000000":     {state: store.Done},
		"1D1:1000000":      {state: store.Done},
		"1Dx:y":            {state: store.Done},
		"2D1000000000:7":   {state: store.Done},
		"\xffD\x00\x01":    {state: store.Done},
	} {
		key := store.Key{Scope: "odd", ID: value}
		name := "dedup:" + namespace + ":odd:" + value
		if err := raw.Set(ctx, name, value, time.Minute).Err(); err != nil {
			t.Fatal(err)
		}
		c, err := s.Claim(ctx, key, "a", time.Minute)
		if err != nil || c.State != want.state || !c.At.Equal(want.at) {
			t.Errorf("claim of %q: got %s at %s, %v, want %s at %s", value, c.State, c.At, err, want.state, want.at)
		}
	}

	// Another program's key is an error, never a free key.
	if err := raw.LPush(ctx, "dedup:"+namespace+":odd:list", "x").Err(); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Scope: "odd", ID: "list"}
	for name, call := range map[string]func(context.Context) error{
		"Claim":    func(ctx context.Context) error { _, err := s.Claim(ctx, key, "a", time.Minute); return err },
		"Renew":    func(ctx context.Context) error { _, err := s.Renew(ctx, key, "a", time.Minute); return err },
		"Complete": func(ctx context.Context) error { _, err := s.Complete(ctx, key, "a", time.Minute); return err },
		"Release":  func(ctx context.Context) error { _, err := s.Release(ctx, key, "a"); return err },
	} {
		if err := call(ctx); err == nil || !strings.Contains(err.Error(), "WRONGTYPE") {
			t.Errorf("%s of a list: got %v, want an error", name, err)
		}
	}
}

// The server needs no permission beyond those README.md lists.
func TestPermissions(t *testing.T) {
	t.Parallel()
	addr := testserver.SharedRedis(t).Addr
	admin := newClient(t, addr)
	namespace := randomNamespace()
	args := []any{"ACL", "SETUSER", namespace}
	for rule := range strings.FieldsSeq(strings.ReplaceAll(documentedACL(t), "billing", namespace)) {
		args = append(args, rule)
	}
	if err := admin.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { admin.Do(context.Background(), "ACL", "DELUSER", namespace) })

	s := openAs(t, addr, namespace, "secret", namespace)
	ctx := t.Context()
	for range 2 { // EVAL the first time, EVALSHA the second
		if _, err := s.Claim(ctx, job, "a", time.Minute); err != nil {
			t.Error(err)
		}
		if _, err := s.Renew(ctx, job, "a", time.Minute); err != nil {
			t.Error(err)
		}
		if _, err := s.Release(ctx, job, "a"); err != nil {
			t.Error(err)
		}
	}
	if _, err := s.Complete(ctx, job, "a", time.Minute); err != nil {
		t.Error(err)
	}
	if _, err := s.Check(ctx); err != nil {
		t.Error(err)
	}

	elsewhere := openAs(t, addr, namespace, "secret", "somebody-else")
	secret := store.Key{Scope: "consumer", ID: "jane.doe@example.com"}
	if _, err := elsewhere.Claim(ctx, secret, "a", time.Minute); err == nil || strings.Contains(err.Error(), secret.ID) {
		t.Errorf("a key without permission: got %v, want an error that does not show it", err)
	}
}

// documentedACL returns the rules of the user in README.md.
func documentedACL(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)^ACL SETUSER dedup (on .*)$`).FindSubmatch(readme)
	if rules == nil {
		t.Fatal("README.md has no ACL SETUSER")
	}
	return string(rules[1])
}
