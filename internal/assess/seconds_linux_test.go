//go:build system

package assess

import (
	"context"
	"fmt"
	"testing"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/service"
	"hostlab/internal/service/demo"
	"hostlab/internal/testkit"
	"hostlab/internal/thread"
)

// TestWatchDemo: the demo's sessions and the kernel's account of its process agree.
func TestWatchDemo(t *testing.T) {
	d := testkit.Must(demo.Start(context.Background(), t.TempDir()))(t)
	defer d.Close()
	s := testkit.Must(service.Spec{Kind: service.Process, Name: fmt.Sprint(d.PID())}.Find(nil, nil))(t)
	m := testkit.Must(Watch(context.Background(), s, d, "", Options{For: 3 * time.Second, CPUs: 2}))(t)
	clients, kernel := m.Report.Part(explain.DatabaseCPU).Seconds, m.Readings[len(m.Readings)-1].CPU
	t.Logf("clients %.2f s of CPU, process %.2f s", clients, kernel)
	if clients > 1.1*kernel+0.1 {
		t.Errorf("clients used %.2f s of CPU, more than their process' %.2f s", clients, kernel)
	}
	if !m.Connected || m.Report.Transactions <= 0 {
		t.Errorf("connected %v, %d transactions", m.Connected, m.Report.Transactions)
	}
}

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
