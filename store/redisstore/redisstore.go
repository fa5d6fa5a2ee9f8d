// Package redisstore keeps claims and done markers in Redis or Valkey.
//
// Each key is one string with an expiry, each operation one script: atomic, one
// round trip, timed by the server's clock. It works from Redis 5 on, also as a
// cluster or behind Sentinel. What a failover or an eviction loses is lost;
// README.md beside this file says what that means, how much memory a job takes
// and which permissions the store needs.
package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// Store is a store.Store in Redis. It is safe for concurrent use.
type Store struct {
	client    redis.UniversalClient
	namespace string
	prefix    string
	closeFunc func() error
}

var (
	_ store.Store      = (*Store)(nil)
	_ store.Namespacer = (*Store)(nil)
)

// Open returns a store with a client of its own, which Close closes. The
// options are copied; ContextTimeoutEnabled is set in the copy. It connects
// when it is first used. For a cluster or Sentinel build a client and use New.
//
// It returns store.ErrEmptyNamespace for an empty namespace.
func Open(options *redis.Options, namespace string) (*Store, error) {
	if namespace == "" {
		return nil, store.ErrEmptyNamespace
	}
	if options == nil {
		return nil, fmt.Errorf("%w: options are missing", ErrUnsuitableClient)
	}
	own := *options
	own.ContextTimeoutEnabled = true
	client := redis.NewClient(&own)
	return newStore(client, namespace, client.Close), nil
}

// New returns a store on a *redis.Client or *redis.ClusterClient built with
// ContextTimeoutEnabled. The client stays the caller's: Close leaves it open.
// Do not hand in the client of a Pub/Sub that closes it, as the subscriber and
// publisher of watermill-redisstream do. It does not connect.
//
// It returns an error that matches ErrUnsuitableClient for any other client,
// and store.ErrEmptyNamespace for an empty namespace.
func New(client redis.UniversalClient, namespace string) (*Store, error) {
	if namespace == "" {
		return nil, store.ErrEmptyNamespace
	}
	if err := checkClient(client); err != nil {
		return nil, err
	}
	return newStore(client, namespace, func() error { return nil }), nil
}

func newStore(client redis.UniversalClient, namespace string, closeFunc func() error) *Store {
	return &Store{
		client:    client,
		namespace: namespace,
		prefix:    namespacePrefix(namespace),
		closeFunc: closeFunc,
	}
}

func checkClient(client redis.UniversalClient) error {
	var honoursDeadlines bool
	switch c := client.(type) {
	case *redis.Client:
		honoursDeadlines = c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		honoursDeadlines = c.Options().ContextTimeoutEnabled
	case *redis.Ring:
		return fmt.Errorf("%w: a Ring drops shards that are down, and the claims and done markers on them", ErrUnsuitableClient)
	default:
		return fmt.Errorf("%w: want *redis.Client or *redis.ClusterClient, got %T", ErrUnsuitableClient, client)
	}
	if !honoursDeadlines {
		return fmt.Errorf("%w: without the option ContextTimeoutEnabled it ignores deadlines, and a slow server outlasts the lease; Open makes a right client, and the store needs one of its own, which no Pub/Sub closes", ErrUnsuitableClient)
	}
	return nil
}

// Namespace returns the name that the store was built with.
func (s *Store) Namespace() string { return s.namespace }

// Close closes the client of a store made by Open. Wait for the middleware to
// be closed first.
func (s *Store) Close() error { return s.closeFunc() }

// Claim takes the key for token until lease has passed.
func (s *Store) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (store.Claim, error) {
	state, rest, err := s.do(ctx, claim, key, token, lease)
	c := store.Claim{State: state}
	if state == store.Done {
		c.At = parseDoneAt(rest)
	}
	return c, err
}

// Renew restarts the lease of a claim that token still owns.
func (s *Store) Renew(ctx context.Context, key store.Key, token string, lease time.Duration) (store.State, error) {
	state, _, err := s.do(ctx, renew, key, token, lease)
	return state, err
}

// Complete records the key as done for retention. Where it finds done it
// changes nothing.
func (s *Store) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	state, _, err := s.do(ctx, complete, key, token, retention)
	return state, err
}

// Release gives up a claim that token still owns.
func (s *Store) Release(ctx context.Context, key store.Key, token string) (store.State, error) {
	state, _, err := s.do(ctx, release, key, token, 0)
	return state, err
}

// do runs an operation's script in one round trip, or in two when the server
// has not seen the script since it started. It returns the state and what
// follows it in the reply.
func (s *Store) do(ctx context.Context, op operation, key store.Key, token string, d time.Duration) (state store.State, rest string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("could not %s in redis: %w", op.verb, err)
		}
	}()

	// The client may still send when the context has ended.
	if err := ctx.Err(); err != nil {
		return 0, "", err
	}
	args := []any{claimValue(token)}
	if op.duration != "" {
		ms, err := store.Millis(op.duration, d)
		if err != nil {
			return 0, "", err
		}
		args = append(args, ms)
	}
	reply, err := op.script.Run(ctx, s.client, []string{keyName(s.prefix, key)}, args...).Text()
	if err != nil {
		return 0, "", err
	}
	return parseReply(reply)
}

// parseReply splits a script's reply into state and rest.
func parseReply(reply string) (store.State, string, error) {
	if reply != "" {
		switch reply[0] {
		case 'F':
			return store.Free, reply[1:], nil
		case 'A':
			return store.Acquired, reply[1:], nil
		case 'H':
			return store.Held, reply[1:], nil
		case 'D':
			return store.Done, reply[1:], nil
		}
	}
	return 0, "", fmt.Errorf("unknown reply of %d bytes", len(reply))
}
