package dedup_test

import (
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// Observe changes nothing and tells how many duplicates a consumer gets.
func ExampleObserve() {
	s := newService()
	st, err := memstore.New("billing", memstore.Config{})
	if err != nil {
		panic(err)
	}
	d, err := dedup.Observe(st, keyextract.Metadata("order_id"), dedup.Config{
		Retention: time.Hour,
		Observer: dedup.ObserverFunc(func(p dedup.Pass) {
			fmt.Println(p.Handler, p.Topic, p.Outcome)
		}),
	}, nil)
	if err != nil {
		panic(err)
	}
	s.router.AddMiddleware(d.Middleware)
	s.router.AddConsumerHandler("receipts", "orders", s.pubSub, func(msg *message.Message) error {
		fmt.Println("receipt for order", msg.Metadata.Get("order_id"))
		return nil
	})

	s.run(d, func() {
		s.send("orders", "order_id", "17")
		s.send("orders", "order_id", "17")
	})
	// Output:
	// receipt for order 17
	// receipts orders processed
	// receipt for order 17
	// receipts orders duplicate
}
