package scanlock

import (
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/testkit"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

func params(t testing.TB, given map[string]any) workload.Params {
	t.Helper()
	return testkit.Must(workload.Check(Workload{}.Describe(), given))(t)
}

// Hosts of any shape have the same CPU.
func TestContract(t *testing.T) {
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params:     map[string]any{"scanner": "same", "duration": "150ms", "warm_up": "5ms"},
		Long:       map[string]any{"scanner": "same", "duration": "20s", "warm_up": "5ms"},
		Operations: workloadtest.Some, Unseeded: "threads repeat one step each, with nothing to draw",
	})
}

// Every level that this host offers gives what it should.
func TestScanners(t *testing.T) {
	s := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: params(t, nil)}))(t)
	defer s.Close()
	all := testkit.Must(thread.Allowed())(t)
	offered := []result.Scanner{result.NoScanner, result.ScannerSame}
	if len(all) > 1 {
		offered = append(offered, result.Rotation)
	}
	for _, level := range offered {
		run := func(duration string) (workload.Sample, error) {
			return s.Run(t.Context(), workload.Request{Params: params(t, map[string]any{"scanner": string(level),
				"duration": duration, "warm_up": "5ms"})})
		}
		got, err := run("50ms")
		// others had the CPU all the time
		for try := 0; try < 20 && err != nil && strings.Contains(err.Error(), "did not take the lock once"); try++ {
			got, err = run("300ms")
		}
		if err != nil {
			t.Errorf("%s: %v", level, err)
			continue
		}
		if _, scans := got.Values["scan_rate"]; scans != (level != result.NoScanner) {
			t.Errorf("%s: %v", level, got.Values)
		}
		if !(got.Values["lock_rate"] > 0) || !(got.Values["total_rate"] > 0) || got.Operations < 1 {
			t.Errorf("%s: %v", level, got.Values)
		}
	}
}

// counts makes a stretch of one second.
func counts(threads []Thread, acquisitions ...uint64) stretch {
	s := stretch{cell: Cell{Threads: threads, ScanSize: 1000}, seconds: 1}
	for i, t := range threads {
		s.counts = append(s.counts, Count{Thread: t, Acquisitions: acquisitions[i], Spins: 10, Rounds: 7, Bytes: 7250,
			CPUTime: time.Second, HasCPU: true, HasWaited: true})
	}
	return s
}

// smt4 is the published machine: CPUs 0 and 2, and 1 and 3, share a core.
func smt4() *host.Topology {
	t := &host.Topology{CoreTypes: []host.CoreType{{Name: "all"}}}
	for cpu := range 4 {
		both := []int{cpu % 2, cpu%2 + 2}
		t.CPUs = append(t.CPUs, host.CPU{ID: cpu, Socket: host.Known(cpu%2, "", ""), Siblings: host.Known(both, "", "")})
	}
	for core := range 2 {
		for level, size := range map[int]int64{1: 8 << 10, 2: 512 << 10} {
			t.Caches = append(t.Caches, host.Cache{Level: level, Type: "Data", Size: host.Known(size, "B", ""),
				CPUs: []int{core, core + 2}})
		}
	}
	return t
}

func on4(allowed ...int) site { return site{m: cpus.New(smt4(), allowed, nil)} }

// The published runs, as the rotation measures them, have the mean of their shares.
func TestPublishedShare(t *testing.T) {
	at := func(scanner int, acquisitions ...uint64) stretch {
		threads := []Thread{{scanner, Scan}}
		for cpu := range 4 {
			if cpu != scanner {
				threads = append(threads, Thread{cpu, Lock})
			}
		}
		return counts(threads, append([]uint64{0}, acquisitions...)...)
	}
	m := measured{site: on4(), scanner: result.Rotation, before: 1e-8, after: 1.1e-8, stretches: []stretch{
		at(3, 9290331, 676397, 10274030), at(2, 741166, 10747824, 10210221), at(0, 10550011, 722554, 11182506),
		at(1, 9900899, 8984095, 1297138)}}
	got := testkit.Must(m.sample())(t)
	for name, want := range map[string]float64{"sibling_share": math.Pow(0.069146*0.070729*0.066495*0.137373, 0.25),
		"lock_rate": (9290331 + 741166 + 9900899) / 3.0, "scan_rate": 7.25, "spins_per_lock": 30 / (9290331 + 741166 +
			9900899.0)} {
		if math.Abs(got.Values[name]/want-1) > 1e-3 {
			t.Errorf("%s = %g, want %g", name, got.Values[name], want)
		}
	}
	testkit.Is(t, "", got.Doubt, "doubt")
}

func TestDoubt(t *testing.T) {
	off := func(m *measured, thread int, d time.Duration) { // where the system does not tell who waited
		c := &m.stretches[0].counts[thread]
		c.CPUTime, c.HasWaited = c.CPUTime-d, false
	}
	shared := func(m *measured, lock, scan time.Duration) { // two threads of ours have one CPU in turn
		s := &m.stretches[0]
		s.cell.Threads[1].CPU, s.counts[1].CPU = 0, 0
		s.counts[0].CPUTime, s.counts[1].CPUTime = lock, scan
		s.counts[0].Waited, s.counts[1].Waited = time.Second-lock, time.Second-scan
	}
	for name, c := range map[string]struct {
		change func(*measured)
		want   string
	}{
		"quiet": {func(*measured) {}, ""},
		"moved": {func(m *measured) {
			m.after = 6.1e-8
		}, "the CPUs moved: a cache line took 50 ns between them before and 61 ns after"},
		"nearer": {func(m *measured) {
			m.after = 4.1e-8
		}, "the CPUs moved: a cache line took 50 ns between them before and 41 ns after"},
		"a little": {func(m *measured) { m.after = 5.9e-8 }, ""},
		"not told": {func(m *measured) { m.after = 0 }, ""},
		"waited": {func(m *measured) {
			m.stretches[0].counts[1].Waited = 50 * time.Millisecond
		}, "others took 5.0 % of a CPU that the threads ran on"},
		"waited for ever": {func(m *measured) {
			m.stretches[0].counts[1].Waited = 2 * time.Second
		}, "others took 100.0 % of a CPU that the threads ran on"},
		"in turn": {func(m *measured) { shared(m, 480*time.Millisecond, 515*time.Millisecond) }, ""},
		"in turn, others": {func(m *measured) {
			shared(m, 392*time.Millisecond, 500*time.Millisecond)
		}, "others took 10.0 % of a CPU that the threads ran on"},
		"a tick off": {func(m *measured) { off(m, 1, 20*time.Millisecond) }, ""},
		"off its CPU": {func(m *measured) {
			off(m, 0, 108*time.Millisecond)
		}, "others took 10.0 % of a CPU that the threads ran on"},
		"beside": {func(m *measured) {
			m.stretches[0].beside = map[int]float64{2: 0.31}
		}, "others ran 30.0 % of the time on CPU 2, which shares a core with a thread"},
		"beside, a tick": {func(m *measured) { m.stretches[0].beside = map[int]float64{2: 0.02} }, ""},
		"steal": {func(m *measured) {
			m.stretches[0].hasLoads, m.stretches[0].steal = true, 0.12
		}, "others took 5.0 % of a CPU that the threads ran on"},
		"steal ticks": {func(m *measured) { m.stretches[0].hasLoads, m.stretches[0].steal = true, 0.05 }, ""},
	} {
		m := measured{site: on4(), scanner: result.ScannerCore, before: 5e-8, after: 5e-8,
			stretches: []stretch{counts([]Thread{{0, Lock}, {1, Scan}}, 1000, 0)}}
		c.change(&m)
		if got, err := m.sample(); err != nil || got.Doubt != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got.Doubt, err, c.want)
		}
	}
}

// A lock that was never taken by a thread without its CPU has no rate; one that starved
// for the lock has that of half an acquisition.
func TestStarved(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Count)
		fails  string
	}{
		"had its CPU": {func(*Count) {}, ""},
		"half of it":  {func(c *Count) { c.CPUTime = 500 * time.Millisecond }, ""},
		"still waits": {func(c *Count) {
			c.CPUTime = 0
		}, "CPU 0 did not take the lock once in 1 s: the CPU is taken by others"},
		"not told": {func(c *Count) { c.HasWaited, c.HasCPU = false, false }, "does not tell whether others had its CPU"},
	} {
		m := measured{site: on4(), stretches: []stretch{counts([]Thread{{0, Lock}, {2, Lock}}, 0, 999)}}
		c.change(&m.stretches[0].counts[0])
		got, err := m.sample()
		if c.fails != "" {
			testkit.Fails(t, err, c.fails, name)
			continue
		}
		want := map[string]float64{"lock_rate": 0.5, "spins_per_lock": 20, "total_rate": 999}
		if diff := cmp.Diff(want, got.Values); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// A position of the rotation in which the scanner's sibling never got the lock counts,
// with half an acquisition, and one whose CPU others had does not.
func TestSiblingStarved(t *testing.T) {
	threads := []Thread{{3, Scan}, {0, Lock}, {1, Lock}, {2, Lock}}
	at := func(siblings, others uint64) stretch { return counts(threads, 0, others, siblings, others) }
	share := func(change func(*measured), all ...stretch) (float64, string) {
		m := measured{site: on4(), scanner: result.Rotation, stretches: all}
		change(&m)
		return m.siblingShare()
	}
	wait := func(m *measured) { m.stretches[0].counts[2].CPUTime = 0 }
	none := func(*measured) {}
	if got, _ := share(none, at(0, 1000), at(10, 1000)); math.Abs(got/math.Sqrt(0.0005*0.01)-1) > 1e-9 {
		t.Errorf("starved once: %g", got)
	}
	if got, _ := share(none, at(1000, 0), at(1000, 1000)); math.Abs(got/math.Sqrt(4000)-1) > 1e-9 {
		t.Errorf("the others starved once: %g", got)
	}
	if got, _ := share(wait, at(0, 1000), at(10, 1000)); math.Abs(got/0.01-1) > 1e-9 {
		t.Errorf("without its CPU once: %g", got)
	}
	if got, why := share(wait, at(0, 1000)); got != 0 || why != "lock threads got nothing while others had their CPUs" {
		t.Errorf("without its CPU: %g, %q", got, why)
	}
}

// The rotation has each CPU scan once while all others take the lock: one thread of each core, or the
// CPUs of a list, where that is asked for.
func TestRotation(t *testing.T) {
	for _, c := range []struct {
		cpus    string
		allowed []int
		want    []int
		fails   string
	}{
		{"all", nil, []int{0, 1, 2, 3}, ""},
		{"one-per-core", nil, []int{0, 1}, ""},
		{"one-per-core", []int{0, 2, 3}, []int{0, 3}, ""},
		{"0,2-3", nil, []int{0, 2, 3}, ""},
		{"one-per-core", []int{0, 2}, nil, "one-per-core: that is one CPU, and the rotation takes two"},
		{"1-2", nil, nil, "1-2: CPU 0, that of the lock thread, is not among them"},
		{"0,9", nil, nil, "CPU 9: offline"},
	} {
		cells, err := on4(c.allowed...).cells(params(t, map[string]any{"scanner": "rotation", "cpus": c.cpus,
			"scan_size": "1MiB"}).(*Params))
		if c.fails != "" {
			testkit.Fails(t, err, c.fails, c.cpus)
			continue
		}
		var scanners []int
		for _, cell := range cells {
			scanners = append(scanners, cell.Threads[0].CPU)
			if len(cell.Threads) != len(c.want) || cell.ScanSize != 1<<20 {
				t.Errorf("%s: %+v", c.cpus, cell)
			}
			for i, th := range cell.Threads {
				if !slices.Contains(c.want, th.CPU) || (th.Role == Scan) != (i == 0) {
					t.Errorf("%s: thread %+v", c.cpus, th)
				}
			}
		}
		if !slices.Equal(scanners, c.want) || err != nil {
			t.Errorf("%s: scanners %v, want %v, %v", c.cpus, scanners, c.want, err)
		}
	}
	testkit.Fails(t, (Workload{}).Validate(workload.Config{Params: params(t,
		map[string]any{"cpus": "one-per-cor"})}), "did you mean one-per-core?")
}

func TestOffers(t *testing.T) {
	m := workload.Machine{Topology: smt4()}
	levels := []string{"none", "sibling", "core", "same", "rotation"}
	cfg := workload.Config{Params: params(t, nil), Machine: m}
	want := map[string]string{"core": "no other core shares the last-level cache of CPU 0"}
	testkit.Same(t, want, Workload{}.Offers(cfg, "scanner", levels, m))
	known := result.Machine{CPUs: 4, Cores: 2, Victim: new(0), Scan: 1 << 20,
		Scanner: map[string]int{"sibling": 2, "same": 0}}
	testkit.Same(t, known, Workload{}.Machine(cfg, m))
	m.Allowed = []int{1}
	got := Workload{}.Offers(cfg, "scanner", []string{"none", "sibling", "rotation"}, m)
	want = map[string]string{"sibling": "none of the CPUs that may be used shares a core with CPU 1",
		"rotation": "one CPU may be used, and it takes two"}
	testkit.Same(t, want, got)
	if got := (Workload{}).Offers(cfg, "victim", []string{"-1", "1", "3"}, m); len(got) != 1 || got["3"] == "" {
		t.Errorf("victims: %v", got)
	}
	flat := workload.Machine{Topology: &host.Topology{CPUs: []host.CPU{{ID: 0, Siblings: host.Known([]int{0}, "", "")},
		{ID: 1, Siblings: host.Known([]int{1}, "", "")}}}}
	if got := (Workload{}).Offers(cfg, "cpus", []string{"all", "one-per-core"}, flat); len(got) != 1 ||
		got["one-per-core"] != "no core has two threads here" {
		t.Errorf("%v", got)
	}
}

// A scan of less than what is written at once would be rounded to nothing.
func TestLeastScan(t *testing.T) {
	for text, ok := range map[string]bool{"0": true, "1B": false, "127B": false, "128B": true, "200B": true,
		"1GiB": true} {
		p := params(t, map[string]any{"scan_size": text})
		err := Workload{}.Validate(workload.Config{Params: p})
		if bad := err != nil; bad == ok || bad && (!strings.Contains(err.Error(), "scan_size") ||
			strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", text, err)
		}
		if n := on4().scan(int64(p.(*Params).ScanSize)); ok && n < 128 {
			t.Errorf("%s: a scan of %d bytes", text, n)
		}
	}
}

// The baseline is watched as the cells that are compared with it, and the idle CPUs of
// the threads' cores with it.
func TestWatched(t *testing.T) {
	few := on4(0, 1)
	lock := func(cpus ...int) (c Cell) {
		for _, cpu := range cpus {
			c.Threads = append(c.Threads, Thread{cpu, Lock})
		}
		return c
	}
	for _, c := range []struct {
		s    site
		cell Cell
		b    int
		idle []int
	}{{on4(), lock(0), 2, []int{2}}, {on4(), lock(0, 2), 2, nil}, {on4(), lock(0, 1), 1, []int{2, 3}},
		{on4(), lock(0, 0), 2, []int{2}},
		{on4(), lock(3, 0, 1, 2), 2, nil}, {few, lock(0), -1, []int{2}}} {
		if _, b := c.s.ends(c.cell); b != c.b {
			t.Errorf("%v: watched with CPU %d, want %d", c.cell.Threads, b, c.b)
		}
		testkit.Same(t, c.idle, c.s.idleSiblings(c.cell), c.cell.Threads, ": idle")
	}
}

// A session goes by the CPUs that are there at each run, keeps its victim, and says
// which level has gone.
func TestCPUsThatGo(t *testing.T) {
	p := params(t, map[string]any{"scanner": "sibling"})
	s := session{m: cpus.New(smt4(), nil, nil), victim: -1}
	testkit.Is(t, 0, s.site(p.(*Params)).victim, "victim")
	s.m = cpus.New(smt4(), []int{0, 1, 3}, nil) // which has a pair, without CPU 0
	here := s.site(p.(*Params))
	testkit.Is(t, 0, here.victim, "victim")
	testkit.Refused(here.cells(p.(*Params)))(t, "sibling: none of the CPUs that may be used shares a core with CPU 0")
	s.m = cpus.New(smt4(), []int{1, 3}, nil)
	testkit.Is(t, 1, s.site(p.(*Params)).victim, "victim", "after its CPU went")
	// What the study knew is no more so: the session looks for itself, and again when
	// what it saw has changed.
	all := testkit.Must(thread.Allowed())(t)
	opened := testkit.Must(Workload{}.Open(t.Context(), workload.Config{Params: params(t, nil),
		Machine: workload.Machine{Topology: smt4(), Allowed: []int{2}}}))(t)
	defer opened.Close()
	got := opened.(*session)
	if runtime.GOOS == "linux" && !slices.Equal(all, []int{2}) {
		testkit.Same(t, all, got.m.CPUs(), "at Open")
	}
	got.m, got.seen, got.cfg.Machine = cpus.New(smt4(), []int{2}, nil), []int{2}, workload.Machine{}
	testkit.OK(t, got.look(t.Context()))
	testkit.Same(t, all, got.m.CPUs(), "after a change")
}
