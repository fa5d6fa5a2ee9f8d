package dedup

import (
	"fmt"
	"regexp"
	"sync"

	"github.com/ThreeDotsLabs/watermill"
)

// handlerNames warns about the trap of one handler added many times under
// numbered names: each name is a scope, and nothing is deduplicated between
// them.
type handlerNames struct {
	logger watermill.LoggerAdapter

	mu    sync.Mutex
	stems map[[2]string]*numbered // by topic and stem
}

var digits = regexp.MustCompile("[0-9]+")

type numbered struct {
	scope  string
	warned bool
}

// note takes a handler at its first message.
func (n *handlerNames) note(topic, handler, scope string) {
	stem := digits.ReplaceAllString(handler, "#")
	if stem == handler {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stems == nil {
		n.stems = make(map[[2]string]*numbered)
	}
	at := [2]string{topic, stem}
	other, ok := n.stems[at]
	if !ok {
		n.stems[at] = &numbered{scope: scope}
		return
	}
	if other.scope == scope || other.warned {
		return
	}
	other.warned = true
	// A LoggerAdapter has no level for warnings.
	n.logger.Error(
		"Handlers of one topic differ only in a number and have scopes of their own: copies are not deduplicated between them; use dedup.Subscriptions, or one Config.Scope",
		fmt.Errorf("handlers named %q share no scope", stem),
		watermill.LogFields{"topic": topic},
	)
}
