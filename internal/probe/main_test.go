package probe

import (
	"os"
	"slices"
	"testing"

	"hostlab/internal/worker"
)

// TestMain lets this test binary be its own worker process.
func TestMain(m *testing.M) {
	worker.Main(Jobs())
	os.Exit(m.Run())
}

// one is the probe of a name.
func one(name string) Probe {
	all := All()
	return all[slices.IndexFunc(all, func(p Probe) bool { return p.Name == name })]
}
