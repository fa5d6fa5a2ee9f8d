package main

import (
	"path/filepath"
	"testing"
	"time"
)

func TestEvidenceIsReadAsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "evidence.log")
	ev, err := openEvidence(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ev.file.Close()
	began := time.Now().Truncate(time.Millisecond)
	for _, line := range [][3]string{
		{evDelivered, "1", "entered"},
		{evDelivered, "2", "entered"},
		{evCall, "evalsha", "sent"},
		{evClaim, "1", "acquired"},
		{evClaim, "2", "acquired"},
		{evClaim, "3", "acquired"},
		{evClaim, "4", "acquired"},
		{evClaim, "5", "held"},
		{evClaim, "6", answerError},
		{evEffect, "1", "recorded"},
		{evComplete, "1", "acquired"},
		{evComplete, "2", answerError},
		{evRelease, "3", "acquired"},
		{evRelease, "4", answerError},
		{evRenew, "4", "free"},
		{evOutcome, "processed", "observed"},
	} {
		ev.write(line[0], line[1], line[2])
	}

	got, err := readEvidence(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.delivered != 2 || got.storeCalls != 1 || got.outcomes["processed"] != 1 {
		t.Errorf("wrong counts: %+v", got)
	}
	if len(got.completed) != 1 || !got.completed["1"] {
		t.Errorf("completed are %v, want job 1 alone: a failed Complete answers nothing", got.completed)
	}
	if len(got.leases) != 2 || got.leases["2"].Before(began) || got.leases["4"].Before(began) {
		t.Errorf("leases are %v, want those of jobs 2 and 4, neither completed nor released", got.leases)
	}
	if end := got.leasesEnd(time.Minute); end.Before(began.Add(time.Minute)) {
		t.Errorf("leases end at %s, want a minute after %s", end, began)
	}
}

func TestTheLastRenewalSetsTheEndOfALease(t *testing.T) {
	t.Parallel()
	said, err := parseEvidence([]byte("1000 claim 1 acquired\n2500 claim 2 acquired\n3000 renew 1 acquired\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := time.UnixMilli(8000); !said.leasesEnd(5 * time.Second).Equal(want) {
		t.Errorf("leases end at %s, want %s", said.leasesEnd(5*time.Second), want)
	}
	if !(testimony{}).leasesEnd(time.Second).IsZero() {
		t.Error("a process without claims has no end of leases")
	}
}

func TestDamagedEvidenceIsRefused(t *testing.T) {
	t.Parallel()
	for _, content := range []string{"1000 claim 1\n", "soon claim 1 acquired\n", "\n"} {
		if _, err := parseEvidence([]byte(content)); err == nil {
			t.Errorf("%q was read without an error", content)
		}
	}
}
