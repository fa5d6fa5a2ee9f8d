package dedup_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// BenchmarkMiddleware compares the time and allocations of one message, a
// first copy and a duplicate, with the stock Deduplicator's.
func BenchmarkMiddleware(b *testing.B) {
	handler := func(*message.Message) ([]*message.Message, error) { return nil, nil }

	b.Run("stock", func(b *testing.B) {
		repository, err := middleware.NewMapExpiringKeyRepository(time.Hour)
		if err != nil {
			b.Fatal(err)
		}
		stock := &middleware.Deduplicator{
			KeyFactory: middleware.NewMessageHasherFromMetadataField("job"),
			Repository: repository,
			Timeout:    time.Minute,
		}
		benchmarkMiddleware(b, stock.Middleware(handler))
	})
	b.Run("leased", func(b *testing.B) {
		s, err := memstore.New("bench", memstore.Config{})
		if err != nil {
			b.Fatal(err)
		}
		d, err := dedup.Leased(s, func(m *message.Message) (string, error) { return m.Metadata["job"], nil }, dedup.Config{
			Retention: time.Hour,
			Scope:     func(string) string { return "bench" },
		}, nil)
		if err != nil {
			b.Fatal(err)
		}
		benchmarkMiddleware(b, d.Middleware(handler))
	})
}

func benchmarkMiddleware(b *testing.B, h message.HandlerFunc) {
	b.ReportAllocs()
	ctx := context.Background()
	payload := []byte(`{"amount": 12}`)
	for i := 0; b.Loop(); i++ {
		msg := message.NewMessage("00000000-0000-0000-0000-000000000000", payload)
		msg.Metadata["job"] = strconv.Itoa(i / 2)
		msg.SetContext(ctx)
		if _, err := h(msg); err != nil {
			b.Fatal(err)
		}
	}
}
