package dedup

import (
	"testing"
)

func TestNumberedHandlersAreWarnedOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		notes [][3]string // topic, handler, scope
		warns int
	}{
		"numbered":      {[][3]string{{"jobs", "receipts-0", "receipts-0"}, {"jobs", "receipts-1", "receipts-1"}, {"jobs", "receipts-2", "receipts-2"}}, 1},
		"one scope":     {[][3]string{{"jobs", "receipts-0", "receipts"}, {"jobs", "receipts-1", "receipts"}}, 0},
		"number inside": {[][3]string{{"jobs", "x-0-worker", "x-0-worker"}, {"jobs", "x-12-worker", "x-12-worker"}}, 1},
		"two topics":    {[][3]string{{"a", "receipts-0", "receipts-0"}, {"b", "receipts-1", "receipts-1"}}, 0},
		"other names":   {[][3]string{{"jobs", "receipts", "receipts"}, {"jobs", "mail", "mail"}}, 0},
		"only a number": {[][3]string{{"jobs", "mail", "mail"}, {"jobs", "mail2", "mail2"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			logged := &logs{}
			n := handlerNames{logger: logged}
			for _, note := range c.notes {
				n.note(note[0], note[1], note[2])
			}
			if len(logged.lines) != c.warns {
				t.Errorf("warned %d times, want %d", len(logged.lines), c.warns)
			}
		})
	}
}
