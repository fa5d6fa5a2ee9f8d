package storetest

import (
	"strings"

	"github.com/watermill-dedup/watermill-dedup/store"
)

var tenKB = strings.Repeat("0123456789", 1024)

// opaque are strings that a careless encoding, column type or collation takes
// for each other.
var opaque = []string{
	"", " ", "a", "A", "a ", " a", "aa",
	"\x00", "a\x00", "a\x00b", "a\nb", "a\r\nb", "a\tb",
	"{a}", "{a}b", "{}", "}{", "a:b", "a::b", ":a", "a:", "::",
	"a%b", "a%3Ab", "a%253Ab", "%00", `a\x00`, `a\nb`, `\`, `\\`,
	"a/b", "a|b", "a,b", "a'b", `a"b`, "a--b", "a;b", "*", "a*", "a?", "[a]",
	"1", "01", "1.0", "1e0", "null", "NULL", "true",
	"\xff", "\xfe", "\xc3\x28", "\xed\xa0\x80", "\ufffd",
	"\u00e9", "e\u0301", "\u00df", "ss", "\u0131", "i",
	"\U0001F600", "\U0001F601", "\U0001F468\u200D\U0001F469", "\ufeffa",
	tenKB, tenKB + "x", tenKB[:len(tenKB)-1] + "x", "x" + tenKB[1:],
}

// edgeKeys are distinct from one another.
var edgeKeys = func() []store.Key {
	keys := []store.Key{
		{Scope: "a", ID: "bc"}, {Scope: "ab", ID: "c"}, {Scope: "abc", ID: ""}, {Scope: "", ID: "abc"},
		{Scope: "a:b", ID: "c"}, {Scope: "a", ID: "b:c"}, {Scope: "a:", ID: "b"}, {Scope: "a", ID: ":b"},
		{Scope: "a\x00", ID: "b"}, {Scope: "a", ID: "\x00b"}, {Scope: "a", ID: "b"}, {Scope: "b", ID: "a"},
		{Scope: "1", ID: "23"}, {Scope: "12", ID: "3"},
		{Scope: "a/", ID: "b"}, {Scope: "a", ID: "/b"}, {Scope: "a%", ID: "3Ab"}, {Scope: "a%3A", ID: "b"},
	}
	for _, s := range opaque {
		keys = append(keys, store.Key{Scope: "edge", ID: s}, store.Key{Scope: s, ID: "edge"})
	}
	return keys
}()

var keyCases = []testCase{
	{
		name: "KeysAreOpaque",
		rule: "Keys that differ in any byte of either part, or in where one part ends, are different keys.",
		check: func(p *probe) {
			for _, key := range edgeKeys {
				p.claim(key, "a", minute, store.Acquired)
				p.claim(key, "b", minute, store.Held)
			}
			for _, key := range edgeKeys {
				p.complete(key, "a", minute, store.Acquired)
			}
		},
	},
	{
		name: "KeysDoNotTouch",
		rule: "A call changes no key but its own.",
		check: func(p *probe) {
			other := store.Key{Scope: job.Scope, ID: "other"}
			elsewhere := store.Key{Scope: "other", ID: job.ID}
			p.claim(job, "a", minute, store.Acquired)
			p.claim(other, "a", minute, store.Acquired)
			p.claim(elsewhere, "a", minute, store.Acquired)
			p.complete(other, "a", minute, store.Acquired)
			p.release(elsewhere, "a", store.Acquired)
			p.stays(job, store.Held)
			p.stays(other, store.Done)
			p.stays(elsewhere, store.Free)
		},
	},
	{
		name:  "Namespaces",
		rule:  "Two stores of different namespaces on one database do not see each other's keys.",
		needs: neighbour,
		check: func(p *probe) {
			there := &probe{Harness: Harness{Store: p.Neighbour}, ctx: p.ctx}
			p.claim(job, "a", minute, store.Acquired)
			there.stays(job, store.Free)
			there.claim(job, "b", minute, store.Acquired)
			p.complete(job, "a", minute, store.Acquired)
			there.stays(job, store.Held)
			there.release(job, "b", store.Acquired)
			p.stays(job, store.Done)
			if there.err != nil {
				p.failf("in the neighbour, %v", there.err)
			}
		},
	},
}
