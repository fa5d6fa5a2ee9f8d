package main

import (
	"slices"
	"testing"
)

func TestScheduleKeepsCopiesApart(t *testing.T) {
	t.Parallel()
	order := schedule(100, 3, 20)
	if len(order) != 300 {
		t.Fatalf("%d messages, want 300", len(order))
	}
	for job := 1; job <= 100; job++ {
		first := slices.Index(order, job)
		for copies := range 3 {
			if at := first + 20*copies; order[at] != job {
				t.Errorf("message %d is of job %d, want copy %d of job %d", at, order[at], copies, job)
			}
		}
	}
}

func TestSchedulePublishesEveryCopyOfAnUnevenRest(t *testing.T) {
	t.Parallel()
	counts := make(map[int]int)
	for _, job := range schedule(7, 2, 3) {
		counts[job]++
	}
	for job := 1; job <= 7; job++ {
		if counts[job] != 2 {
			t.Errorf("job %d is published %d times", job, counts[job])
		}
	}
	if len(counts) != 7 {
		t.Errorf("jobs are %v", counts)
	}
}
