package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// witness writes down what a store answered, and dies at the points around
// its operations.
type witness struct {
	store  store.Store
	ev     *evidence
	killer *killer
	// asked holds the jobs that this process has claimed before, so that
	// before-claim is the claim of a first copy.
	asked sync.Map
}

var (
	_ store.Store      = (*witness)(nil)
	_ store.Namespacer = (*witness)(nil)
)

func (w *witness) Namespace() string {
	if n, ok := w.store.(store.Namespacer); ok {
		return n.Namespace()
	}
	return ""
}

func (w *witness) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (store.Claim, error) {
	if _, again := w.asked.LoadOrStore(key.ID, true); !again {
		w.killer.reached(beforeClaim)
	}
	claim, err := w.store.Claim(ctx, key, token, lease)
	w.saw(evClaim, key, claim.State, err)
	if err == nil && claim.State == store.Acquired {
		w.killer.reached(afterClaim)
	}
	return claim, err
}

func (w *witness) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) (store.State, error) {
	state, err := w.store.Renew(ctx, key, token, lease)
	w.saw(evRenew, key, state, err)
	return state, err
}

func (w *witness) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	state, err := w.store.Complete(ctx, key, token, retention)
	w.saw(evComplete, key, state, err)
	if err == nil {
		w.killer.reached(afterComplete)
	}
	return state, err
}

func (w *witness) Release(ctx context.Context, key store.Key, token string) (store.State, error) {
	state, err := w.store.Release(ctx, key, token)
	w.saw(evRelease, key, state, err)
	return state, err
}

// saw writes job numbers down, which is harmless: they are this program's own.
func (w *witness) saw(operation string, key store.Key, state store.State, err error) {
	answer := state.String()
	if err != nil {
		answer = answerError
	}
	w.ev.write(operation, key.ID, answer)
}

// callCounter counts the commands that a client sends. What a new connection
// sends to set itself up does not count.
type callCounter struct{ ev *evidence }

var setupCommands = []string{"hello", "auth", "select", "client", "ping", "readonly"}

func (c callCounter) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c callCounter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(cmd)
		return next(ctx, cmd)
	}
}

func (c callCounter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			c.count(cmd)
		}
		return next(ctx, cmds)
	}
}

func (c callCounter) count(cmd redis.Cmder) {
	if name := cmd.Name(); !slices.Contains(setupCommands, name) {
		c.ev.write(evCall, name, "sent")
	}
}

// ackWitness writes down which acknowledgements the stream's server answered.
type ackWitness struct {
	ev     *evidence
	killer *killer
}

func (a ackWitness) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a ackWitness) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if ack, ok := cmd.(*redis.IntCmd); ok && cmd.Name() == "xack" && err == nil {
			a.ev.write(evAck, "message", strconv.FormatInt(ack.Val(), 10))
			a.killer.reached(afterAck)
		}
		return err
	}
}

func (a ackWitness) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
