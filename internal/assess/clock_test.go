package assess

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/trace"
)

// made counts a second in each stretch, at clocks that are given.
type made struct {
	clocks  map[int][]float64 // Hz, by CPU
	highest float64
	at      int
	ran     map[int]Ran
}

func (m *made) Read(time.Time) (map[int]Ran, error) {
	out := map[int]Ran{}
	for cpu, hz := range m.clocks {
		if m.at > 0 {
			x := m.ran[cpu]
			m.ran[cpu] = Ran{x.Cycles + hz[m.at-1], x.Seconds + 1}
		}
		out[cpu] = m.ran[cpu]
	}
	m.at++
	return out, nil
}
func (m *made) Highest() (float64, error)        { return m.highest, nil }
func (m *made) About() (string, result.Evidence) { return "made", result.Emulated }
func (m *made) Close()                           {}

func clockOf(t *testing.T, m *made, seen *trace.Result, facts *host.Facts) (*Frequency, error) {
	t.Helper()
	m.ran = map[int]Ran{}
	c := &clockMeter{source: m}
	for range 1 + len(m.clocks[0]) {
		c.look(time.Now())
	}
	return c.frequency(seen, facts)
}

// TestFrequency: its interval holds over stretches, CPUs count by the service's share of their
// work, and a slow policy is not taken for the most that the hardware can.
func TestFrequency(t *testing.T) {
	two := map[int][]float64{0: {1.9e9, 2e9, 2.1e9}, 1: {3e9, 3e9, 3e9}}
	f := testkit.Must(clockOf(t, &made{clocks: two, highest: 2.5e9}, nil, nil))(t)
	if !near(f.Mean/1e9, 2.5) || !(f.Low < 2.5e9 && f.High > 2.5e9) || f.N != 3 || f.Limit != 2.5e9 ||
		f.Evidence != result.Emulated {
		t.Errorf("%+v", f)
	}
	seen := &trace.Result{CPUs: []trace.CPU{{Number: 0, Busy: 0.8, Run: 0.8}, {Number: 1, Busy: 0.5}}}
	facts := &host.Facts{}
	facts.Frequency.Policies = []host.Policy{{Base: host.Known(int64(3e9), "Hz", ""),
		HWMax: host.Known(int64(4e9), "Hz", "")}}
	f = testkit.Must(clockOf(t, &made{clocks: two, highest: 2.5e9}, seen, facts))(t)
	if !near(f.Mean/1e9, 2) || f.Highest != 3e9 || f.Limit != 4e9 {
		t.Errorf("of the first CPU alone, base 3 GHz, at most 4 GHz: %+v", f)
	}
	if _, err := clockOf(t, &made{clocks: map[int][]float64{0: {1e9}}, highest: 1e9}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "--for") {
		t.Errorf("one stretch: %v", err)
	}
	if _, err := clockOf(t, &made{clocks: map[int][]float64{0: {0, 0, 0}}, highest: 1e9}, nil, nil); err == nil {
		t.Error("a counter that stands still is taken for a clock of 0 Hz")
	}
}

// TestCPUClock: where the driver alone tells the clock, a CPU's busy time counts at it, and
// idle CPUs do not.
func TestCPUClock(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(root, name)
		testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o755))
		testkit.OK(t, os.WriteFile(file, []byte(text+"\n"), 0o644))
	}
	look := func(busy0, busy1, khz0, khz1 int) {
		write("proc/stat", fmt.Sprintf("cpu 0 0 0 0 0 0 0 0 0 0\ncpu0 %d 0 0 1000 0 0 0 0 0 0\ncpu1 %d 0 0 1000 0 0 0 0 0 0", busy0, busy1))
		for cpu, khz := range []int{khz0, khz1} {
			dir := fmt.Sprintf("sys/devices/system/cpu/cpu%d/cpufreq/", cpu)
			write(dir+"cpuinfo_max_freq", "3600000")
			write(dir+"scaling_cur_freq", fmt.Sprint(khz))
		}
	}
	testkit.Refused(openCPUs(host.Tree{Root: root}))(t, "", "opened without anything to read")
	look(100, 100, 1200000, 1200000)
	c := testkit.Must(openCPUs(host.Tree{Root: root}))(t)
	defer c.Close()
	testkit.Must(c.Read(time.Now()))(t)
	look(200, 100, 2400000, 800000)
	got := testkit.Must(c.Read(time.Now()))(t)
	if want := (Ran{2.4e9, 1}); got[0] != want || got[1] != (Ran{}) {
		t.Errorf("%v, want %v on the first CPU alone", got, want)
	}
	testkit.Is(t, 2.4e9, testkit.Must(c.Highest())(t), "highest")
}
