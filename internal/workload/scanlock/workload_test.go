package scanlock

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/host"
	"hostlab/internal/placement"
	"hostlab/internal/workload"
	"hostlab/internal/workload/thread"
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
	out := map[string]any{"cell": cellNone, "duration": "30ms", "warm_up": "5ms"}
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
		if got.Values["lock_rate"] < 1e4 || got.Values["total_rate"] < 1e4 || got.Operations < 100 {
			t.Errorf("%s: %v", cell, got.Values)
		}
	}
}

// counts makes a stretch of one second.
func counts(threads []Thread, acquisitions ...uint64) stretch {
	s := stretch{cell: Cell{Threads: threads, ScanSize: 1000}, seconds: 1}
	for i, t := range threads {
		s.counts = append(s.counts, Count{Thread: t, Acquisitions: acquisitions[i], Spins: 10, Rounds: 7, CPUTime: time.Second, HasCPU: true, HasWaited: true})
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
	m := measured{site: site{placement.New(smt4(), nil, nil), 0}, name: cellName{text: cellRotation}, before: 1e-8, after: 1.1e-8, stretches: []stretch{
		at(3, 9290331, 676397, 10274030), at(2, 741166, 10747824, 10210221), at(0, 10550011, 722554, 11182506), at(1, 9900899, 8984095, 1297138)}}
	got, err := m.sample()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"seed_share": math.Pow(0.069146*0.070729*0.066495*0.137373, 0.25), "lock_rate": (9290331 + 741166 + 9900899) / 3.0,
		"other_rate": 7, "scan_rate": 7000, "ping_pong": 1.05e-8} {
		if math.Abs(got.Values[name]/want-1) > 1e-3 {
			t.Errorf("%s = %g, want %g", name, got.Values[name], want)
		}
	}
	if got.Doubt != "" || got.Values["jain"] > 0.75 || got.Values["share"] > 1.2 {
		t.Errorf("doubt %q, %v", got.Doubt, got.Values)
	}
}

func TestDoubt(t *testing.T) {
	two := []Thread{{0, Lock}, {1, Scan}}
	for name, c := range map[string]struct {
		change func(*measured)
		want   string
	}{
		"quiet":      {func(*measured) {}, ""},
		"moved":      {func(m *measured) { m.after = 6.1e-8 }, "the CPUs moved: a cache line took 50 ns between them before and 61 ns after"},
		"nearer":     {func(m *measured) { m.after = 4.1e-8 }, "the CPUs moved: a cache line took 50 ns between them before and 41 ns after"},
		"a little":   {func(m *measured) { m.after = 5.9e-8 }, ""},
		"not told":   {func(m *measured) { m.after = 0 }, ""},
		"waited":     {func(m *measured) { m.stretches[0].counts[1].Waited = 50 * time.Millisecond }, "others took 5.0 % of a CPU that the threads ran on"},
		"a tick off": {func(m *measured) { m.stretches[0].counts[1].CPUTime -= 20 * time.Millisecond }, ""},
		"off its CPU": {func(m *measured) { m.stretches[0].counts[0].CPUTime -= 108 * time.Millisecond },
			"others took 10.0 % of a CPU that the threads ran on"},
		"steal":       {func(m *measured) { m.stretches[0].hasLoads, m.stretches[0].steal = true, 0.12 }, "others took 5.0 % of a CPU that the threads ran on"},
		"steal ticks": {func(m *measured) { m.stretches[0].hasLoads, m.stretches[0].steal = true, 0.05 }, ""},
	} {
		m := measured{site: site{placement.New(smt4(), nil, nil), 0}, name: cellName{text: "scan@1", role: Scan, cpu: 1}, before: 5e-8, after: 5e-8,
			stretches: []stretch{counts(two, 1000, 0)}}
		c.change(&m)
		if got, err := m.sample(); err != nil || got.Doubt != c.want {
			t.Errorf("%s: %q, %v, want %q", name, got.Doubt, err, c.want)
		}
	}
}

// A lock that was never taken has no rate.
func TestStarved(t *testing.T) {
	m := measured{site: site{placement.New(smt4(), nil, nil), 0}, stretches: []stretch{counts([]Thread{{0, Lock}}, 0)}}
	if _, err := m.sample(); err == nil || !strings.Contains(err.Error(), "CPU 0 did not take the lock once in 1 s") {
		t.Errorf("%v", err)
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

// The rotation has each CPU scan once while all others take the lock.
func TestRotation(t *testing.T) {
	s := site{placement.New(smt4(), nil, nil), 0}
	cells, err := s.cells(cellName{text: cellRotation}, params(t, map[string]any{"lock": "tas", "layout": "seed", "scan_size": "1MiB"}))
	if err != nil || len(cells) != 4 {
		t.Fatalf("%d cells, %v", len(cells), err)
	}
	for i, c := range cells {
		if c.Threads[0] != (Thread{i, Scan}) || len(c.Threads) != 4 || c.ScanSize != 1<<20 || c.Lock != TAS || c.Layout != Seed {
			t.Errorf("%+v", c)
		}
	}
}
