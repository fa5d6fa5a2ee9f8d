package dedup_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
	"github.com/watermill-dedup/watermill-dedup/middleware/dedup"
	"github.com/watermill-dedup/watermill-dedup/store/memstore"
)

// The place of the middleware among Watermill's. An order that always fails is
// tried three times under one claim and goes to the poison queue; it is not
// recorded as done, so it runs when it is sent again.
func ExampleDedup_Middleware_order() {
	s := newService()
	router, pub := s.router, s.pubSub
	st, err := memstore.New("billing", memstore.Config{})
	if err != nil {
		panic(err)
	}
	d, err := dedup.Leased(st, keyextract.Metadata("order_id"), dedup.Config{Retention: time.Hour}, nil)
	if err != nil {
		panic(err)
	}

	poison, err := middleware.PoisonQueue(pub, "orders.poison")
	if err != nil {
		panic(err)
	}
	retry := middleware.Retry{
		MaxRetries:          2,
		InitialInterval:     10 * time.Millisecond,
		ResetContextOnRetry: true, // or the second attempt starts with Timeout's ended context
	}
	router.AddMiddleware(
		middleware.Recoverer,
		poison,
		d.Middleware,
		dedup.Limit(20),
		retry.Middleware,
		middleware.Timeout(10*time.Second),
	)

	router.AddConsumerHandler("receipts", "orders", s.pubSub, func(msg *message.Message) error {
		fmt.Println("try order", msg.Metadata.Get("order_id"), "-", msg.Context().Err())
		return errors.New("no such customer")
	})
	router.AddConsumerHandler("poisoned", "orders.poison", s.pubSub, func(msg *message.Message) error {
		fmt.Println("poisoned order", msg.Metadata.Get("order_id"))
		return nil
	})

	s.run(d, func() { s.send("orders", "order_id", "17") })
	// Output:
	// try order 17 - <nil>
	// try order 17 - <nil>
	// try order 17 - <nil>
	// poisoned order 17
}
