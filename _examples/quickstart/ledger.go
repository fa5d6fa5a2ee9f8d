package main

import (
	"errors"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// result is one row of the table.
type result struct {
	jobs, done, duplicates, missing int
}

// ledger is the outside world: it knows which receipts were really sent.
type ledger struct {
	mu       sync.Mutex
	calls    int
	receipts map[string]int
	unacked  int
	drained  chan struct{} // closed when every message is acked
}

func newLedger(messages int) *ledger {
	return &ledger{receipts: map[string]int{}, unacked: messages, drained: make(chan struct{})}
}

// sendReceipt is the handler. Every tenth call fails, before the receipt is sent.
func (l *ledger) sendReceipt(msg *message.Message) error {
	time.Sleep(20 * time.Millisecond)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if l.calls%10 == 0 {
		return errors.New("mail server hung up")
	}
	l.receipts[msg.Metadata.Get(jobField)]++
	return nil
}

// countAcks is the outermost middleware. A message is acked when the chain
// returned no error, unless a middleware nacked it itself, as dedup does with a
// copy whose job is still running elsewhere.
func (l *ledger) countAcks(h message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		outputs, err := h(msg)
		select {
		case <-msg.Nacked():
		default:
			if err == nil {
				l.acked()
			}
		}
		return outputs, err
	}
}

func (l *ledger) acked() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unacked--
	if l.unacked == 0 {
		close(l.drained)
	}
}

// count compares the receipts with the jobs.
func (l *ledger) count(jobs int) result {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := result{jobs: jobs, done: len(l.receipts), missing: jobs - len(l.receipts)}
	for _, n := range l.receipts {
		r.duplicates += n - 1
	}
	return r
}
