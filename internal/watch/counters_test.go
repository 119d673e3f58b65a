package watch

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"hostlab/internal/counters"
	"hostlab/internal/proc"
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

func TestRunsRoundTrip(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.OneOf(rapid.Just(0.0), rapid.Just(math.NaN()), rapid.Just(100.0), rapid.Float64Range(0, 1e4)), 1, 70).Draw(t, "values")
		text := appendRuns(nil, len(values), func(i int) float64 { return values[i] }, 1)
		got, err := parseRuns(string(text), len(values))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if diff := cmp.Diff(values, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 0.0501)); diff != "" {
			t.Fatalf("%s: %s", text, diff)
		}
	})
}

func TestHertz(t *testing.T) {
	at := time.Now()
	for _, c := range []struct {
		name string
		a, b tally
		want float64
	}{
		{"cycles over busy time", tally{at, 10, counts{Actual: 1e9}}, tally{at.Add(4 * time.Second), 10.5, counts{Actual: 2.5e9}}, 3e9},
		// Half of 2 s busy at 1.5 times a TSC of 2 GHz.
		{"APERF over MPERF", tally{at, 1, counts{0, 0, 0}}, tally{at.Add(2 * time.Second), 2, counts{3e9, 2e9, 4e9}}, 3e9},
		{"nothing counted", tally{at, 1, counts{Actual: 5}}, tally{at.Add(time.Second), 2, counts{Actual: 5}}, math.NaN()},
	} {
		if got := hertz(c.a, c.b); math.Abs(got-c.want) > 1 || math.IsNaN(got) != math.IsNaN(c.want) {
			t.Errorf("%s: %v, expected %v", c.name, got, c.want)
		}
	}
}

// counted is a clock that counts how often each CPU is asked.
type counted map[int]int

func (c counted) read(cpu int) (counts, error) {
	c[cpu]++
	return counts{Actual: 3e8 * float64(c[cpu])}, nil
}
func (counted) close() {}

// TestSleepersAreNotWoken holds that only CPUs that were busy are asked.
func TestSleepersAreNotWoken(t *testing.T) {
	asked := counted{}
	s := &Sampler{clock: asked, said: map[string]bool{}}
	f := &cpuFiles{}
	now := time.Now()
	var got []float64
	for i, busy := range []float64{0, 0.01, 0.02, 0.12, 0.13} {
		c := CPUReading{Times: proc.Times{User: busy}}
		got = append(got, s.effective(f, &c, now.Add(time.Duration(i)*time.Second)))
	}
	if asked[0] != 2 || math.Abs(got[3]-2.5e9) > 1 || !math.IsNaN(got[1]) || !math.IsNaN(got[4]) {
		t.Errorf("asked %d times, told %v", asked[0], got)
	}
}

// TestChanceCovers holds that load dealt at random is seldom called uneven.
func TestChanceCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const times = 200
	called := 0
	for range times {
		blocks := make([][]float64, 12)
		for b := range blocks {
			blocks[b] = make([]float64, 16)
			for range 8 {
				blocks[b][rng.IntN(16)] += rng.Float64()
			}
		}
		if spreadOf(blocks, 10, rng).P <= 0.025 {
			called++
		}
	}
	if called > 14 { // 2.5 % are 5; more than 14 comes about once in 5,000
		t.Errorf("%d of %d random loads were called uneven", called, times)
	}
}

func TestInequality(t *testing.T) {
	for _, c := range []struct {
		sum           []float64
		quarter, gini float64
	}{
		{[]float64{1, 1, 1, 1}, 0.25, 0},
		{[]float64{0, 0, 0, 8}, 1, 0.75},
		{[]float64{1, 3}, 0.375, 0.25}, // half a CPU is a quarter of two
		{[]float64{0, 0}, math.NaN(), math.NaN()},
	} {
		q, g := inequality(c.sum)
		testkit.Is(t, "", cmp.Diff([]float64{c.quarter, c.gini}, []float64{q, g}, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-12)))
	}
}

func TestParseDisks(t *testing.T) {
	const now = " 259 0 nvme0n1 1 2 3 4 100 6 7 250 0 9 10 0 0 0 0 40 12\n 8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
	got, err := parseDisks([]byte(now), []string{"nvme0n1", "sda"})
	want := []DiskReading{{"nvme0n1", 100, 0.25, 40, 0.012}, {"sda", 5, 0.008, math.NaN(), math.NaN()}}
	if diff := cmp.Diff(want, got, cmpopts.EquateNaNs()); diff != "" || err != nil {
		t.Error(diff, err)
	}
	testkit.Refused(parseDisks([]byte(now), []string{"vda"}))(t, "", "a disk that is not there was found")
	if s, err := proc.ParsePressure([]byte("some avg10=0 total=x\n")); err == nil {
		t.Errorf("garbage was read as %v", s)
	}
}
