package keyextract

import (
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"
)

// ByTopic chooses a Func by the topic that the router subscribed to. A topic
// that is not in the table, or a message that no router delivered, goes to
// other; where other is nil it gives ErrNoKey.
//
// The table is copied. It panics if an entry is nil.
func ByTopic(table map[string]Func, other Func) Func {
	for topic, f := range table {
		if f == nil {
			panic("keyextract: ByTopic has nil for topic " + topic)
		}
	}
	table = maps.Clone(table)
	return func(msg *message.Message) (string, error) {
		topic := message.SubscribeTopicFromCtx(msg.Context())
		if f, ok := table[topic]; ok {
			return f.of(msg)
		}
		if other == nil {
			return "", noKey("topic %q has no extractor", topic)
		}
		return other.of(msg)
	}
}
