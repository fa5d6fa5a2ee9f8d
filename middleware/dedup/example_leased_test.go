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

// A producer sends order 17 twice, with two UUIDs. One receipt goes out.
func Example() {
	if err := sendReceipts(); err != nil {
		panic(err)
	}
	// Output:
	// receipt for order 17
	// receipt for order 18
}

func sendReceipts() error {
	s := newService()
	router, sub, logger := s.router, s.pubSub, watermill.NopLogger{}
	sendReceipt := func(orderID string) error {
		fmt.Println("receipt for order", orderID)
		return nil
	}

	st, err := memstore.New("billing", memstore.Config{}) // for replicas: redisstore.Open(options, "billing")
	if err != nil {
		return err
	}
	d, err := dedup.Leased(st, keyextract.Metadata("order_id"), dedup.Config{
		Retention: 7 * 24 * time.Hour, // a copy that comes later runs again
	}, logger)
	if err != nil {
		return err
	}
	router.AddPlugin(dedup.WakeOnClose)
	router.AddMiddleware(d.Middleware, dedup.Limit(20)) // each handler runs 20 messages at a time
	router.AddConsumerHandler("receipts", "orders", sub, func(msg *message.Message) error {
		return sendReceipt(msg.Metadata.Get("order_id"))
	})

	s.run(d, func() {
		s.send("orders", "order_id", "17")
		s.send("orders", "order_id", "17")
		s.send("orders", "order_id", "18")
	})
	return nil
}
