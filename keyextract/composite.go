package keyextract

import (
	"strconv"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Composite joins the keys of several parts into one, such as tenant and order
// number. Each part is written behind its length, "4:acme2:17", so that
// different parts never give the same key. All parts must be there.
//
// The order of the parts belongs to the key: changing it starts with an empty
// memory. It panics without parts, and if one is nil.
func Composite(parts ...Func) Func {
	if len(parts) == 0 {
		panic("keyextract: Composite needs at least one part")
	}
	for _, part := range parts {
		if part == nil {
			panic("keyextract: a part of Composite is nil")
		}
	}
	parts = append([]Func(nil), parts...)
	return func(msg *message.Message) (string, error) {
		keys := make([]string, len(parts))
		for i, part := range parts {
			var err error
			if keys[i], err = part.of(msg); err != nil {
				return "", err
			}
		}
		return join(keys), nil
	}
}

// join is injective: the length before each part says where it ends.
func join(keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		b.WriteString(strconv.Itoa(len(key)))
		b.WriteByte(':')
		b.WriteString(key)
	}
	return b.String()
}
