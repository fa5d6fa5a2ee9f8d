package dedup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// delivery is what the context of a handled message carries: which claim the
// handler runs under.
type delivery struct {
	outer *delivery
	msg   *message.Message
	dedup *Dedup
	key   store.Key
	token string
	// shared says that an instance further out has a claim of this key with
	// this token, in another store or, through another client, in the same.
	shared bool

	// turnedAway is set by Limit and by an inner instance that nacked the
	// message without running the handler. Only the message's own goroutine
	// uses it.
	turnedAway bool
}

type deliveryKey struct{}

// handlerContext is the message's context with the delivery in it. No delivery
// hides that of another message, from which the context was carried over.
type handlerContext struct {
	context.Context
	delivery *delivery
}

func (c *handlerContext) Value(key any) any {
	if key == (deliveryKey{}) {
		return c.delivery
	}
	return c.Context.Value(key)
}

// newToken returns 128 random bits. They need to be unique, not secret.
func newToken() string {
	var token [16]byte
	binary.NativeEndian.PutUint64(token[:8], rand.Uint64())
	binary.NativeEndian.PutUint64(token[8:], rand.Uint64())
	return hex.EncodeToString(token[:])
}

// deliveryFrom returns the innermost delivery of msg, or nil. A context that
// was carried over from another message does not count, or a message published
// with its parent's context would pass as the parent.
func deliveryFrom(msg *message.Message) *delivery {
	v, _ := msg.Context().Value(deliveryKey{}).(*delivery)
	if v == nil || v.msg != msg {
		return nil
	}
	return v
}

// claims reports whether this delivery runs under a claim of key in s already,
// because an instance further out has it.
func (v *delivery) claims(s store.Store, key store.Key) bool {
	for ; v != nil; v = v.outer {
		if v.dedup.store == s && v.key == key {
			return true
		}
	}
	return false
}

// tokenOf returns the token of an instance further out with this key.
func (v *delivery) tokenOf(key store.Key) (token string, ok bool) {
	for ; v != nil; v = v.outer {
		if v.key == key {
			return v.token, true
		}
	}
	return "", false
}

// turnAway notes that the message was nacked without its handler running.
func (v *delivery) turnAway() {
	for ; v != nil; v = v.outer {
		v.turnedAway = true
	}
}

// dedupClosed returns the channel that closes with Dedup.Close; nil for no
// delivery.
func (v *delivery) dedupClosed() <-chan struct{} {
	if v == nil {
		return nil
	}
	return v.dedup.closing
}

// IdempotencyKey returns the key to send to an external service that
// recognises repeated calls, given the context of the handled message. It is
// the same for every copy and every attempt of a job, in every process; it
// differs between the namespaces, scopes and business keys of jobs. It is 64
// hexadecimal digits, a SHA-256, so that it fits the length limits of services
// and does not reveal the business key. A handler that makes two calls appends
// a name of its own to each.
//
// It returns "" when the message is not handled under a business key.
func IdempotencyKey(ctx context.Context) string {
	v, _ := ctx.Value(deliveryKey{}).(*delivery)
	if v == nil {
		return ""
	}
	hash := sha256.New()
	// The key stays the same when Observe is replaced by the real mode.
	scope := strings.TrimPrefix(v.key.Scope, v.dedup.scopePrefix())
	for _, part := range []string{v.dedup.namespace, scope, v.key.ID} {
		// The length goes first, or ("a", "bc") and ("ab", "c") would be one.
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		hash.Write([]byte(part))
	}
	return hex.EncodeToString(hash.Sum(nil))
}
