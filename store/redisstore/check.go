package redisstore

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"
)

// Check looks at the settings of the server, or of every master of a cluster,
// and returns what weakens the store's promises, one sentence each. It reads
// INFO, because managed servers often block CONFIG; a setting that INFO does
// not show is not judged. An empty list promises nothing about failovers.
//
// Call it once when the service starts and log what it returns. It is the only
// method that needs a permission beside those of the scripts.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	var (
		mu       sync.Mutex
		warnings []string
	)
	cluster, isCluster := s.client.(*redis.ClusterClient)
	ask := func(ctx context.Context, server redis.Cmdable) error {
		info, err := server.Info(ctx).Result()
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		warnings = append(warnings, judge(parseInfo(info), isCluster)...)
		return nil
	}

	var err error
	if isCluster {
		err = cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return ask(ctx, c) })
	} else {
		err = ask(ctx, s.client)
	}
	if err != nil {
		return nil, fmt.Errorf("could not check redis: %w", err)
	}
	slices.Sort(warnings)
	return slices.Compact(warnings), nil
}

// parseInfo reads the "name:value" lines of INFO.
func parseInfo(info string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// judge returns the warnings about one server.
func judge(info map[string]string, clusterClient bool) []string {
	var warnings []string
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }

	if p, ok := info["maxmemory_policy"]; ok && p != "noeviction" {
		warn("maxmemory-policy is %s: when memory is full the server drops claims and done markers early, and their jobs can run twice; set it to noeviction", p)
	}
	if v, ok := info["redis_version"]; ok {
		major, _, _ := strings.Cut(v, ".")
		if n, err := strconv.Atoi(major); err == nil && n < 5 {
			warn("server version %s is older than 5, the first that can run the scripts", v)
		}
	}
	if role, ok := info["role"]; ok && role != "master" {
		warn("server is a replica: it refuses every claim; connect to the master")
	}
	if info["cluster_enabled"] == "1" && !clusterClient {
		warn("server is part of a cluster: most keys live on other nodes and fail; build the store with New and a *redis.ClusterClient")
	}
	if info["aof_enabled"] == "0" {
		warn("appendonly is off: when the server restarts it has forgotten the claims and done markers since its last snapshot, and their jobs can run twice")
	}
	return warnings
}
