package behaviour_test

import (
	"context"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// records tells the ledger which jobs the store has answered to be done.
type records struct {
	*interposed
	ledger *ledger
}

// checkRecords makes the ledger note the jobs of which a copy is acked before
// the store has said that they are done.
func (r *rig) checkRecords() {
	r.ledger.note(func(l *ledger) { l.recorded = map[string]bool{} })
	r.store = &records{&interposed{Store: r.store}, r.ledger}
}

func (s *records) Claim(ctx context.Context, key store.Key, token string, lease time.Duration) (store.Claim, error) {
	found, err := s.interposed.Claim(ctx, key, token, lease)
	if err == nil && found.State == store.Done {
		s.note(key)
	}
	return found, err
}

func (s *records) Complete(ctx context.Context, key store.Key, token string, retention time.Duration) (store.State, error) {
	state, err := s.interposed.Complete(ctx, key, token, retention)
	if err == nil {
		s.note(key)
	}
	return state, err
}

func (s *records) note(key store.Key) {
	s.ledger.note(func(l *ledger) { l.recorded[key.ID] = true })
}
