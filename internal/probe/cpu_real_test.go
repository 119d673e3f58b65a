//go:build system

package probe

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/testkit"
)

// These run on the machine at hand. They assert structure and sanity only: what a
// shared machine measures is its own business.

func usable() []int {
	cpus := []int{0, 1}
	return cpus[:min(len(cpus), runtime.NumCPU())]
}

func sane(t *testing.T, o Outcome, err error) {
	t.Helper()
	testkit.OK(t, err)
	if o.Title == "" || o.Method == "" || o.Seconds <= 0 {
		t.Errorf("outcome %+v", o)
	}
	names := map[string]bool{}
	for _, m := range o.Measurements {
		if names[m.Name] || !strings.HasPrefix(m.Name, m.Probe+".") || m.Title == "" || m.Unit == "" ||
			m.Known() != (m.Evidence == result.Measured) {
			t.Errorf("measurement %+v", m)
		}
		names[m.Name] = true
		if m.Known() == (m.Reason != "") {
			t.Errorf("%s: known %v, reason %q", m.Name, m.Known(), m.Reason)
		}
		if m.Known() && !(m.Estimate.Value > 0 && m.Estimate.Value < 1e12 && m.Estimate.N > 0) {
			t.Errorf("%s: %+v", m.Name, *m.Estimate)
		}
		if _, err := json.Marshal(m); err != nil {
			t.Error(err)
		}
	}
	noWorkers(t)
}

// noWorkers fails if this process has a child left. Linux lists children with the
// thread that started them; other systems have nothing to look at here.
func noWorkers(t *testing.T) {
	t.Helper()
	lists := testkit.Must(filepath.Glob("/proc/self/task/*/children"))(t)
	for _, list := range lists {
		if pids, err := os.ReadFile(list); err == nil && len(pids) > 0 {
			t.Errorf("processes left: %s", pids)
		}
	}
}

func TestWakeupReal(t *testing.T) {
	cfg := cpuConfig(2500*time.Millisecond, usable()...)
	var last, total time.Duration
	cfg.Report = func(done, of time.Duration) { last, total = done, of }
	o, err := one("wakeup").Run(t.Context(), cfg)
	sane(t, o, err)
	// How late a thread is, and how slow, is the machine's: others may have had it all the time.
	if m := named(t, o, "wakeup.alu.10ms.cpu0"); m.Known() && m.Labels.Disturbed == "" &&
		(m.Estimate.Value < 0.2 || m.Estimate.Value > 20) {
		t.Errorf("ratio %+v", *m.Estimate)
	}
	named(t, o, "wakeup.latency.p50.cpu0")
	if hz := named(t, o, "wakeup.frequency.busy.cpu0"); hz.Known() && hz.Estimate.Value > 1e10 {
		t.Errorf("%g additions per second", hz.Estimate.Value)
	}
	if last <= 0 || total < last {
		t.Errorf("progress ended at %v of %v", last, total)
	}
}

func TestSiblingsReal(t *testing.T) {
	o, err := one("siblings").Run(t.Context(), cpuConfig(2500*time.Millisecond, usable()...))
	sane(t, o, err)
	if len(usable()) < 2 {
		if o.Skipped == "" {
			t.Error("measured pairs on one CPU")
		}
		return
	}
	if len(o.Pairs) != 1 || o.Pairs[0].Relation == "" || o.Pairs[0].Reason == "" {
		t.Errorf("pairs %+v", o.Pairs)
	}
	named(t, o, "siblings.slowdown.cpu0-cpu1")
	named(t, o, "siblings.harm.sibling")
	named(t, o, "siblings.harm.other")
}

// An offline or forbidden CPU must come back as unknown from the real worker too.
func TestRealCPUThatIsNotThere(t *testing.T) {
	o, err := one("wakeup").Run(t.Context(), cpuConfig(time.Second, 8000))
	sane(t, o, err)
	if m := named(t, o, "wakeup.alu.10ms.cpu8000"); m.Known() || !strings.Contains(m.Reason, "CPU 8000") {
		t.Errorf("%+v", m)
	}
	o, err = one("siblings").Run(t.Context(), cpuConfig(time.Second, 0, 8000))
	sane(t, o, err)
	if o.Pairs[0].Relation != UnknownPair || !strings.Contains(o.Pairs[0].Reason, "CPU 8000") {
		t.Errorf("%+v", o.Pairs)
	}
}

func TestCPUProbesAreCancelled(t *testing.T) {
	for _, p := range []Probe{one("wakeup"), one("siblings")} {
		for _, after := range []time.Duration{0, 5 * time.Millisecond, 400 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			_, err := p.Run(ctx, cpuConfig(30*time.Second, 0, 1))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s cancelled after %v: %v", p.Name, after, err)
			}
			noWorkers(t)
		}
	}
}

// Two threads on one CPU must show the signal of CPUs that take turns: elapsed
// time grows, chunks do not. It is the only relation that every host can stage.
func TestSignalOfOneCPU(t *testing.T) {
	s := testkit.Must(startWorker[pairRequest, pairReply](siblingsJob)(t.Context()))(t)
	defer s.close()
	alone := testkit.Must(s.run(pairRequest{Kind: cellControl, CPUs: []int{0}, Chunks: 1500}))(t)
	both := testkit.Must(s.run(pairRequest{Kind: cellControl, CPUs: []int{0, 0}, Chunks: 1500}))(t)
	a, b := alone.Sides[0], both.Sides
	if chunk := b[0].Median / a.Median; chunk > 1.6 || chunk < 0.6 {
		t.Errorf("chunks took %.2f times as long", chunk)
	}
	if waited := b[0].Waited + b[1].Waited; b[0].HasWaited && waited < 0.3*(a.Wall-a.Waited) {
		t.Errorf("two threads on one CPU waited %g s for each other, one alone runs %g s", waited, a.Wall-a.Waited)
	}
	pp, err := s.run(pairRequest{Kind: cellPingPong, CPUs: []int{0, 0}})
	if err != nil || pp.PingPong > 0 && pp.PingPong < 1e-6 {
		t.Errorf("a ping-pong on one CPU took %g s, %v", pp.PingPong, err)
	}
}
