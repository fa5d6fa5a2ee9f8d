package main

import "testing"

func TestCommandStatsCountWhatConsumersSend(t *testing.T) {
	t.Parallel()
	got, err := parseCommandStats("# Commandstats\r\n" +
		"cmdstat_xreadgroup:calls=10,usec=5,usec_per_call=0.50,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_xack:calls=7,usec=5\r\n" +
		"cmdstat_xadd:calls=100,usec=5\r\n" +
		"cmdstat_xinfo|groups:calls=50,usec=5\r\n" +
		"cmdstat_client|setinfo:calls=4,usec=5\r\n" +
		"cmdstat_info:calls=2,usec=5\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if got != 17 {
		t.Errorf("got %d, want the 10 reads and 7 acknowledgements", got)
	}
	if _, err := parseCommandStats("cmdstat_get:calls=many\r\n"); err == nil {
		t.Error("an unreadable number gave no error")
	}
}
