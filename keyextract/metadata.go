package keyextract

import "github.com/ThreeDotsLabs/watermill/message"

// Metadata returns the value of a metadata field. A field that is missing or
// empty gives ErrNoKey.
//
// It panics if field is empty.
func Metadata(field string) Func {
	if field == "" {
		panic("keyextract: Metadata needs the name of a field")
	}
	return func(msg *message.Message) (string, error) {
		key := msg.Metadata.Get(field)
		if key == "" {
			return "", noKey("metadata field %q is missing or empty", field)
		}
		return key, nil
	}
}

// MessageUUID returns the UUID of the message itself.
//
// It recognises what the broker delivers twice, but not what a producer sends
// twice: a producer that repeats a job, after a timeout or a restart, makes a
// new message with a new UUID. Use it only where the producer derives the UUID
// from the job.
func MessageUUID() Func {
	return func(msg *message.Message) (string, error) {
		if msg.UUID == "" {
			return "", noKey("the message's UUID is empty")
		}
		return msg.UUID, nil
	}
}
