package keyextract_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

// wantKey fails unless f gives want for msg.
func wantKey(t *testing.T, f keyextract.Func, msg *message.Message, want string) {
	t.Helper()
	got, err := f(msg)
	if err != nil {
		t.Fatalf("no key, want %q: %v", want, err)
	}
	if got != want {
		t.Errorf("key %q, want %q", got, want)
	}
}

// wantNoKey fails unless f refuses msg and the error names the place, but not
// the value, that was looked at.
func wantNoKey(t *testing.T, f keyextract.Func, msg *message.Message, place, value string) {
	t.Helper()
	got, err := f(msg)
	if !errors.Is(err, keyextract.ErrNoKey) {
		t.Fatalf("key %q, error %v; want ErrNoKey", got, err)
	}
	if got != "" {
		t.Errorf("a key, %q, beside the error %v", got, err)
	}
	if !strings.Contains(err.Error(), place) {
		t.Errorf("error %q does not name %q", err, place)
	}
	if value != "" && strings.Contains(err.Error(), value) {
		t.Errorf("error %q shows the value %q", err, value)
	}
}

// wantPanic fails unless construct panics with a text that contains part.
func wantPanic(t *testing.T, part string, construct func()) {
	t.Helper()
	defer func() {
		t.Helper()
		text, _ := recover().(string)
		if !strings.HasPrefix(text, "keyextract: ") || !strings.Contains(text, part) {
			t.Errorf("panic %q, want one of this package with %q", text, part)
		}
	}()
	construct()
}

// is gives the same key for every message.
func is(key string) keyextract.Func {
	return func(*message.Message) (string, error) { return key, nil }
}

// awkward are keys that must come out as they went in.
var awkward = map[string]string{
	"NUL":           "a\x00b",
	"invalid UTF-8": "\xff\xfe",
	"emoji":         "👩‍🚀",
	"line breaks":   "a\r\nb",
	"punctuation":   `{}:"\,`,
	"10 kB":         strings.Repeat("x", 10_000),
}
