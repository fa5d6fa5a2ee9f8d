package memstore_test

import (
	"testing"

	"go.uber.org/goleak"
)

// No store leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
