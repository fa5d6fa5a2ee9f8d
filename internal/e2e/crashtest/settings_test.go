package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestFlagDefaultsAreTheExperiment(t *testing.T) {
	t.Parallel()
	s, err := parseFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if s.Jobs != 3000 || s.Copies != 2 || s.Consumers != 3 || s.Handlers != 20 || s.Subscriptions != 40 || s.Apart != 20 {
		t.Errorf("wrong sizes: %+v", s)
	}
	if s.WorkMin != 20*time.Millisecond || s.WorkMax != 60*time.Millisecond {
		t.Errorf("wrong work: %s-%s", s.WorkMin, s.WorkMax)
	}
	if s.Lease != 3*time.Second || s.MaxIdle != 2*time.Second || s.ClaimInterval != 500*time.Millisecond || s.CrashAfter != 1500*time.Millisecond {
		t.Errorf("wrong times: %+v", s)
	}
	if s.Crash || s.Runs != 1 || s.Fail != 0 || s.Gap != 0 || !slices.Equal(s.Strategies, allStrategies) {
		t.Errorf("wrong rest: %+v", s)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	s, err := parseFlags(strings.Fields("-strategy none,leased -work 1500ms-1500ms -kill-at after-effect"), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Strategies, []strategy{none, leased}) {
		t.Errorf("strategies are %v", s.Strategies)
	}
	if s.WorkMin != 1500*time.Millisecond || s.WorkMax != s.WorkMin {
		t.Errorf("work is %s-%s", s.WorkMin, s.WorkMax)
	}
	if !s.Crash || s.KillAt != afterEffect {
		t.Errorf("a kill point must imply a crash: %+v", s)
	}
}

func TestFlagsAreRefused(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-strategy leased,hope":                `no "hope"`,
		"-jobs 0":                              "-jobs must be at least 1",
		"-apart 0":                             "-apart must be at least 1",
		"-work 60ms-20ms":                      "-work must be",
		"-work fast":                           "-work must be",
		"-fail 1":                              "-fail must be",
		"-crash -consumers 1":                  "second consumer",
		"-kill-at lunch":                       `no point "lunch"`,
		"-strategy none -kill-at before-claim": "never comes to the point",
		"-strategy watermill -kill-at after-claim":  "never comes to the point",
		"-strategy setnx -kill-at after-complete":   "never comes to the point",
		"-strategy leased,none -kill-at afterclaim": "no point",
		"leased": "unexpected argument",
	} {
		_, err := parseFlags(strings.Fields(args), io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gave the error %v, want one with %q", args, err, want)
		}
	}
}
