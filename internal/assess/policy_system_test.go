//go:build system

package assess

import (
	"testing"
	"time"

	"hostlab/internal/thread"
)

// TestPoliciesAreCheap: a busy minute has a million bursts.
func TestPoliciesAreCheap(t *testing.T) {
	r := bursty(40e-6)
	before, ok := thread.ProcessCPU()
	p := predictPolicies(t.Context(), r, nil, twoCPUs("schedutil"))
	after, _ := thread.ProcessCPU()
	t.Log(after-before, p.Rows[0].CPUSeconds.Text(), p.Rows[0].CPUSeconds.Interval())
	if ok && after-before > 5*time.Second {
		t.Errorf("it took %s of CPU time", after-before)
	}
}
