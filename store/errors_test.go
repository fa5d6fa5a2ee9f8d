package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/watermill-dedup/watermill-dedup/store"
)

func TestMillisRoundsUp(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]int64{
		1:                               1,
		time.Millisecond - 1:            1,
		time.Millisecond:                1,
		time.Millisecond + 1:            2,
		1500 * time.Microsecond:         2,
		24 * time.Hour:                  86_400_000,
		1<<63 - 1:                       9_223_372_036_855, // 292 years
		time.Hour + time.Microsecond:    3_600_001,
		time.Second - time.Microsecond:  1000,
		time.Second + 2*time.Nanosecond: 1001,
	} {
		if got, err := store.Millis("lease", d); err != nil || got != want {
			t.Errorf("%s is %d ms, %v; want %d", d, got, err, want)
		}
	}
}

func TestMillisRefusesNothingAndLess(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{0, -1, -time.Hour, -1 << 63} {
		got, err := store.Millis("retention", d)
		if got != 0 || !errors.Is(err, store.ErrInvalidDuration) || !strings.Contains(err.Error(), "retention") {
			t.Errorf("%s gives %d, %v; want an error that names the parameter and matches %q", d, got, err, store.ErrInvalidDuration)
		}
	}
}

func TestStatesHaveNames(t *testing.T) {
	t.Parallel()
	for state, want := range map[store.State]string{
		store.Free: "free", store.Acquired: "acquired", store.Held: "held", store.Done: "done", 0: "state(0)",
	} {
		if got := state.String(); got != want {
			t.Errorf("state %d is called %q, want %q", int(state), got, want)
		}
	}
}
