package dedup_test

import (
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// One instance on the router protects handlers whose messages carry their
// business keys in different places.
func ExampleDedup_Middleware_byTopic() {
	s := newService()
	st, err := memstore.New("billing", memstore.Config{})
	if err != nil {
		panic(err)
	}
	key := keyextract.ByTopic(map[string]keyextract.Func{
		"orders": keyextract.Composite(
			keyextract.Metadata("type"), // placed, cancelled
			keyextract.Metadata("order_id"),
		),
		"payments": keyextract.Composite(
			keyextract.Metadata("tenant"),
			keyextract.JSON("payment.id"),
		),
	}, nil) // any other topic: keyextract.ErrNoKey
	d, err := dedup.Leased(st, key, dedup.Config{Retention: time.Hour}, nil)
	if err != nil {
		panic(err)
	}
	s.router.AddMiddleware(d.Middleware)
	s.router.AddConsumerHandler("receipts", "orders", s.pubSub, func(msg *message.Message) error {
		fmt.Println(msg.Metadata.Get("type"), "order", msg.Metadata.Get("order_id"))
		return nil
	})
	s.router.AddConsumerHandler("ledger", "payments", s.pubSub, func(msg *message.Message) error {
		fmt.Println("payment of", msg.Metadata.Get("tenant"), string(msg.Payload))
		return nil
	})

	s.run(d, func() {
		for _, kind := range []string{"placed", "cancelled", "placed"} {
			msg := message.NewMessage(watermill.NewUUID(), nil)
			msg.Metadata.Set("type", kind)
			msg.Metadata.Set("order_id", "17")
			s.publish("orders", msg)
		}
		for _, tenant := range []string{"north", "south", "north"} {
			msg := message.NewMessage(watermill.NewUUID(), []byte(`{"payment":{"id":5}}`))
			msg.Metadata.Set("tenant", tenant)
			s.publish("payments", msg)
		}
	})
	// Output:
	// placed order 17
	// cancelled order 17
	// payment of north {"payment":{"id":5}}
	// payment of south {"payment":{"id":5}}
}
