package redisstore

import (
	_ "embed"

	"github.com/redis/go-redis/v9"
)

// Every operation is one script, so it is atomic and costs one round trip. The
// scripts need nothing newer than Redis 5.
var (
	//go:embed claim.lua
	claimLua string
	//go:embed renew.lua
	renewLua string
	//go:embed complete.lua
	completeLua string
	//go:embed release.lua
	releaseLua string
)

// operation is one of a store's methods.
type operation struct {
	verb     string
	duration string // the parameter's name; empty where there is none
	script   *redis.Script
}

var (
	claim    = operation{"claim", "lease", redis.NewScript(claimLua)}
	renew    = operation{"renew", "lease", redis.NewScript(renewLua)}
	complete = operation{"complete", "retention", redis.NewScript(completeLua)}
	release  = operation{"release", "", redis.NewScript(releaseLua)}
)
