// Package keyextract turns a message into its business key: the name of the
// job, which stays the same when a producer sends the job again.
package keyextract

import (
	"errors"

	"github.com/ThreeDotsLabs/watermill/message"
)

// ErrNoKey is matched by every error of a Func: the message carries no
// business key where one was expected. The error's text names the place that
// was looked at, never a value found there.
var ErrNoKey = errors.New("message has no business key")

// Func returns the business key of a message.
//
// It must not change the message, must give the same key for every copy of a
// job, and returns an error that matches ErrNoKey when there is none. An empty
// key counts as none.
type Func func(msg *message.Message) (string, error)
