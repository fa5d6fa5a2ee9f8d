package redisstore

import (
	"strings"
	"testing"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestKeyName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		namespace string
		key       store.Key
		want      string
	}{
		{"billing", store.Key{Scope: "send-invoice", ID: "order-17"}, "dedup:billing:send-invoice:order-17"},
		{"billing", store.Key{}, "dedup:billing::"},
		{"a:b", store.Key{Scope: "c%:d", ID: "e:%f"}, "dedup:a%3Ab:c%25%3Ad:e:%f"},
		{"a", store.Key{Scope: "b\x00{c}", ID: "\xff"}, "dedup:a:b\x00{c}:\xff"},
	} {
		if got := keyName(namespacePrefix(c.namespace), c.key); got != c.want {
			t.Errorf("%q, %q: got %q, want %q", c.namespace, c.key, got, c.want)
		}
	}
}

// FuzzKeyName takes the parts back out of a key, so no two lists of parts have
// one key.
func FuzzKeyName(f *testing.F) {
	f.Add("billing", "send-invoice", "order-17")
	f.Add("a", "b", "c:d")
	f.Add("a:b", "c", "d")
	f.Add("a%3Ab", "%25", "%3A")
	f.Add("", "", "")
	f.Add("\xff\x00", "{}", ":%:")
	unescape := strings.NewReplacer("%25", "%", "%3A", ":").Replace
	f.Fuzz(func(t *testing.T, namespace, scope, id string) {
		name := keyName(namespacePrefix(namespace), store.Key{Scope: scope, ID: id})
		parts := strings.SplitN(name, ":", 4)
		if len(parts) != 4 || parts[0]+":" != keyPrefix {
			t.Fatalf("key %q has no four parts", name)
		}
		if unescape(parts[1]) != namespace || unescape(parts[2]) != scope || parts[3] != id {
			t.Errorf("key %q reads as %q, want %q, %q, %q", name, parts, namespace, scope, id)
		}
	})
}

func TestClaimValue(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "a", strings.Repeat("x", 10_000)} {
		if got := claimValue(token); len(got) != claimLen || got != claimValue(token) {
			t.Errorf("claim with a token of %d bytes is %q, want %d bytes, always the same", len(token), got, claimLen)
		}
	}
	if claimValue("a") == claimValue("b") {
		t.Error("two tokens give one claim")
	}
}
