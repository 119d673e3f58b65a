package watch

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	"hostlab/internal/counters"
	"hostlab/internal/testkit"
)

const nominal = 2e9 // Hz

// pdhOf makes counters up of CPUs that are so busy, in %.
func pdhOf(busy ...float64) map[string]counters.Series {
	out := map[string]counters.Series{queueLength: {Values: []counters.Value{{Value: 4}}}, switchRate: {Err: counters.NoCounter}}
	for path, of := range map[string]func(float64) float64{
		userTime: func(b float64) float64 { return 0.75 * b }, systemTime: func(b float64) float64 { return 0.25 * b },
		idleTime: func(b float64) float64 { return 100 - b }, ofMaximum: func(float64) float64 { return 50 },
		performance: func(float64) float64 { return 120 },
	} {
		s := counters.Series{}
		for i, b := range busy {
			s.Values = append(s.Values, counters.Value{Instance: fmt.Sprintf("0,%d", i), Value: of(b)})
		}
		out[path] = s
	}
	return out
}

func talliesOf(n int) *tallies {
	var cpus []counterCPU
	for i := range n {
		cpus = append(cpus, counterCPU{i, fmt.Sprintf("0,%d", i), nominal})
	}
	return newTallies("win1", cpus, "")
}

func TestTallies(t *testing.T) {
	w := talliesOf(2)
	first := pdhOf(0, 0)
	w.begin(first)
	if len(w.info.Unknown) != 2 || w.info.Unknown[0].What != "context switches" || w.info.Effective == "" {
		t.Errorf("info %+v", w.info)
	}
	a := w.total
	a.At = time.Unix(100, 0)
	next := pdhOf(80, 2)
	w.add(2, next)
	b := w.total
	b.At = time.Unix(102, 0)
	s := Between(w.info, a, b)
	c, idle := s.CPUs[0], s.CPUs[1]
	if math.Abs(c.User-0.6) > 1e-9 || math.Abs(c.System-0.2) > 1e-9 || math.Abs(c.Idle-0.2) > 1e-9 || known(c.IOWait) || known(c.Steal) {
		t.Errorf("CPU 0: %+v", c)
	}
	if c.Ratio != 0.5 || c.Effective != 1.2*nominal || known(idle.Effective) || known(c.Deep) || s.System.Queue != 4 || known(s.System.Switches) {
		t.Errorf("CPU 0: %+v, CPU 1: %+v, system %+v", c, idle, s.System)
	}
	lost := pdhOf(80) // the second CPU has gone
	w.add(1, lost)
	d := w.total
	d.At = time.Unix(103, 0)
	if gone := Between(w.info, b, d).CPUs[1]; known(gone.Busy()) || known(gone.Ratio) {
		t.Errorf("a CPU without counters: %+v", gone)
	}
}

// TestTalliesAnalyzed records a quiet night and an uneven day, as Windows tells them, and judges the record.
func TestTalliesAnalyzed(t *testing.T) {
	w := talliesOf(8)
	w.begin(pdhOf(0, 0, 0, 0, 0, 0, 0, 0))
	var file []byte
	last := w.total
	last.At = time.Unix(1790000000, 0)
	h := NewHead(w.info, last, 10*time.Second)
	file = append(file, HeadLine(h)...)
	for i := range 360 {
		busy := []float64{1, 1, 1, 1, 1, 1, 1, 1}
		if i >= 120 {
			busy = []float64{90, 90, 1, 1, 1, 1, 1, 1}
		}
		w.add(10, pdhOf(busy...))
		now := w.total
		now.At = last.At.Add(10 * time.Second)
		var err error
		if file, err = AppendLine(file, h, Between(w.info, last, now)); err != nil {
			t.Fatal(err)
		}
		last = now
	}
	r := testkit.Must(ReadRecord(bytes.NewReader(file)))(t)
	a := Analyze(r, DefaultQuestion())
	if a.Verdict != UnevenAlways || known(a.Steal) || known(a.First.Deep) || known(a.First.Waited) || math.Abs(a.First.Clock-0.5) > 0.01 {
		t.Errorf("verdict %v, steal %v, first %+v", a.Verdict, a.Steal, a.First)
	}
}
