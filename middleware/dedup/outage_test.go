package dedup

import (
	"strings"
	"sync"
	"testing"
)

func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	logged := &logs{}
	o := outage{logger: logged}
	var calls sync.WaitGroup
	for range 50 {
		calls.Go(func() { o.note(errStore) })
	}
	calls.Wait()
	o.note(nil)
	o.note(nil)
	if text := logged.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, errStore.Error()) {
		t.Errorf("log is %q, want one line for the beginning and one for the end", text)
	}
}
