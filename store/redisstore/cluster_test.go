package redisstore_test

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/internal/testserver"
	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
	"github.com/watermill-dedup/watermill-dedup/store/storetest"
)

func TestConformanceInCluster(t *testing.T) {
	t.Parallel()
	addrs := startCluster(t, 3)
	storetest.Run(t, func(tb testing.TB) storetest.Harness {
		return storetest.Harness{Store: newClusterStore(tb, addrs, randomNamespace())}
	})
}

func newClusterStore(tb testing.TB, addrs []string, namespace string) *redisstore.Store {
	tb.Helper()
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	tb.Cleanup(func() { _ = client.Close() })
	s, err := redisstore.New(client, namespace)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// startCluster starts a cluster of masters without replicas.
func startCluster(t *testing.T, nodes int) []string {
	t.Helper()
	const slots = 16384
	var addrs []string
	var meetFirst []any
	for i := range nodes {
		server := testserver.NewRedis(t, testserver.RedisOptions{Args: []string{"--cluster-enabled", "yes"}})
		if nodes > 1 && server.PID() == 0 {
			t.Skip("SKIPPED, NOT TESTED: nodes in containers do not reach each other's loopback ports; install redis-server")
		}
		addr := server.Addr
		addrs = append(addrs, addr)

		c := newClient(t, addr)
		if err := c.ClusterAddSlotsRange(t.Context(), i*slots/nodes, (i+1)*slots/nodes-1).Err(); err != nil {
			t.Fatalf("could not assign slots: %v", err)
		}
		if i == 0 {
			host, port, _ := net.SplitHostPort(addr)
			meetFirst = []any{"CLUSTER", "MEET", host, port}
			continue
		}
		if err := c.Do(t.Context(), meetFirst...).Err(); err != nil {
			t.Fatalf("could not join the cluster: %v", err)
		}
	}
	for _, addr := range addrs {
		awaitCluster(t, newClient(t, addr), nodes)
	}
	return addrs
}

// awaitCluster waits until a node serves and knows the others.
func awaitCluster(t *testing.T, c *redis.Client, nodes int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		info, err := c.ClusterInfo(t.Context()).Result()
		if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, fmt.Sprintf("cluster_size:%d\r", nodes)) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the cluster of %d does not form: %v\n%s", nodes, err, info)
		}
	}
}
