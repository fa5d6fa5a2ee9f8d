package redisstore

import "errors"

// ErrUnsuitableClient is matched by New's error for a client that would break
// a promise of the store. The text says what is wrong and which option to set.
var ErrUnsuitableClient = errors.New("redis client is unsuitable")
