package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// What a consumer process writes down. Each line is
//
//	<Unix time in ms> <kind> <subject> <what was answered>
//
// and is written, by one system call, after the answer arrived and before the
// caller sees it. So whatever a killed process acted upon is in its file. No
// verdict needs effects and acknowledgements: they are for whoever looks into a
// broken promise.
const (
	evDelivered = "delivered" // a message entered the handler chain
	evEffect    = "effect"    // the effect of a job was recorded
	evClaim     = "claim"     // the store answered
	evRenew     = "renew"
	evComplete  = "complete"
	evRelease   = "release"
	evCall      = "call" // the store's client sent a command
	evAck       = "ack"  // the stream's server answered XACK
	evOutcome   = "outcome"
)

// answerError stands in for the answer where a call failed.
const answerError = "error"

// evidence is the file of one consumer process.
type evidence struct{ file *os.File }

func openEvidence(path string) (*evidence, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &evidence{f}, nil
}

// write does not return before the line is in the file, where it outlives the
// process.
func (e *evidence) write(kind, subject, answer string) {
	line := fmt.Appendf(make([]byte, 0, 64), "%d %s %s %s\n", time.Now().UnixMilli(), kind, subject, answer)
	if _, err := e.file.Write(line); err != nil {
		panic(fmt.Sprintf("could not write evidence: %v", err))
	}
}

// testimony is what the file of one process says.
type testimony struct {
	delivered  int
	storeCalls int
	outcomes   map[string]int
	// completed are the jobs whose Complete was answered to the process.
	completed map[string]bool
	// leases holds when each claim that the process still owned when it ended
	// was last won or renewed.
	leases map[string]time.Time
}

func readEvidence(path string) (testimony, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return testimony{}, err
	}
	return parseEvidence(content)
}

func parseEvidence(content []byte) (testimony, error) {
	t := testimony{
		outcomes:  make(map[string]int),
		completed: make(map[string]bool),
		leases:    make(map[string]time.Time),
	}
	for line := range bytes.Lines(content) {
		fields := strings.Fields(string(line))
		if len(fields) != 4 {
			return t, fmt.Errorf("evidence is not readable: %q", line)
		}
		millis, err := strconv.ParseInt(fields[0], 10, 64)
		if err != nil {
			return t, fmt.Errorf("evidence is not readable: %q", line)
		}
		t.add(time.UnixMilli(millis), fields[1], fields[2], fields[3])
	}
	return t, nil
}

func (t *testimony) add(at time.Time, kind, subject, answer string) {
	switch kind {
	case evDelivered:
		t.delivered++
	case evCall:
		t.storeCalls++
	case evOutcome:
		t.outcomes[subject]++
	case evClaim, evRenew:
		if answer == "acquired" {
			t.leases[subject] = at
		}
	case evComplete:
		if answer != answerError {
			t.completed[subject] = true
			delete(t.leases, subject)
		}
	case evRelease:
		if answer != answerError {
			delete(t.leases, subject)
		}
	}
}

// leasesEnd returns when the last claim that the process still owned ran out,
// or zero if it owned none.
func (t testimony) leasesEnd(lease time.Duration) (end time.Time) {
	for _, won := range t.leases {
		if won = won.Add(lease); won.After(end) {
			end = won
		}
	}
	return end
}
