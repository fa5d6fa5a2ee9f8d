package keyextract_test

import (
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

func TestMetadata(t *testing.T) {
	t.Parallel()
	order := keyextract.Metadata("order_id")
	for name, key := range awkward {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			msg := message.NewMessage("uuid", nil)
			msg.Metadata.Set("order_id", key)
			wantKey(t, order, msg, key)
		})
	}
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		wantNoKey(t, order, message.NewMessage("uuid", nil), "order_id", "uuid")
	})
	t.Run("empty", func(t *testing.T) {
		t.Parallel()
		msg := message.NewMessage("uuid", nil)
		msg.Metadata.Set("order_id", "")
		wantNoKey(t, order, msg, "order_id", "uuid")
	})
	t.Run("nil metadata", func(t *testing.T) {
		t.Parallel()
		wantNoKey(t, order, &message.Message{}, "order_id", "")
	})
	t.Run("no field", func(t *testing.T) {
		t.Parallel()
		wantPanic(t, "Metadata", func() { keyextract.Metadata("") })
	})
}

func TestMessageUUID(t *testing.T) {
	t.Parallel()
	wantKey(t, keyextract.MessageUUID(), message.NewMessage("some-uuid", nil), "some-uuid")
	wantNoKey(t, keyextract.MessageUUID(), message.NewMessage("", nil), "UUID", "")
}
