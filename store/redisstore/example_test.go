package redisstore_test

import (
	"context"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/watermill-dedup/watermill-dedup/store/redisstore"
)

// A store with a client of its own, on one server.
func ExampleOpen() {
	options, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	s, err := redisstore.Open(options, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	warnings, err := s.Check(ctx)
	if err != nil {
		log.Print(err)
	}
	for _, w := range warnings {
		log.Print(w)
	}
}

// A cluster, with a client that the store does not close.
func ExampleNew_cluster() {
	client := redis.NewClusterClient(&redis.ClusterOptions{
		Addrs:                 []string{"redis-1:6379", "redis-2:6379", "redis-3:6379"},
		ContextTimeoutEnabled: true,
	})
	s, err := redisstore.New(client, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_ = s // hand it to dedup.Leased
}

// Sentinel: a failover can lose the last writes, see README.md.
func ExampleNew_sentinel() {
	client := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName:            "jobs",
		SentinelAddrs:         []string{"sentinel-1:26379", "sentinel-2:26379", "sentinel-3:26379"},
		ContextTimeoutEnabled: true,
	})
	s, err := redisstore.New(client, "billing")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	_ = s // hand it to dedup.Leased
}
