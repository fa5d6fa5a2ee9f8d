package keyextract_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

func TestHashed(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("abc", nil)
	// The test vector of FIPS 180-4 for "abc".
	wantKey(t, keyextract.Hashed(keyextract.MessageUUID()), msg, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
	wantNoKey(t, keyextract.Hashed(keyextract.Metadata("phone")), msg, "phone", "abc")
	wantNoKey(t, keyextract.Hashed(is("")), msg, "empty", "")
	wantPanic(t, "Hashed", func() { keyextract.Hashed(nil) })
}
