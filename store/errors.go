package store

import (
	"errors"
	"fmt"
	"time"
)

// ErrInvalidDuration is matched by the error of an operation whose lease or
// retention was zero or negative. Nothing was written.
var ErrInvalidDuration = errors.New("duration must be positive")

// ErrEmptyNamespace is returned by a store's constructor that was given no
// namespace. Two services that share a database and a handler name would
// otherwise swallow each other's messages.
var ErrEmptyNamespace = errors.New("namespace must not be empty")

// Millis converts a lease or retention to whole milliseconds, rounded up. name
// is the parameter to blame. It returns an error that matches
// ErrInvalidDuration when d is zero or negative.
func Millis(name string, d time.Duration) (int64, error) {
	if d <= 0 {
		return 0, fmt.Errorf("%s is %s: %w", name, d, ErrInvalidDuration)
	}
	ms := int64(d / time.Millisecond)
	if d%time.Millisecond != 0 {
		ms++
	}
	return ms, nil
}
