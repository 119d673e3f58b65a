package scanlock

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/document"
)

// The published run comes out as the program of 2005 printed it, but for the
// blanks that its publisher made of tabs.
func TestLinesOf2005(t *testing.T) {
	var b bytes.Buffer
	if err := Between(publishedPlan(t), Snapshot{}, publishedRun()).Write2005(&b); err != nil {
		t.Fatal(err)
	}
	want := "Thread Id = 0\t, Thread Affinity = 00000008\t, Locked = 0\t, Spin = 9035\t\n" +
		"Thread Id = 1\t, Thread Affinity = 00000001\t, Locked = 9290331\t, Spin = 10373717\t\n" +
		"Thread Id = 2\t, Thread Affinity = 00000002\t, Locked = 676397\t, Spin = 40879794\t\n" +
		"Thread Id = 3\t, Thread Affinity = 00000004\t, Locked = 10274030\t, Spin = 42433521\t\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTable(t *testing.T) {
	p := publishedPlan(t)
	s := publishedRun()
	s.Counts[1].Waited, s.Counts[1].HasWaited = time.Second, true
	var b bytes.Buffer
	plan := &document.Document{Sections: []document.Section{p.Section()}}
	for _, d := range []*document.Document{plan, Between(p, Snapshot{}, s).Document(p, "Last ", "")} {
		if err := document.WriteText(&b, d, document.TextOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	checkScreen(t, b.String(), 22)
	want := `
PLAN
  scan  1 thread on CPU 3: overwrite 1 MiB each, over and over
  lock  3 threads on CPUs 0-2: one ttas lock, nothing under it
        on a scanner's core: 1
        same last-level cache: 0,2
  - the lock thread on CPU 1 shares a core with a scanner, as the system reports
    it: what one does there costs the other
  - on 1 core two or more lock threads share the core
Last 10.0 s: 3 lock threads took the lock 2.02 M/s in all; a fair share is
675 k/s; Jain's index 0.71 (1: all equal, 0.33: one has all). 1 scanner: 904 /s
scans, 904 MiB/s. Measured.

! the thread on CPU 0 waited up to 10 % of the time: others had the CPU. Rates
  there are too low by that, and a lock held meanwhile slows all

THREADS
  id  role  CPU  place                  rate      spins/lock  of fair  waited
`
	if diff := cmp.Diff(want, b.String()[:min(len(want), b.Len())]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, want := range []string{"1   lock  0 ", "10 %", "60.4"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestManyThreads(t *testing.T) {
	for _, n := range []int{64, 512} {
		p, err := Make(asked("", ""), made(n))
		if err != nil {
			t.Fatal(err)
		}
		s := Snapshot{At: time.Second}
		for i, th := range p.Cell.Threads {
			s.Counts = append(s.Counts, Count{Thread: th, Acquisitions: uint64(1e6 * i), Spins: 5e9, Rounds: 7})
		}
		table := Between(p, Snapshot{}, s)
		var old, ours bytes.Buffer
		if err := table.Write2005(&old); err != nil {
			t.Fatal(err)
		}
		if err := document.WriteText(&ours, table.Document(p, "Last ", ""), document.TextOptions{}); err != nil {
			t.Fatal(err)
		}
		checkScreen(t, ours.String(), 20)
		if lines := strings.Count(old.String(), "\n"); lines != n && n <= most2005 || lines > most2005 {
			t.Errorf("%d threads: %d lines in the old form", n, lines)
		}
		if !strings.Contains(ours.String(), "on a scanner's core") {
			t.Errorf("%s", ours.String())
		}
	}
}

func TestLatency(t *testing.T) {
	edges := WaitEdges()
	counts := make([]uint64, len(edges))
	counts[5], counts[8], counts[30] = 98, 1, 1
	l := LatencyOf(counts)
	if l.N != 100 || l.P50 != edges[5] || l.P99 != edges[8] || l.Max != edges[30] {
		t.Errorf("%+v", l)
	}
	var b bytes.Buffer
	if err := document.WriteText(&b, &document.Document{Sections: []document.Section{Table{Waits: counts}.Latencies()}}, document.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	checkScreen(t, b.String(), 26)
	if strings.Count(b.String(), "#") < 42 {
		t.Errorf("%s", b.String())
	}
	if LatencyOf(nil) != nil || LatencyOf(make([]uint64, 9)) != nil {
		t.Error("nothing has a latency")
	}
	for _, size := range []int{1, 7, 20, 21, len(edges)} {
		_, short := (&Latency{Edges: edges, Counts: counts}).trimmed(size)
		var sum uint64
		for _, c := range short {
			sum += c
		}
		if len(short) > size || sum != 100 {
			t.Errorf("in %d classes: %v", size, short)
		}
	}
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.001: "<0.01", 1.234: "1.23", 60.44: "60.4", 123456: "123456", math.Inf(1): "infinite"} {
		if got := number(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}
