package dedup

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		logged := &logs{}
		o := outage{logger: logged, calm: time.Second}
		for range 100 {
			var calls sync.WaitGroup
			for range 5 {
				calls.Go(func() { o.note(errStore) })
				calls.Go(func() { o.note(nil) }) // some keys or operations work
			}
			calls.Wait()
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		o.note(nil)
		o.note(nil)
		if text := logged.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, errStore.Error()) {
			t.Errorf("log is %q, want one line for the beginning and one for the end", text)
		}
	})
}
