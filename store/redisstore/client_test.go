package redisstore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/store"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// nowhere has no server: constructors do not connect.
const nowhere = "127.0.0.1:1"

var job = store.Key{Scope: "consumer", ID: "job-1"}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	right := newClient(t, nowhere)
	wrong := redis.NewClient(&redis.Options{Addr: nowhere})
	wrongCluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}})
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": nowhere}, ContextTimeoutEnabled: true})
	pipeliner, err := right.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []redis.UniversalClient{wrong, wrongCluster, ring, pipeliner} {
		t.Cleanup(func() { _ = c.Close() })
	}

	for name, c := range map[string]struct {
		client    redis.UniversalClient
		namespace string
		want      error
		says      string
	}{
		"NoNamespace":        {right, "", store.ErrEmptyNamespace, "namespace"},
		"NoDeadlines":        {wrong, "test", redisstore.ErrUnsuitableClient, "ContextTimeoutEnabled"},
		"NoDeadlinesCluster": {wrongCluster, "test", redisstore.ErrUnsuitableClient, "ContextTimeoutEnabled"},
		"Ring":               {ring, "test", redisstore.ErrUnsuitableClient, "Ring"},
		"AutoPipeliner":      {pipeliner, "test", redisstore.ErrUnsuitableClient, "*redis.AutoPipeliner"},
		"NoClient":           {nil, "test", redisstore.ErrUnsuitableClient, "<nil>"},
	} {
		s, err := redisstore.New(c.client, c.namespace)
		if s != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v, want an error that matches %q and says %q", name, err, c.want, c.says)
		}
	}
	if _, err := redisstore.Open(&redis.Options{Addr: nowhere}, ""); !errors.Is(err, store.ErrEmptyNamespace) {
		t.Errorf("Open without a namespace: got %v, want %v", err, store.ErrEmptyNamespace)
	}
	if _, err := redisstore.Open(nil, "test"); err == nil {
		t.Error("Open without options: want an error")
	}
}

func TestNewAccepts(t *testing.T) {
	t.Parallel()
	client := newClient(t, nowhere)
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{nowhere}, ContextTimeoutEnabled: true})
	failover := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{nowhere}, ContextTimeoutEnabled: true})
	for _, c := range []redis.UniversalClient{client, cluster, failover} {
		t.Cleanup(func() { _ = c.Close() })
		s, err := redisstore.New(c, "test")
		if err != nil {
			t.Errorf("%T: %v", c, err)
			continue
		}
		if s.Namespace() != "test" {
			t.Errorf("%T: namespace is %q", c, s.Namespace())
		}
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	addr := testserver.SharedRedis(t).Addr

	own := open(t, addr, randomNamespace())
	if err := own.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := own.Release(t.Context(), job, "a"); !errors.Is(err, redis.ErrClosed) {
		t.Errorf("the client that Open made: got %v, want it closed", err)
	}

	client := newClient(t, addr)
	foreign, err := redisstore.New(client, randomNamespace())
	if err != nil {
		t.Fatal(err)
	}
	if err := foreign.Close(); err != nil {
		t.Fatal(err)
	}
	if err := client.Ping(t.Context()).Err(); err != nil {
		t.Errorf("the client that New was given: got %v, want it open", err)
	}
}

func TestOpenCopiesOptions(t *testing.T) {
	t.Parallel()
	options := &redis.Options{Addr: nowhere}
	s, err := redisstore.Open(options, "test")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if options.ContextTimeoutEnabled {
		t.Error("Open changed the caller's options")
	}
}

// A first copy costs two calls to the server, a duplicate one.
func TestCallsPerCopy(t *testing.T) {
	t.Parallel()
	server := testserver.NewRedis(t, testserver.RedisOptions{})
	client := newClient(t, server.Addr)
	calls := &countingHook{}
	client.AddHook(calls)
	s, err := redisstore.New(client, "test")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	run := func(id string) {
		t.Helper()
		key := store.Key{Scope: "s", ID: id}
		_, err1 := s.Claim(ctx, key, "a", time.Minute)
		_, err2 := s.Renew(ctx, key, "a", time.Minute)
		_, err3 := s.Release(ctx, key, "a")
		_, err4 := s.Claim(ctx, key, "a", time.Minute)
		_, err5 := s.Complete(ctx, key, "a", time.Minute)
		_, err6 := s.Claim(ctx, key, "b", time.Minute)
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
			t.Fatal(err)
		}
	}

	run("1")
	calls.expect(t, "evalsha eval evalsha eval evalsha eval evalsha evalsha eval evalsha")
	run("2")
	calls.expect(t, "evalsha evalsha evalsha evalsha evalsha evalsha")
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	run("3") // the restarted server has never seen the scripts
	calls.expect(t, "evalsha eval evalsha eval evalsha eval evalsha evalsha eval evalsha")
}

type countingHook struct {
	mu    sync.Mutex
	names []string
}

func (h *countingHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *countingHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (h *countingHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		switch cmd.Name() {
		case "hello", "client": // of a new connection
		default:
			h.mu.Lock()
			h.names = append(h.names, cmd.Name())
			h.mu.Unlock()
		}
		return next(ctx, cmd)
	}
}

func (h *countingHook) expect(t *testing.T, want string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if got := strings.Join(h.names, " "); got != want {
		t.Errorf("commands sent:\n  %s\nwant\n  %s", got, want)
	}
	h.names = nil
}

// A server that hangs must not outlast the caller's deadline.
func TestDeadlineOnHangingServer(t *testing.T) {
	t.Parallel()
	server := testserver.NewRedis(t, testserver.RedisOptions{})
	warm, cold := open(t, server.Addr, "warm"), open(t, server.Addr, "cold")
	if _, err := warm.Claim(t.Context(), job, "a", time.Minute); err != nil {
		t.Fatal(err)
	}
	if err := server.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = server.Signal(syscall.SIGCONT) }()

	for name, s := range map[string]*redisstore.Store{"Warm": warm, "Cold": cold} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		start := time.Now()
		_, err := s.Claim(ctx, job, "a", time.Minute)
		took := time.Since(start)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || took > time.Second {
			t.Errorf("%s: got %v after %s, want %v after 200 ms", name, err, took, context.DeadlineExceeded)
		}
	}
}
