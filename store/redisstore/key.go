package redisstore

import (
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
