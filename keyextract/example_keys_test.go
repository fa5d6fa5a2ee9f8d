package keyextract_test

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/keyextract"
)

func ExampleJSON() {
	key := keyextract.JSON("order.id")

	fmt.Println(key(message.NewMessage("1", []byte(`{"order": {"id": 12345678901234567890}}`))))

	_, err := key(message.NewMessage("2", []byte(`{"order": {}}`)))
	fmt.Println(err, errors.Is(err, keyextract.ErrNoKey))
	// Output:
	// 12345678901234567890 <nil>
	// message has no business key: JSON path "order.id" leads nowhere true
}

func ExampleMetadata() {
	msg := message.NewMessage("1", nil)
	msg.Metadata.Set("order_id", "o-17")
	fmt.Println(keyextract.Metadata("order_id")(msg))
	// Output: o-17 <nil>
}

func ExampleComposite() {
	msg := message.NewMessage("1", []byte(`{"number": 17}`))
	msg.Metadata.Set("tenant", "acme")

	key := keyextract.Composite(keyextract.Metadata("tenant"), keyextract.JSON("number"))
	fmt.Println(key(msg))
	// Output: 4:acme2:17 <nil>
}

func ExampleByTopic() {
	key := keyextract.ByTopic(map[string]keyextract.Func{
		"orders":   keyextract.JSON("order.id"),
		"payments": keyextract.Metadata("payment_id"),
	}, nil)

	// This message did not come through a router, so its topic is unknown.
	_, err := key(message.NewMessage("1", nil))
	fmt.Println(err)
	// Output: message has no business key: topic "" has no extractor
}

func ExampleHashed() {
	msg := message.NewMessage("1", nil)
	msg.Metadata.Set("mail", "someone@example.com")

	key, _ := keyextract.Hashed(keyextract.Metadata("mail"))(msg)
	fmt.Println(len(key))
	// Output: 64
}
