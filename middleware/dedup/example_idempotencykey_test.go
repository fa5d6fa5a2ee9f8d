package dedup_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// A charge goes through, but its answer is lost. The handler fails and runs
// again, and the payment service recognises the second call by its key.
func ExampleIdempotencyKey() {
	s := newService()
	router, sub := s.router, s.pubSub
	st, err := memstore.New("billing", memstore.Config{})
	if err != nil {
		panic(err)
	}
	d, err := dedup.Leased(st, keyextract.Metadata("order_id"), dedup.Config{Retention: time.Hour}, nil)
	if err != nil {
		panic(err)
	}
	router.AddMiddleware(d.Middleware)

	charged := map[string]bool{}
	charge := func(key string) error {
		if charged[key] {
			fmt.Println("charged before:", key[:12])
			return nil
		}
		charged[key] = true
		fmt.Println("charged:", key[:12])
		return errors.New("no answer within 10 s")
	}
	router.AddConsumerHandler("charges", "orders", sub, func(msg *message.Message) error {
		return charge(dedup.IdempotencyKey(msg.Context()))
	})

	s.run(d, func() { s.send("orders", "order_id", "17") })
	// Output:
	// charged: 9562dd308fe3
	// charged before: 9562dd308fe3
}
