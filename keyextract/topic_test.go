package keyextract_test

import (
	"context"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/pubsub/gochannel"
	"go.uber.org/goleak"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The topic is in the message's context by the hand of the router, so the test
// needs a real one.
func TestByTopic(t *testing.T) {
	t.Parallel()
	table := map[string]keyextract.Func{
		"orders":   keyextract.JSON("order.id"),
		"payments": keyextract.Metadata("payment_id"),
		"broken":   is(""),
	}
	withOther := keyextract.ByTopic(table, keyextract.MessageUUID())
	withoutOther := keyextract.ByTopic(table, nil)
	delete(table, "orders") // must change nothing

	order := delivered(t, "orders", message.NewMessage("uuid", []byte(`{"order":{"id":17}}`)))
	payment := message.NewMessage("uuid", nil)
	payment.Metadata.Set("payment_id", "p-4")
	payment = delivered(t, "payments", payment)
	refund := delivered(t, "refunds", message.NewMessage("uuid", nil))

	wantKey(t, withOther, order, "17")
	wantKey(t, withOther, payment, "p-4")
	wantKey(t, withOther, refund, "uuid")
	wantKey(t, withoutOther, order, "17")
	wantNoKey(t, withoutOther, refund, "refunds", "uuid")

	undelivered := message.NewMessage("uuid", nil)
	wantKey(t, withOther, undelivered, "uuid")
	wantNoKey(t, withoutOther, undelivered, `topic ""`, "uuid")

	wantNoKey(t, withOther, delivered(t, "broken", message.NewMessage("uuid", nil)), "empty", "uuid")
	wantPanic(t, "refunds", func() { keyextract.ByTopic(map[string]keyextract.Func{"refunds": nil}, nil) })
}

// delivered sends msg over topic and returns it as a handler gets it.
func delivered(t *testing.T, topic string, msg *message.Message) *message.Message {
	t.Helper()
	pubSub := gochannel.NewGoChannel(gochannel.Config{Persistent: true}, watermill.NopLogger{})
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: time.Second}, watermill.NopLogger{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *message.Message, 1)
	router.AddConsumerHandler("handler", topic, pubSub, func(msg *message.Message) error {
		got <- msg
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- router.Run(context.Background()) }()
	if err := pubSub.Publish(topic, msg); err != nil {
		t.Fatal(err)
	}
	received := <-got
	if err := router.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return received
}
