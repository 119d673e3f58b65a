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
	"hostlab/internal/thread"
	"hostlab/internal/workload"
	"hostlab/internal/workload/workloadtest"
)

func params(t testing.TB, given map[string]any) workload.Values {
	t.Helper()
	v, err := workload.Check(Workload{}.Describe(), given)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// pair is the place of another CPU that this process may use, by its number, so that
// tests run on hosts of any shape.
func pair(t testing.TB, role string) map[string]any {
	t.Helper()
	cpus, err := thread.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{"cell": cellNone, "duration": "150ms", "warm_up": "5ms"}
	if len(cpus) > 1 && role != cellNone {
		out["cell"] = role + "@" + host.FormatList(cpus[1:2])
	}
	return out
}

func TestContract(t *testing.T) {
	long := pair(t, "scan")
	long["duration"] = "20s"
	workloadtest.Contract(t, Workload{}, workloadtest.Config{
		Params: pair(t, "scan"), Long: long, Operations: workloadtest.Some, Unseeded: "threads repeat one step each, with nothing to draw",
	})
}

// Every cell that this host offers gives what it should.
func TestCells(t *testing.T) {
	s, err := Workload{}.Open(t.Context(), workload.Config{Params: params(t, nil)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	offered := []string{cellNone}
	cpus, err := thread.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if len(cpus) > 1 {
		offered = append(offered, cellRotation)
		for _, r := range besides {
			offered = append(offered, pair(t, string(r))["cell"].(string))
		}
	}
	has := map[string][]string{"none": {}, "rotation": {"other_rate", "scan_rate"}, "scan": {"other_rate", "scan_rate"}, "pause": {"other_rate"}, "alu": {"other_rate"},
		"fma": {"other_rate"}, "lock": {"jain", "other_rate", "share", "spins_per_lock"}, "own": {"other_rate"}}
	for _, cell := range offered {
		got, err := s.Run(t.Context(), workload.Request{Params: params(t, map[string]any{"cell": cell, "duration": "50ms", "warm_up": "5ms", "touch": true})})
		for try := 0; try < 20 && err != nil && strings.Contains(err.Error(), "did not take the lock once"); try++ { // others had the CPU all the time
			got, err = s.Run(t.Context(), workload.Request{Params: params(t, map[string]any{"cell": cell, "duration": "300ms", "warm_up": "5ms", "touch": true})})
		}
		if err != nil {
			t.Errorf("%s: %v", cell, err)
			continue
		}
		role, _, _ := strings.Cut(cell, "@")
		var names []string
		for name := range got.Values {
			if name != "lock_rate" && name != "total_rate" && name != "ping_pong" { // which a busy host may hinder
				names = append(names, name)
			}
		}
		slices.Sort(names)
		if role == cellRotation && len(cpus) > 2 {
			names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(has[role], n) })
		}
		if !slices.Equal(names, has[role]) {
			t.Errorf("%s has %q, want %q", cell, names, has[role])
		}
		if !(got.Values["lock_rate"] > 0) || !(got.Values["total_rate"] > 0) || got.Operations < 1 {
			t.Errorf("%s: %v", cell, got.Values)
		}
	}
}

// counts makes a stretch of one second.
func counts(threads []Thread, acquisitions ...uint64) stretch {
	s := stretch{cell: Cell{Threads: threads, ScanSize: 1000}, seconds: 1}
	for i, t := range threads {
		s.counts = append(s.counts, Count{Thread: t, Acquisitions: acquisitions[i], Spins: 10, Rounds: 7, Bytes: 7250, CPUTime: time.Second, HasCPU: true, HasWaited: true})
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
			t.Caches = append(t.Caches, host.Cache{Level: level, Type: "Data", Size: host.Known(size, "B", ""), CPUs: []int{core, core + 2}})
		}
	}
	return t
}

// The published runs, as the rotation measures them, have the mean of their shares.
func TestSeedShare(t *testing.T) {
	at := func(scanner int, acquisitions ...uint64) stretch {
		threads := []Thread{{scanner, Scan}}
		for cpu := range 4 {
			if cpu != scanner {
				threads = append(threads, Thread{cpu, Lock})
			}
		}
		return counts(threads, append([]uint64{0}, acquisitions...)...)
	}
	m := measured{site: site{m: cpus.New(smt4(), nil, nil)}, name: cellName{text: cellRotation}, before: 1e-8, after: 1.1e-8, stretches: []stretch{
		at(3, 9290331, 676397, 10274030), at(2, 741166, 10747824, 10210221), at(0, 10550011, 722554, 11182506), at(1, 9900899, 8984095, 1297138)}}
	got, err := m.sample()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"sibling_share": math.Pow(0.069146*0.070729*0.066495*0.137373, 0.25), "lock_rate": (9290331 + 741166 + 9900899) / 3.0,
		"other_rate": 7.25, "scan_rate": 7250, "ping_pong": 1.05e-8} {
		if math.Abs(got.Values[name]/want-1) > 1e-3 {
			t.Errorf("%s = %g, want %g", name, got.Values[name], want)
		}
	}
	if got.Doubt != "" || got.Values["jain"] > 0.75 || got.Values["share"] > 1.2 {
		t.Errorf("doubt %q, %v", got.Doubt, got.Values)
	}
}

func TestDoubt(t *testing.T) {
	off := func(m *measured, thread int, d time.Duration) { // where the system does not tell who waited
		c := &m.stretches[0].counts[thread]
		c.CPUTime, c.HasWaited = c.CPUTime-d, false
	}
	two := []Thread{{0, Lock}, {1, Scan}}
	for name, c := range map[string]struct {
		change func(*measured)
		want   string
	}{
		"quiet":           {func(*measured) {}, ""},
		"moved":           {func(m *measured) { m.after = 6.1e-8 }, "the CPUs moved: a cache line took 50 ns between them before and 61 ns after"},
		"nearer":          {func(m *measured) { m.after = 4.1e-8 }, "the CPUs moved: a cache line took 50 ns between them before and 41 ns after"},
		"a little":        {func(m *measured) { m.after = 5.9e-8 }, ""},
		"not told":        {func(m *measured) { m.after = 0 }, ""},
		"waited":          {func(m *measured) { m.stretches[0].counts[1].Waited = 50 * time.Millisecond }, "others took 5.0 % of a CPU that the threads ran on"},
		"waited for ever": {func(m *measured) { m.stretches[0].counts[1].Waited = 2 * time.Second }, "others took 100.0 % of a CPU that the threads ran on"},
		"slept":           {func(m *measured) { m.stretches[0].counts[0].CPUTime -= 500 * time.Millisecond }, ""},
		"a tick off":      {func(m *measured) { off(m, 1, 20*time.Millisecond) }, ""},
		"off its CPU":     {func(m *measured) { off(m, 0, 108*time.Millisecond) }, "others took 10.0 % of a CPU that the threads ran on"},
		"in a futex":      {func(m *measured) { m.stretches[0].cell.Lock = Mutex; off(m, 0, 500*time.Millisecond) }, ""},
		"not in a futex":  {func(m *measured) { m.stretches[0].cell.Lock = Mutex; off(m, 1, 508*time.Millisecond) }, "others took 50.0 % of a CPU that the threads ran on"},
		"beside":          {func(m *measured) { m.stretches[0].beside = map[int]float64{2: 0.31} }, "others ran 30.0 % of the time on CPU 2, which shares a core with a thread"},
		"beside, a tick":  {func(m *measured) { m.stretches[0].beside = map[int]float64{2: 0.02} }, ""},
		"steal":           {func(m *measured) { m.stretches[0].hasLoads, m.stretches[0].steal = true, 0.12 }, "others took 5.0 % of a CPU that the threads ran on"},
		"steal ticks":     {func(m *measured) { m.stretches[0].hasLoads, m.stretches[0].steal = true, 0.05 }, ""},
	} {
		m := measured{site: site{m: cpus.New(smt4(), nil, nil)}, name: cellName{text: "scan@1", role: Scan, cpu: 1}, before: 5e-8, after: 5e-8,
			stretches: []stretch{counts(two, 1000, 0)}}
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
		"waited":      {func(c *Count) { c.Waited, c.CPUTime = 900*time.Millisecond, 100*time.Millisecond }, "CPU 0 did not take the lock once in 1 s: the CPU is taken by others"},
		"still waits": {func(c *Count) { c.CPUTime = 0 }, "the CPU is taken by others"},
		"not told":    {func(c *Count) { c.HasWaited, c.HasCPU = false, false }, "does not tell whether others had its CPU"},
	} {
		m := measured{site: site{m: cpus.New(smt4(), nil, nil)}, name: cellName{text: "lock@2", role: Lock, cpu: 2}, before: 1e-8, after: 1e-8,
			stretches: []stretch{counts([]Thread{{0, Lock}, {2, Lock}}, 0, 999)}}
		c.change(&m.stretches[0].counts[0])
		got, err := m.sample()
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		want := map[string]float64{"lock_rate": 0.5, "spins_per_lock": 20, "total_rate": 999, "other_rate": 999, "ping_pong": 1e-8, "share": 2 * 0.5 / 999.5, "jain": Jain([]float64{0.5, 999})}
		if diff := cmp.Diff(want, got.Values); diff != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
		}
	}
}

// A thread that sleeps on a mutex had its CPU as long as nobody else did.
func TestStarvedAsleep(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Count)
		want   bool
	}{
		"slept":       {func(c *Count) { c.CPUTime = 20 * time.Millisecond }, true},
		"waited":      {func(c *Count) { c.CPUTime, c.Waited = 20*time.Millisecond, 800*time.Millisecond }, false},
		"still waits": {func(c *Count) { c.CPUTime = 0 }, false},
		"not told":    {func(c *Count) { c.CPUTime, c.HasWaited = 20*time.Millisecond, false }, false},
	} {
		s := counts([]Thread{{0, Lock}, {2, Lock}}, 0, 999)
		s.cell.Lock = Mutex
		c.change(&s.counts[0])
		if got, _ := s.had(0); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A position of the rotation in which the scanner's sibling never got the lock counts,
// with half an acquisition, and one whose CPU others had does not.
func TestSiblingStarved(t *testing.T) {
	threads := []Thread{{3, Scan}, {0, Lock}, {1, Lock}, {2, Lock}}
	at := func(siblings, others uint64) stretch { return counts(threads, 0, others, siblings, others) }
	share := func(change func(*measured), all ...stretch) (float64, string) {
		m := measured{site: site{m: cpus.New(smt4(), nil, nil)}, name: cellName{text: cellRotation}, stretches: all}
		change(&m)
		got, err := m.sample()
		if err != nil {
			t.Fatal(err)
		}
		return got.Values["sibling_share"], got.Missing["sibling_share"]
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

// The rotation takes one thread of each core, or the CPUs of a list.
func TestRotationOnSomeCPUs(t *testing.T) {
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
		s := site{m: cpus.New(smt4(), c.allowed, nil)}
		cells, err := s.cells(cellName{text: cellRotation}, params(t, map[string]any{"cpus": c.cpus}))
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%s: %v, want %q", c.cpus, err, c.fails)
			}
			continue
		}
		var scanners []int
		for _, cell := range cells {
			scanners = append(scanners, cell.Threads[0].CPU)
			if len(cell.Threads) != len(c.want) {
				t.Errorf("%s: %+v", c.cpus, cell.Threads)
			}
			for _, th := range cell.Threads {
				if !slices.Contains(c.want, th.CPU) {
					t.Errorf("%s: a thread on CPU %d", c.cpus, th.CPU)
				}
			}
		}
		if !slices.Equal(scanners, c.want) || err != nil {
			t.Errorf("%s: scanners %v, want %v, %v", c.cpus, scanners, c.want, err)
		}
	}
	if err := (Workload{}).Validate(workload.Config{Params: params(t, map[string]any{"cpus": "one-per-cor"})}); err == nil || !strings.Contains(err.Error(), "did you mean one-per-core?") {
		t.Errorf("%v", err)
	}
	flat := workload.Machine{Topology: &host.Topology{CPUs: []host.CPU{{ID: 0, Siblings: host.Known([]int{0}, "", "")}, {ID: 1, Siblings: host.Known([]int{1}, "", "")}}}, Allowed: []int{0, 1}}
	cfg := workload.Config{Params: params(t, map[string]any{"cell": cellRotation}), Machine: flat}
	if got := (Workload{}).Offers(cfg, "cpus", []string{"all", "one-per-core"}, flat); len(got) != 1 || got["one-per-core"] != "no core has two threads here" {
		t.Errorf("%v", got)
	}
}

func TestOffers(t *testing.T) {
	m := workload.Machine{Topology: smt4()}
	levels := []string{"none", "scan@sibling", "scan@core", "scan@llc", "scan@socket", "scan-2xllc@sibling", "scan@3", "alu@9", "rotation", "own@0"}
	want := map[string]string{
		"scan@core":          "no other core shares the last-level cache of CPU 0",
		"scan@llc":           "the socket of CPU 0 has no second last-level cache",
		"scan-2xllc@sibling": "no cache behind L2 is known, so that twice the last-level cache is twice L2",
		"alu@9":              "CPU 9 is offline, or not among the CPUs that may be used",
		"own@0":              "CPU 0 is that of the lock thread",
	}
	cfg := workload.Config{Params: params(t, nil), Machine: m}
	if diff := cmp.Diff(want, Workload{}.Offers(cfg, "cell", levels, m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	context := map[string]string{"victim": "CPU 0", "cpus": "4", "l1": "8 KiB", "l2": "512 KiB", "llc": "512 KiB", "cpu_sibling": "CPU 2", "cpu_socket": "CPU 1",
		"scan": "1 MiB", "scan_half_l1": "4 KiB", "scan_half_l2": "256 KiB", "scan_2xl2": "1 MiB"}
	if diff := cmp.Diff(context, Workload{}.Context(cfg, m)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	m.Allowed = []int{1}
	got := Workload{}.Offers(cfg, "cell", []string{"none", "scan@sibling", "rotation"}, m)
	want = map[string]string{"scan@sibling": "none of the CPUs that may be used shares a core with CPU 1", "rotation": "one CPU may be used, and it takes two"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := (Workload{}).Offers(cfg, "victim", []string{"-1", "1", "3"}, m); len(got) != 1 || got["3"] == "" {
		t.Errorf("victims: %v", got)
	}
	if got := (Workload{}).Offers(cfg, "lock", []string{"tas", "mutex"}, m); len(got) > 0 {
		t.Errorf("locks: %v", got)
	}
}

func TestParseCell(t *testing.T) {
	for _, name := range append(cellNames(), "scan@0", "scan-half-l2@12") {
		c, err := parseCell(name)
		if err != nil || c.text != name {
			t.Errorf("%s gave %+v, %v", name, c, err)
		}
	}
	for name, want := range map[string]string{"": "there are none, rotation", "scna@sibling": "did you mean scan@sibling?", "scan@-1": "is no cell", "scan@01": "is no cell", "alu-2xl2@core": "is no cell",
		"scan": "is no cell", "scan-@core": "is no cell", "@core": "is no cell", "scan-3xl2@core": "did you mean scan-2xl2@core?"} {
		if _, err := parseCell(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gave %v, want %q", name, err, want)
		}
	}
	err := Workload{}.Validate(workload.Config{Params: params(t, map[string]any{"cell": "alu@2", "victim": int64(2)})})
	if err == nil || !strings.Contains(err.Error(), "both threads are to run on CPU 2") {
		t.Errorf("%v", err)
	}
}

// A scan of less than what is written at once would be rounded to nothing; one that
// fits has a rate, however short the run.
func TestLeastScan(t *testing.T) {
	for text, ok := range map[string]bool{"0": true, "1B": false, "127B": false, "128B": true, "200B": true, "1GiB": true} {
		p := params(t, map[string]any{"scan_size": text})
		err := Workload{}.Validate(workload.Config{Params: p})
		if bad := err != nil; bad == ok || bad && (!strings.Contains(err.Error(), "scan_size") || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", text, err)
		}
		if n, why := (site{m: cpus.New(smt4(), nil, nil)}).scan("", p.Int("scan_size")); ok && (n < 128 || why != "") {
			t.Errorf("%s: a scan of %d bytes: %s", text, n, why)
		}
	}
}

// The rotation has each CPU scan once while all others take the lock.
func TestRotation(t *testing.T) {
	s := site{m: cpus.New(smt4(), nil, nil)}
	cells, err := s.cells(cellName{text: cellRotation}, params(t, map[string]any{"lock": "tas", "layout": "packed", "scan_size": "1MiB"}))
	if err != nil || len(cells) != 4 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	for i, c := range cells {
		if c.Threads[0] != (Thread{i, Scan}) || len(c.Threads) != 4 || c.ScanSize != 1<<20 || c.Lock != TAS || c.Layout != Packed {
			t.Errorf("%+v", c)
		}
	}
}

// The baseline is watched as the cells that are compared with it, and the idle CPUs of
// the threads' cores with it.
func TestWatched(t *testing.T) {
	s := site{m: cpus.New(smt4(), nil, nil)}
	few := site{m: cpus.New(smt4(), []int{0, 1}, nil)}
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
	}{{s, lock(0), 2, []int{2}}, {s, lock(0, 2), 2, nil}, {s, lock(0, 1), 1, []int{2, 3}}, {s, lock(3, 0, 1, 2), 2, nil}, {few, lock(0), -1, []int{2}}} {
		if _, b := c.s.ends(c.cell); b != c.b {
			t.Errorf("%v: watched with CPU %d, want %d", c.cell.Threads, b, c.b)
		}
		if diff := cmp.Diff(c.idle, c.s.idleSiblings(c.cell)); diff != "" {
			t.Errorf("%v: idle (-want +got):\n%s", c.cell.Threads, diff)
		}
	}
}

// A session goes by the CPUs that are there at each run, keeps its victim, and says
// which cell has gone.
func TestCPUsThatGo(t *testing.T) {
	p := params(t, nil)
	s := session{m: cpus.New(smt4(), nil, nil), chosen: -1}
	if here := s.site(p); here.victim != 0 {
		t.Errorf("victim %d", here.victim)
	}
	s.m = cpus.New(smt4(), []int{0, 1, 3}, nil) // which has a pair, without CPU 0
	here := s.site(p)
	if here.victim != 0 {
		t.Errorf("victim %d", here.victim)
	}
	c, _ := parseCell("scan@sibling")
	if _, err := here.cells(c, p); err == nil || !strings.Contains(err.Error(), "scan@sibling: none of the CPUs that may be used shares a core with CPU 0") {
		t.Errorf("%v", err)
	}
	s.m = cpus.New(smt4(), []int{1, 3}, nil)
	if here := s.site(p); here.victim != 1 {
		t.Errorf("victim %d after its CPU went", here.victim)
	}
	// What the study knew is no more so: the session looks for itself, and again when
	// what it saw has changed.
	all, err := thread.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	old := workload.Machine{Topology: smt4(), Allowed: []int{2}}
	opened, err := Workload{}.Open(t.Context(), workload.Config{Params: p, Machine: old})
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	got := opened.(*session)
	if runtime.GOOS == "linux" && !slices.Equal(all, []int{2}) {
		if diff := cmp.Diff(all, got.m.CPUs()); diff != "" {
			t.Errorf("at Open (-want +got):\n%s", diff)
		}
	}
	got.m, got.seen, got.cfg.Machine = cpus.New(smt4(), []int{2}, nil), []int{2}, workload.Machine{}
	if err := got.look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(all, got.m.CPUs()); diff != "" {
		t.Errorf("after a change (-want +got):\n%s", diff)
	}
}

// A scan takes no memory that others need.
func TestSpareMemory(t *testing.T) {
	s := site{m: cpus.New(smt4(), nil, nil), free: 3 << 20}
	c, _ := parseCell("scan-2xl2@sibling")
	if _, why := s.other(c, 0); why != "a scan of 1 MiB would take more than a quarter of the memory that is free, 3 MiB" {
		t.Error(why)
	}
	for _, free := range []int64{0, 4 << 20} {
		s.free = free
		if cpu, why := s.other(c, 0); cpu != 2 || why != "" {
			t.Errorf("with %d bytes: CPU %d, %s", free, cpu, why)
		}
	}
}
