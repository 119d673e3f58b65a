package probe

import (
	"os"
	"testing"

	"hostlab/internal/workload/worker"
)

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}
