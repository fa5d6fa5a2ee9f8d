package keyextract_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

func TestJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, payload, want string }{
		"string":               {"id", `{"id":"o-17"}`, "o-17"},
		"nested":               {"order.id", ` {"id":"x", "order" : {"id": "o-17"}} `, "o-17"},
		"array element":        {"lines.1.sku", `{"lines":[{"sku":"a"},{"sku":"b"}]}`, "b"},
		"index as member name": {"lines.1", `{"lines":{"0":"a","1":"b"}}`, "b"},
		"top-level array":      {"0", `["a"]`, "a"},
		"small number":         {"id", `{"id":1}`, "1"},
		"number as string":     {"id", `{"id":"1"}`, "1"},
		"long number":          {"id", `{"id":12345678901234567890123}`, "12345678901234567890123"},
		"decimals as written":  {"id", `{"id": -1.50E+2 }`, "-1.50E+2"},
		"zero":                 {"id", `{"id":0}`, "0"},
		"escaped string":       {"id", `{"id":"a\u00e9\n\"\ud83d\ude00"}`, "aé\n\"😀"},
		"escaped member":       {"id", `{"\u0069\u0064":"o-17"}`, "o-17"},
		"NUL in a string":      {"id", `{"id":"a\u0000b"}`, "a\x00b"},
		"dot in a name":        {`order\.id`, `{"order.id":"o-17","order":{"id":"no"}}`, "o-17"},
		"reserved in a name":   {`\@id`, `{"@id":"o-17"}`, "o-17"},
		"backslash in a name":  {`a\\b`, `{"a\\b":"o-17"}`, "o-17"},
		"other names twice":    {"id", `{"x":1,"x":2,"id":"o-17"}`, "o-17"},
		"case matters":         {"ID", `{"id":"no","ID":"o-17"}`, "o-17"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantKey(t, keyextract.JSON(c.path), message.NewMessage("", []byte(c.payload)), c.want)
		})
	}
}

func TestJSONWithoutKey(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, payload string }{
		"missing":             {"order.id", `{"order":{"no":"secret"}}`},
		"missing on the way":  {"order.id", `{"secret":1}`},
		"through a string":    {"order.id", `{"order":"secret"}`},
		"scalar payload":      {"id", `"secret"`},
		"index out of range":  {"lines.2", `{"lines":["secret","secret"]}`},
		"index with a zero":   {"lines.01", `{"lines":["secret","secret"]}`},
		"negative index":      {"lines.-1", `{"lines":["secret"]}`},
		"empty string":        {"id", `{"id":"","x":"secret"}`},
		"null":                {"id", `{"id":null,"x":"secret"}`},
		"boolean":             {"id", `{"id":true,"x":"secret"}`},
		"object":              {"id", `{"id":{"secret":1}}`},
		"array":               {"id", `{"id":["secret"]}`},
		"name twice":          {"id", `{"id":"secret","id":"secret2"}`},
		"parent twice":        {"order.id", `{"order":{"id":"secret"},"order":{}}`},
		"name twice, escaped": {"id", `{"id":"secret","\u0069d":"secret"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantNoKey(t, keyextract.JSON(c.path), message.NewMessage("", []byte(c.payload)), c.path, "secret")
		})
	}
	for name, payload := range map[string]string{
		"empty":         ``,
		"not JSON":      `secret`,
		"truncated":     `{"id":"secret`,
		"trailing":      `{"id":"secret"} x`,
		"deeply nested": strings.Repeat(`[`, 20_000_000), // would overflow a recursive parser's stack
	} {
		t.Run("invalid payload/"+name, func(t *testing.T) {
			t.Parallel()
			wantNoKey(t, keyextract.JSON("id"), message.NewMessage("", []byte(payload)), "not valid JSON", "secret")
		})
	}
}

func TestJSONKeyOutlivesThePayload(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("", []byte(`{"id":"o-17"}`))
	key, err := keyextract.JSON("id")(msg)
	if err != nil {
		t.Fatal(err)
	}
	copy(msg.Payload, bytes.Repeat([]byte("x"), len(msg.Payload)))
	if key != "o-17" {
		t.Errorf("key became %q when the payload changed", key)
	}
}

func TestJSONRefusesBadPaths(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", ".", "a.", ".a", "a..b", `a\`, "$.id", "lines[0]", "lines.#", "*", "@this", "a|b", "{a,b}", "a?"} {
		wantPanic(t, "path", func() { keyextract.JSON(path) })
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("order.id", []byte(`{"order":{"id":"o-17"}}`))
	f.Add("lines.0.sku", []byte(` {"lines" : [ {"sku" : 12345678901234567890 } ] }`))
	f.Add(`a\.b`, []byte(`{"a.b":"\u00e9\ud800"}`))
	f.Add("id", []byte(`{"id":1,"id":2}`))
	f.Add("id", []byte("{\"id\":\"\xff\"}"))
	f.Fuzz(func(t *testing.T, path string, payload []byte) {
		extract := jsonOrNil(path)
		if extract == nil {
			return
		}
		key, err := extract(message.NewMessage("", payload))
		if (err == nil) != (key != "") || err != nil && !errors.Is(err, keyextract.ErrNoKey) {
			t.Fatalf("key %q, error %v", key, err)
		}
		if !json.Valid(payload) {
			if err == nil {
				t.Fatalf("key %q from invalid JSON", key)
			}
			return
		}
		var compact, indented bytes.Buffer
		if err := errors.Join(json.Compact(&compact, payload), json.Indent(&indented, payload, "\r", "\t ")); err != nil {
			t.Fatal(err)
		}
		for _, copied := range [][]byte{compact.Bytes(), indented.Bytes()} {
			again, againErr := extract(message.NewMessage("", copied))
			if again != key || (againErr == nil) != (err == nil) {
				t.Fatalf("key %q (%v) became %q (%v) with other white space", key, err, again, againErr)
			}
		}
		// The full decoder replaces invalid UTF-8, which would merge keys.
		if err == nil && !strings.Contains(path, `\`) && utf8.Valid(payload) {
			if want := decoded(payload, strings.Split(path, ".")); key != want {
				t.Fatalf("key %q, but encoding/json reads %q", key, want)
			}
		}
	})
}

// decoded reads the value that JSON should find by a full decoder.
func decoded(payload []byte, names []string) string {
	decoder := json.NewDecoder(bytes.NewReader(payload))
	decoder.UseNumber()
	var value any
	_ = decoder.Decode(&value)
	for _, name := range names {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[name]
		case []any:
			index, _ := strconv.Atoi(name)
			value = parent[index]
		}
	}
	return fmt.Sprint(value)
}

// jsonOrNil returns nil for a path that JSON refuses.
func jsonOrNil(path string) (f keyextract.Func) {
	defer func() { _ = recover() }()
	return keyextract.JSON(path)
}

func BenchmarkJSON(b *testing.B) {
	extract := keyextract.JSON("order.id")
	msg := message.NewMessage("", []byte(`{"event":"order.created","at":"2026-01-01T00:00:00Z","order":{"lines":[{"sku":"A","qty":1},{"sku":"B","qty":22}],"id":"8a6e0804-2bd0-4672-b79d-d97027f9071a"}}`))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := extract(msg); err != nil {
			b.Fatal(err)
		}
	}
}
