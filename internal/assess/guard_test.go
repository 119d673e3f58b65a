package assess

import (
	"testing"

	"hostlab/internal/explain"
	"hostlab/internal/service"
	"hostlab/internal/testkit"
)

// TestGuard: three seconds as slow as the worst before are borne, slower ones stop the probes.
func TestGuard(t *testing.T) {
	m := &Minute{Report: explain.Report{Transactions: -1}}
	for i, queue := range []float64{0.1, 0.2, 0.3, 0.6, 0.7, 0.8} { // the worst three seconds: 0.2 for each on a CPU
		m.Readings = append(m.Readings, service.Reading{At: float64(i + 1), CPU: float64(i + 1), Queue: queue})
	}
	if got := m.worstQueue(); got < 0.166 || got > 0.167 {
		t.Errorf("the worst three seconds: %.3f", got)
	}
	for _, c := range []struct {
		cpu, queue float64
		whole      bool
		want       string
	}{
		{3, 0.8, true, ""},
		{3, 0.9, true, "its threads waited 300 ms for a CPU per second of CPU time, and 167 ms at most before"},
		{3, 0.9, false, ""},   // cut short
		{0.02, 0.9, true, ""}, // it hardly ran
	} {
		g := &Guard{minute: m, stop: func() {}, done: make(chan struct{})}
		close(g.done)
		g.queued(c.cpu, c.queue, c.whole)
		testkit.Is(t, c.want, g.Stop(), c)
	}
}
