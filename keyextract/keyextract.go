// Package keyextract turns a message into its business key: the name of the
// job, which stays the same when a producer sends the job again.
//
// The functions here are pure: they do no I/O and never change a message.
// Their arguments are parts of a program, like a regular expression in its
// source, so one that can never work makes the constructor panic at start
// instead of every message fail later.
package keyextract

import (
	"errors"
	"fmt"

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

// of calls f and refuses an empty key, which a Func from elsewhere may return.
func (f Func) of(msg *message.Message) (string, error) {
	key, err := f(msg)
	if err != nil {
		return "", err
	}
	if key == "" {
		return "", noKey("the extracted key is empty")
	}
	return key, nil
}

func noKey(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrNoKey, fmt.Sprintf(format, args...))
}
