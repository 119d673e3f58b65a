package scanlock

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/testkit"
)

// The published run comes out as the program of 2005 printed it, but for the
// blanks that its publisher made of tabs.
func TestLinesOf2005(t *testing.T) {
	var b bytes.Buffer
	testkit.OK(t, Between(publishedPlan(t), Snapshot{}, publishedRun()).Write2005(&b))
	want := "Thread Id = 0\t, Thread Affinity = 00000008\t, Locked = 0\t, Spin = 9035\t\n" +
		"Thread Id = 1\t, Thread Affinity = 00000001\t, Locked = 9290331\t, Spin = 10373717\t\n" +
		"Thread Id = 2\t, Thread Affinity = 00000002\t, Locked = 676397\t, Spin = 40879794\t\n" +
		"Thread Id = 3\t, Thread Affinity = 00000004\t, Locked = 10274030\t, Spin = 42433521\t\n"
	testkit.Same(t, want, b.String())
}

func TestTable(t *testing.T) {
	p := publishedPlan(t)
	s := publishedRun()
	s.Counts[1].Waited, s.Counts[1].HasWaited = time.Second, true
	var b bytes.Buffer
	res := Result{Total: Between(p, Snapshot{}, s)}
	testkit.OK(t, document.WriteText(&b, Document(p, res, NewData(p, res)), document.TextOptions{}))
	checkScreen(t, b.String(), 30)
	want := `Whole run, 10.0 s: 3 lock threads took the lock 2.02 M/s in all; a fair share is
675 k/s. 1 scanner: 904 /s scans, 904 MiB/s. Measured.

One run, without an interval; the first 0.1 s are not counted.

! the thread on CPU 0 waited up to 10 % of the time: others had the CPU. Rates
  there are too low by that, and a lock held meanwhile slows all
! the lock thread on CPU 1 shares a core with a scanner, as the system reports
  it: what one does there costs the other
! on 1 core two or more lock threads share the core

PLAN
  scan  1 thread on CPU 3: overwrite 1 MiB each, over and over
  lock  3 threads on CPUs 0-2: one lock, nothing under it
        on a scanner's core: 1
        same last-level cache: 0,2

THREADS
  id  role  CPU  place                  rate      spins/lock  of fair  waited
`
	testkit.Same(t, want, b.String()[:min(len(want), b.Len())])
	for _, want := range []string{"1   lock  0 ", "10 %", "60.4"} {
		testkit.Has(t, b.String(), want)
	}
}

// Other programs read a row a thread, in base units; what is not known is empty.
func TestCSV(t *testing.T) {
	var b bytes.Buffer
	res := Result{Total: Between(publishedPlan(t), Snapshot{}, publishedRun())}
	testkit.OK(t, document.WriteCSV(&b, Document(publishedPlan(t), res, NewData(publishedPlan(t), res)).FirstTable()))
	lines := strings.Split(b.String(), "\r\n")
	testkit.Is(t, "id,role,cpu,place,acquisitions (1/s),spins (1/s),scans (1/s),spins per acquisition,"+
		"of fair share (ratio),on cpu (ratio),waited (ratio)", lines[0])
	testkit.Is(t, "0,scan,3,,0,0,903.5,,,,", lines[1])
}

func TestNumber(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 0.001: "<0.01", 1.234: "1.23", 60.44: "60.4", 123456: "123456",
		math.Inf(1): "infinite"} {
		testkit.Is(t, want, number(x), x)
	}
}
