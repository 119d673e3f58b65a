package cpus

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/testkit"
)

// made reads the topology of a made machine.
func made(t testing.TB, write func(dir string) error) *host.Topology {
	t.Helper()
	dir := t.TempDir()
	testkit.OK(t, write(dir))
	return &host.Collect(t.Context(), host.Options{Tree: host.Tree{Root: dir}}).Topology
}

// places finds all of them; a reason stands for a CPU that is not there.
func places(m *Machine, victim int) map[string]any {
	out := map[string]any{}
	for _, p := range Places {
		if cpu, why := m.Find(victim, p); why != "" {
			out[string(p)] = why
		} else {
			out[string(p)] = cpu
		}
	}
	return out
}

// plain is a topology of sockets x caches a socket x cores a cache x threads a core,
// numbered in that order.
func plain(sockets, caches, cores, threads int) *host.Topology {
	t := &host.Topology{CoreTypes: []host.CoreType{{Name: "all"}}}
	id := 0
	for s := range sockets {
		for range caches {
			l3 := host.Cache{Level: 3, Type: "Unified", Size: host.Known(int64(32<<20), "B", "made")}
			for range cores {
				var all []int
				for range threads {
					all = append(all, id)
					id++
				}
				for _, cpu := range all {
					t.CPUs = append(t.CPUs, host.CPU{ID: cpu, Socket: host.Known(s, "", "made"),
						Siblings: host.Known(all, "", "made"), CoreType: "all"})
				}
				t.Caches = append(t.Caches, host.Cache{Level: 1, Type: "Instruction",
					Size: host.Known(int64(64<<10), "B", "made"), CPUs: all},
					host.Cache{Level: 1, Type: "Data", Size: host.Known(int64(32<<10), "B", "made"), CPUs: all},
					host.Cache{Level: 2, Type: "Unified", Size: host.Known(int64(1<<20), "B", "made"), CPUs: all})
				l3.CPUs = append(l3.CPUs, all...)
			}
			t.Caches = append(t.Caches, l3)
		}
	}
	return t
}

func TestFind(t *testing.T) {
	const away = "CPU 0 is offline, or not among the CPUs that may be used"
	for name, c := range map[string]struct {
		t        *host.Topology
		allowed  []int
		measured [][2]int
		victim   int
		want     map[string]any
	}{
		"everything": {plain(2, 2, 2, 2), nil, nil, 0, map[string]any{"sibling": 1, "core": 2, "llc": 4, "socket": 8}},
		"the last":   {plain(2, 2, 2, 2), nil, nil, 15, map[string]any{"sibling": 14, "core": 12, "llc": 8, "socket": 0}},
		"cpuset": {plain(2, 2, 2, 2), []int{0, 3, 9}, nil, 0,
			map[string]any{"sibling": "none of the CPUs that may be used shares a core with CPU 0", "core": 3,
				"llc": "the socket of CPU 0 has no second last-level cache", "socket": 9}},
		"victim away": {plain(1, 1, 2, 1), []int{1}, nil, 0, map[string]any{"sibling": away, "core": away, "llc": away,
			"socket": away}},
		"two cores": {plain(1, 1, 2, 1), nil, nil, 0, map[string]any{"sibling": "no CPU shares a core with CPU 0", "core": 1,
			"llc":    "the socket of CPU 0 has no second last-level cache",
			"socket": "there is no CPU on another socket than CPU 0"}},
		"hidden siblings": {plain(1, 1, 4, 1), nil, [][2]int{{0, 2}, {3, 1}}, 0, map[string]any{"sibling": 2, "core": 1,
			"llc":    "the socket of CPU 0 has no second last-level cache",
			"socket": "there is no CPU on another socket than CPU 0"}},
		"one core": {plain(1, 1, 1, 2), nil, nil, 1, map[string]any{"sibling": 0,
			"core":   "no other core shares the last-level cache of CPU 1",
			"llc":    "the socket of CPU 1 has no second last-level cache",
			"socket": "there is no CPU on another socket than CPU 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Same(t, c.want, places(New(c.t, c.allowed, c.measured), c.victim))
		})
	}
}

// A guest that is told neither caches nor sockets has other cores all the same.
func TestFindWithoutFacts(t *testing.T) {
	bare := &host.Topology{CPUs: []host.CPU{{ID: 0}, {ID: 1}}}
	m := New(bare, nil, nil)
	if got := places(m, 0); got["core"] != 1 || !strings.HasPrefix(got["sibling"].(string), "not known") ||
		got["llc"] != "the caches of CPU 0 are not known" {
		t.Errorf("%v", got)
	}
	if m.Cache(0, 0) != 0 || m.Cache(0, 2) != 0 {
		t.Error("sizes of caches that nobody knows")
	}
	if cpu, why := m.Find(0, "moon"); cpu != -1 || why != `there is no place "moon"` {
		t.Errorf("%d, %s", cpu, why)
	}
}

// Caches hint at siblings that the system does not report, and half of what is needed
// to tell last-level caches apart tells nothing.
func TestHalfOfTheFacts(t *testing.T) {
	cache := func(level int, cpus ...int) host.Cache { return host.Cache{Level: level, Type: "Unified", CPUs: cpus} }
	const hint = "not known: CPU 1 uses the %s cache of CPU 0, but the system does not report which CPUs share a core"
	const dark = "not known: the system does not tell what other CPUs share with CPU 0"
	const untold = "not known: the system does not report which CPUs share a core"
	const second = "the socket of CPU 0 has no second last-level cache"
	const none, unknown, socket = "no CPU shares a core with CPU 0", "the caches of CPU 0 are not known",
		"there is no CPU on another socket than CPU 0"
	for name, c := range map[string]struct {
		caches  []host.Cache
		hybrid  bool
		allowed []int
		want    map[string]any
		places  []Place // of CPU 0
	}{
		"shared L1": {[]host.Cache{cache(1, 0, 1), cache(1, 2, 3), cache(3, 0, 1, 2, 3)}, false, nil,
			map[string]any{"sibling": strings.Replace(hint, "%s", "L1", 1), "core": 2, "llc": second, "socket": socket},
			[]Place{Unknown, Core, Core}},
		"shared L1, others away": {[]host.Cache{cache(1, 0, 1), cache(1, 2, 3), cache(3, 0, 1, 2, 3)}, false, []int{0, 1},
			map[string]any{"sibling": strings.Replace(hint, "%s", "L1", 1), "core": dark, "llc": second, "socket": socket},
			[]Place{Unknown, Core, Core}},
		"shared L1 only": {[]host.Cache{cache(1, 0, 1), cache(1, 2, 3)}, false, nil,
			map[string]any{"sibling": strings.Replace(hint, "%s", "L1", 1), "core": 2, "llc": unknown, "socket": socket},
			[]Place{Unknown, Unknown, Unknown}},
		"L2 of two": {[]host.Cache{cache(2, 0, 1), cache(2, 2, 3)}, false, nil,
			map[string]any{"sibling": strings.Replace(hint, "%s", "L2", 1), "core": dark, "llc": 2, "socket": socket},
			[]Place{Unknown, LLC, LLC}},
		"L2 of a cluster": {[]host.Cache{cache(2, 0, 1, 2, 3)}, false, nil,
			map[string]any{"sibling": untold, "core": 1, "llc": second, "socket": socket}, []Place{Unknown, Unknown, Unknown}},
		"L2 of two on a hybrid": {[]host.Cache{cache(2, 0, 1), cache(2, 2, 3)}, true, nil,
			map[string]any{"sibling": untold, "core": 1, "llc": 2, "socket": socket}, []Place{Unknown, LLC, LLC}},
		"own L1 only": {[]host.Cache{cache(1, 0), cache(1, 1), cache(1, 2), cache(1, 3)}, false, nil,
			map[string]any{"sibling": none, "core": 1, "llc": unknown, "socket": socket}, []Place{Unknown, Unknown, Unknown}},
		"L3 of one": {[]host.Cache{cache(1, 0), cache(1, 1), cache(1, 2), cache(1, 3), cache(3, 0)}, false, nil,
			map[string]any{"sibling": none, "core": dark, "llc": dark, "socket": socket}, []Place{Unknown, Unknown, Unknown}},
	} {
		topo := &host.Topology{Caches: c.caches}
		for id := range 4 {
			topo.CPUs = append(topo.CPUs, host.CPU{ID: id, Socket: host.Known(0, "", "made")})
		}
		if c.hybrid {
			topo.CoreTypes = make([]host.CoreType, 2)
		}
		m := New(topo, c.allowed, nil)
		testkit.Same(t, c.want, places(m, 0), name)
		testkit.Same(t, c.places, []Place{m.Place(0, 1), m.Place(0, 2), m.Place(0, 3)}, name)
		// A measurement tells what the system does not.
		if s := New(topo, nil, [][2]int{{0, 1}}); s.Place(0, 1) != Sibling || s.Place(1, 0) != Sibling {
			t.Errorf("%s: a measured pair is %q", name, s.Place(0, 1))
		}
	}
}

// Who looks for siblings begins where one is, on the largest cores.
func TestVictim(t *testing.T) {
	hybrid := plain(1, 1, 4, 2)
	hybrid.CoreTypes = []host.CoreType{{Name: "efficiency", Capacity: host.Known[int64](600, "", "made")},
		{Name: "performance", Capacity: host.Known[int64](1024, "", "made")}}
	for i := range hybrid.CPUs {
		hybrid.CPUs[i].CoreType = hybrid.CoreTypes[i/4].Name
	}
	for name, c := range map[string]struct {
		t       *host.Topology
		allowed []int
		want    int
	}{
		"all":               {plain(1, 1, 3, 2), nil, 0},
		"first one halved":  {plain(1, 1, 3, 2), []int{0, 2, 3, 4, 5}, 2},
		"no pair":           {plain(1, 1, 3, 2), []int{1, 2, 4}, 1},
		"small cores first": {hybrid, nil, 4},
		"small cores only":  {hybrid, []int{1, 2, 3, 4}, 2},
		"nothing":           {plain(1, 1, 1, 2), []int{}, -1},
	} {
		testkit.Is(t, c.want, New(c.t, c.allowed, nil).Victim(), name, "CPU")
	}
}

// On a hybrid processor the other core is of the victim's class.
func TestHybrid(t *testing.T) {
	topo := made(t, testkit.MadeHybrid)
	m := New(topo, nil, nil)
	seen := map[string]bool{}
	for _, victim := range m.CPUs() {
		seen[m.Class(victim)] = true
		for _, p := range []Place{Core, LLC, Socket} {
			if cpu, why := m.Find(victim, p); why == "" && m.Class(cpu) != m.Class(victim) {
				t.Errorf("CPU %d of class %s has CPU %d of class %s at %s", victim, m.Class(victim), cpu, m.Class(cpu), p)
			}
		}
	}
	if len(seen) < 2 || seen[""] {
		t.Fatalf("classes %v", seen)
	}
	// With one of the other class only, it is said why that is no place.
	victim := m.CPUs()[0]
	i := slices.IndexFunc(m.CPUs(), func(c int) bool { return m.Class(c) != m.Class(victim) })
	few := New(topo, []int{victim, m.CPUs()[i]}, nil)
	cpu, why := few.Find(victim, few.Place(victim, m.CPUs()[i]))
	if cpu != -1 || !strings.HasSuffix(why, "with cores of its class, "+m.Class(victim)) {
		t.Errorf("%d, %q", cpu, why)
	}
}

// The places of a server with 512 CPUs, found in the time that a plan may take.
func Test512(t *testing.T) {
	topo := plain(2, 16, 8, 2)
	best := math.Inf(1) // of several
	var got map[string]any
	for range 5 {
		begin := proc.Own()
		m := New(topo, nil, nil)
		got = places(m, 7)
		if p := m.Positions(7, 8); len(p) != 8 || !slices.Contains(p, 7) || !slices.Contains(p, got["sibling"].(int)) ||
			!slices.IsSorted(p) {
			t.Fatalf("positions %v", p)
		}
		best = min(best, proc.Own()-begin)
	}
	if best > 0.05 { // s of CPU time
		t.Errorf("it took %.3f s", best)
	}
	m := New(topo, nil, nil)
	for _, p := range Places {
		cpu, ok := got[string(p)].(int)
		if !ok {
			t.Errorf("no %s: %v", p, got[string(p)])
			continue
		}
		if slices.Contains(m.core[7], cpu) != (p == Sibling) || (m.caches[7] == m.caches[cpu]) != (p == Sibling ||
			p == Core) ||
			(m.cpus[7].Socket.Value == m.cpus[cpu].Socket.Value) != (p != Socket) {
			t.Errorf("CPU %d is no %s of CPU 7", cpu, p)
		}
	}
	if m.Cache(7, 1) == 0 || m.Cache(7, 2) <= m.Cache(7, 1) || m.Cache(7, 0) <= m.Cache(7, 2) {
		t.Errorf("caches of %d, %d and %d bytes", m.Cache(7, 1), m.Cache(7, 2), m.Cache(7, 0))
	}
}

// Whatever may be used, a place is another CPU that may be, and no CPU is at two.
func TestPlacesDiffer(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		n := func(name string, most int) int { return rapid.IntRange(1, most).Draw(t, name) }
		topo := plain(n("sockets", 3), n("caches", 3), n("cores", 3), n("threads", 4))
		all := len(topo.CPUs)
		allowed := rapid.SliceOfDistinct(rapid.IntRange(0, all-1), func(i int) int { return i }).Draw(t, "allowed")
		var measured [][2]int
		for range rapid.IntRange(0, 3).Draw(t, "pairs") {
			measured = append(measured, [2]int{rapid.IntRange(0, all).Draw(t, "a"), rapid.IntRange(0, all).Draw(t, "b")})
		}
		m := New(topo, allowed, measured)
		victim := rapid.IntRange(0, all-1).Draw(t, "victim")
		seen := map[int]Place{victim: "victim"}
		for _, p := range Places {
			cpu, why := m.Find(victim, p)
			switch {
			case why != "" && cpu != -1, why == "" && !slices.Contains(allowed, cpu), why == "" && seen[cpu] != "":
				t.Fatalf("%s of %d is %d (%s), seen %v", p, victim, cpu, why, seen)
			case why == "":
				seen[cpu] = p
			}
		}
		if m.Has(victim) {
			most := n("most", 9) + 1
			p := m.Positions(victim, most)
			if len(p) != min(most, len(m.CPUs())) || !slices.Contains(p, victim) ||
				len(slices.Compact(slices.Clone(p))) != len(p) {
				t.Fatalf("positions %v of %v, at most %d", p, m.CPUs(), most)
			}
		}
	})
}

// Recorded machines have places, or say why not.
func TestRecorded(t *testing.T) {
	for _, name := range []string{"twosocket", "cloud-guest", "smt-off", "container"} {
		text := testkit.Must(os.ReadFile("../host/testdata/" + name + ".txtar"))(t)
		topo := host.Collect(t.Context(), host.Options{Tree: host.Tree{Root: testkit.Unpack(t, host.ExtractArchive, string(text))}}).Topology
		m := New(&topo, nil, nil)
		if len(m.CPUs()) == 0 {
			t.Errorf("%s has no CPU", name)
		}
		for _, cpu := range m.CPUs() {
			for p, found := range places(m, cpu) {
				if found == "" || found == cpu {
					t.Errorf("%s: %s of CPU %d is %v", name, p, cpu, found)
				}
			}
		}
	}
}
