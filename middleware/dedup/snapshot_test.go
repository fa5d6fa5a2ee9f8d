package dedup

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
)

func TestRestoreUndoesWhatAHandlerWrote(t *testing.T) {
	t.Parallel()
	payload := []byte("payload")
	msg := message.NewMessage("uuid", payload)
	msg.Metadata["job"] = "1"
	came := takeSnapshot(msg)

	msg.UUID = "rewritten"
	msg.Metadata["job"] = "2"
	msg.Metadata["more"] = "x"
	msg.Payload[0] = 'X'
	msg.Payload = []byte("another")
	msg.SetContext(context.WithValue(context.Background(), deliveryKey{}, nil))
	came.restore(msg, nil)

	want := message.NewMessage("uuid", []byte("payload"))
	want.Metadata["job"] = "1"
	if !msg.Equals(want) || msg.Context() != context.Background() {
		t.Errorf("message is %+v", msg)
	}
	if string(payload) != "payload" {
		t.Error("a subscriber that keeps the payload sees what the handler wrote into it")
	}
}

func TestRestoreLeavesOutputsAlone(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("uuid", []byte("payload"))
	msg.Metadata["job"] = "1"
	came := takeSnapshot(msg)

	msg.Metadata["stage"] = "passed on"
	msg.Payload[0] = 'X'
	shares := message.NewMessage("shares", msg.Payload[:3])
	shares.Metadata = msg.Metadata
	outputs := came.restore(msg, []*message.Message{msg, shares, nil})

	if string(msg.Payload) != "payload" || msg.Metadata.Get("stage") != "" {
		t.Errorf("message is %+v", msg)
	}
	passedOn := outputs[0]
	if passedOn == msg || passedOn.UUID != "uuid" || string(passedOn.Payload) != "Xayload" || passedOn.Metadata.Get("stage") != "passed on" {
		t.Errorf("the message that was passed on is %+v", passedOn)
	}
	if string(shares.Payload) != "Xay" || shares.Metadata.Get("stage") != "passed on" {
		t.Errorf("the output that shares memory is %+v", shares)
	}
}

// Its subscriber may be copying an answered message in another goroutine.
func TestRestoreLeavesAnAnsweredMessageAlone(t *testing.T) {
	t.Parallel()
	msg := message.NewMessage("uuid", nil)
	came := takeSnapshot(msg)
	msg.UUID = "rewritten"
	msg.Nack()
	came.restore(msg, nil)
	if msg.UUID != "rewritten" {
		t.Error("a nacked message was written to")
	}
}
