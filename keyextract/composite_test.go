package keyextract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

func TestComposite(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("", []byte(`{"number":17}`))
	msg.Metadata.Set("tenant", "acme")
	tenant, number := keyextract.Metadata("tenant"), keyextract.JSON("number")

	wantKey(t, keyextract.Composite(tenant, number), msg, "4:acme2:17")
	wantKey(t, keyextract.Composite(tenant), msg, "4:acme")
	wantNoKey(t, keyextract.Composite(tenant, keyextract.Metadata("shop")), msg, "shop", "acme")
	wantNoKey(t, keyextract.Composite(tenant, is("")), msg, "empty", "acme")
	wantPanic(t, "Composite", func() { keyextract.Composite() })
	wantPanic(t, "Composite", func() { keyextract.Composite(tenant, nil) })
}

func TestCompositeCopiesItsParts(t *testing.T) {
	t.Parallel()
	parts := []keyextract.Func{is("a")}
	f := keyextract.Composite(parts...)
	parts[0] = is("b")
	wantKey(t, f, message.NewMessage("", nil), "1:a")
}

func FuzzComposite(f *testing.F) {
	const sep = "/"
	f.Add("a/bc", "ab/c")
	f.Add("1:a", "1/a")
	f.Add("a", "a/b")
	f.Add("\x00/\xff", "\x00\xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		left, right := strings.Split(a, sep), strings.Split(b, sep)
		if slices.Contains(left, "") || slices.Contains(right, "") {
			return
		}
		if same := compose(t, left) == compose(t, right); same != slices.Equal(left, right) {
			t.Fatalf("%q and %q: same key is %v", left, right, same)
		}
	})
}

func compose(t *testing.T, keys []string) string {
	t.Helper()
	parts := make([]keyextract.Func, len(keys))
	for i, key := range keys {
		parts[i] = is(key)
	}
	key, err := keyextract.Composite(parts...)(message.NewMessage("", nil))
	if err != nil {
		t.Fatal(err)
	}
	return key
}
