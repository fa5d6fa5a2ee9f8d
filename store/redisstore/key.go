package redisstore

import (
	"crypto/sha256"
	"encoding/base64"
	"strings"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// keyPrefix tells our keys from others in a shared database.
const keyPrefix = "dedup:"

// escape keeps the separator out of a part, so that no two lists of parts give
// one key. The last part needs none.
var escape = strings.NewReplacer("%", "%25", ":", "%3A").Replace

// namespacePrefix is what every key of a namespace starts with.
func namespacePrefix(namespace string) string {
	return keyPrefix + escape(namespace) + ":"
}

// keyName returns the name of a key in Redis: "dedup:<namespace>:<scope>:<id>"
// with '%' and ':' escaped in namespace and scope.
func keyName(namespacePrefix string, key store.Key) string {
	scope := key.Scope
	if strings.ContainsAny(scope, "%:") {
		scope = escape(scope)
	}
	return namespacePrefix + scope + ":" + key.ID
}

// ownerLen is the width of an owner in a claim.
const ownerLen = 22

// owner returns what stands for a token in a claim: as unique as the token,
// but of fixed width.
func owner(token string) string {
	sum := sha256.Sum256([]byte(token))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}
