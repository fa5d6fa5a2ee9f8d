package dedup

import (
	"bytes"
	"context"
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"
)

// snapshot is a message as it came. A handler may rewrite its message, and
// some subscribers redeliver a copy of what the handler left: a rewritten
// business key would come back as another job.
type snapshot struct {
	ctx      context.Context
	uuid     string
	metadata message.Metadata
	payload  message.Payload
	bytes    []byte
}

func takeSnapshot(msg *message.Message) snapshot {
	return snapshot{
		ctx:      msg.Context(),
		uuid:     msg.UUID,
		metadata: maps.Clone(msg.Metadata),
		payload:  msg.Payload,
		bytes:    bytes.Clone(msg.Payload),
	}
}

// restore puts the message back as it came. outputs are the messages that the
// handler returns; where they share memory with the message they keep what the
// handler wrote. The result replaces outputs.
func (s *snapshot) restore(msg *message.Message, outputs []*message.Message) []*message.Message {
	msg.SetContext(s.ctx)
	if answered(msg) {
		// Its subscriber may be reading the message right now.
		return outputs
	}
	for i, out := range outputs {
		if out == msg {
			outputs[i] = msg.CopyWithContext()
		}
	}
	msg.UUID = s.uuid
	msg.Metadata = s.metadata
	msg.Payload = s.payload
	if !bytes.Equal(s.payload, s.bytes) {
		for _, out := range outputs {
			if out != nil {
				out.Payload = bytes.Clone(out.Payload)
			}
		}
		copy(s.payload, s.bytes)
	}
	return outputs
}

// answered reports whether the message was acked or nacked.
func answered(msg *message.Message) bool {
	return acked(msg) || nacked(msg)
}

func acked(msg *message.Message) bool  { return closed(msg.Acked()) }
func nacked(msg *message.Message) bool { return closed(msg.Nacked()) }

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}
