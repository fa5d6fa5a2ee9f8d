package main

import (
	"context"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

// scripted is a store that answers what it is told and notes what it was asked.
type scripted struct {
	state store.State
	asked []string
}

func (s *scripted) Claim(context.Context, store.Key, string, time.Duration) (store.Claim, error) {
	s.asked = append(s.asked, "claim")
	return store.Claim{State: s.state}, nil
}

func (s *scripted) Renew(context.Context, store.Key, string, time.Duration) (store.State, error) {
	s.asked = append(s.asked, "renew")
	return s.state, nil
}

func (s *scripted) Complete(context.Context, store.Key, string, time.Duration) (store.State, error) {
	s.asked = append(s.asked, "complete")
	return s.state, nil
}

func (s *scripted) Release(context.Context, store.Key, string) (store.State, error) {
	s.asked = append(s.asked, "release")
	return s.state, nil
}

func TestKillPointsOfTheStore(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		point killPoint
		state store.State
		asked []string // of the store before the kill
		kills bool
	}{
		{beforeClaim, store.Acquired, nil, true},
		{afterClaim, store.Acquired, []string{"claim"}, true},
		{afterClaim, store.Held, nil, false},
		{afterComplete, store.Acquired, []string{"claim", "complete"}, true},
		{beforeEffect, store.Acquired, nil, false},
	} {
		inner := &scripted{state: tt.state}
		var askedAtKill []string
		killed := false
		k := &killer{point: tt.point, kill: func() {
			if !killed {
				killed, askedAtKill = true, slices.Clone(inner.asked)
			}
		}}
		k.armed.Store(true)
		w := newWitness(t, inner, k)
		use(t, w, "1")
		if killed != tt.kills || !slices.Equal(askedAtKill, tt.asked) {
			t.Errorf("%s with a store that answers %s: killed %v after %v, want %v after %v",
				tt.point, tt.state, killed, askedAtKill, tt.kills, tt.asked)
		}
	}
}

func TestBeforeClaimIsTheClaimOfAFirstCopy(t *testing.T) {
	t.Parallel()
	kills := 0
	k := &killer{point: beforeClaim, kill: func() { kills++ }}
	w := newWitness(t, &scripted{state: store.Acquired}, k)
	use(t, w, "1")
	if kills != 0 {
		t.Fatal("killed before it was armed")
	}
	k.armed.Store(true)
	use(t, w, "1")
	if kills != 0 {
		t.Error("killed at the claim of a second copy")
	}
	use(t, w, "2")
	if kills != 1 {
		t.Errorf("killed %d times at the claim of a first copy", kills)
	}
}

func TestWitnessWritesWhatWasAnswered(t *testing.T) {
	t.Parallel()
	w := newWitness(t, &scripted{state: store.Acquired}, &killer{})
	use(t, w, "7")
	said, err := readEvidence(w.ev.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	if !said.completed["7"] || len(said.leases) != 0 {
		t.Errorf("evidence is %+v, want job 7 completed", said)
	}
}

func newWitness(t *testing.T, s store.Store, k *killer) *witness {
	t.Helper()
	ev, err := openEvidence(filepath.Join(t.TempDir(), "evidence.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ev.file.Close() })
	return &witness{store: s, ev: ev, killer: k}
}

// use takes a job through the store.
func use(t *testing.T, w *witness, job string) {
	t.Helper()
	key := store.Key{Scope: "test", ID: job}
	_, err := w.Claim(t.Context(), key, "token", time.Second)
	if err == nil {
		_, err = w.Complete(t.Context(), key, "token", time.Second)
	}
	if err != nil {
		t.Fatal(err)
	}
}
