package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// childEnv is the environment variable that makes this program one of the
// processes of a run, and tells it which.
const childEnv = "CRASHTEST_CHILD"

// role is what a child process does.
type role string

const (
	consumerRole role = "consumer"
	serviceRole  role = "service"
)

// childConfig is what a child process is told.
type childConfig struct {
	Role     role
	Settings settings
	Strategy strategy
	Run      int
	// Index counts the consumers from 0; Name is unique among all runs.
	Index int
	Name  string
	// KillAt is set for the process that is to kill itself.
	KillAt killPoint

	Stream    string
	Group     string
	Namespace string
	RedisURL  string
	StoreURL  string
	Postgres  string
	Schema    string
	EffectURL string // of the service, where the strategy uses it
	Evidence  string // path
}

// childMain is main of a child process. It reports whether this process is one.
func childMain() (status int, isChild bool) {
	text, isChild := os.LookupEnv(childEnv)
	if !isChild {
		return 0, false
	}
	var cfg childConfig
	err := json.Unmarshal([]byte(text), &cfg)
	if err == nil {
		parent := newLine()
		if cfg.Role == serviceRole {
			err = runService(cfg, parent)
		} else {
			err = runConsumer(cfg, parent)
		}
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "crashtest: %s %s: %v\n", cfg.Role, cfg.Name, err)
		return 1, true
	}
	return 0, true
}

// Words on the line between parent and child.
const (
	wordReady  = "ready" // from the child, with an argument
	wordGo     = "go"    // from the parent: messages come now
	wordFinish = "finish"
)

// line is the child's end of the pipes to its parent. Its end means that the
// parent has died, and so must the child.
type line struct{ words chan string }

func newLine() *line {
	l := &line{words: make(chan string)}
	go func() {
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			l.words <- in.Text()
		}
		os.Exit(3)
	}()
	return l
}

func (l *line) ready(argument string) { fmt.Println(wordReady, argument) }

func (l *line) await(word string) error {
	if got := <-l.words; got != word {
		return fmt.Errorf("parent said %q instead of %q", got, word)
	}
	return nil
}
