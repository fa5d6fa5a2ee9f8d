package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// ownCommands are what this program's parent process sends while consumers
// work, and what new connections send.
var ownCommands = []string{"xadd", "xinfo", "info", "xgroup", "hello", "client", "ping"}

// commandsExecuted returns how many commands the server has executed for the
// consumers, those inside scripts included.
func commandsExecuted(ctx context.Context, client *redis.Client) (int, error) {
	text, err := client.Info(ctx, "commandstats").Result()
	if err != nil {
		return 0, err
	}
	return parseCommandStats(text)
}

// parseCommandStats reads lines like "cmdstat_xinfo|groups:calls=3,usec=...".
func parseCommandStats(text string) (total int, err error) {
	for line := range strings.Lines(text) {
		stat, ok := strings.CutPrefix(line, "cmdstat_")
		if !ok {
			continue
		}
		name, values, _ := strings.Cut(stat, ":calls=")
		name, _, _ = strings.Cut(name, "|")
		if slices.Contains(ownCommands, name) {
			continue
		}
		calls, _, _ := strings.Cut(values, ",")
		n, err := strconv.Atoi(calls)
		if err != nil {
			return 0, fmt.Errorf("could not read the command statistics: %w", err)
		}
		total += n
	}
	return total, nil
}

// awaitBlocked returns when at least n clients wait for messages.
func awaitBlocked(ctx context.Context, client *redis.Client, n int) error {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		text, err := client.Info(ctx, "clients").Result()
		if err != nil {
			return err
		}
		_, value, _ := strings.Cut(text, "blocked_clients:")
		value, _, _ = strings.Cut(value, "\r\n")
		if blocked, _ := strconv.Atoi(value); blocked >= n {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("not all of %d subscriptions came to wait for messages", n)
}
