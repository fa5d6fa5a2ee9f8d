package keyextract

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Hashed replaces the key of f by its SHA-256 in hexadecimal, so that the
// store holds 64 characters that do not show the key. Whoever can guess keys,
// such as phone numbers, can still look one up.
//
// It panics if f is nil.
func Hashed(f Func) Func {
	if f == nil {
		panic("keyextract: Hashed needs an extractor")
	}
	return func(msg *message.Message) (string, error) {
		key, err := f.of(msg)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256([]byte(key))
		return hex.EncodeToString(sum[:]), nil
	}
}
