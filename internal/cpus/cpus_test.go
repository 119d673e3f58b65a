package cpus

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/host"
	"hostlab/internal/testkit"
	"hostlab/internal/workload"
)

// machine has CPUs whose siblings are given; nil: not reported.
func machine(siblings ...[]int) workload.Machine {
	m := workload.Machine{Topology: &host.Topology{}}
	for id, l := range siblings {
		c := host.CPU{ID: id, Siblings: host.Known(l, "", "made")}
		if l == nil {
			c.Siblings = host.Fact[[]int]{State: host.StateAbsent}
		}
		m.Topology.CPUs = append(m.Topology.CPUs, c)
		m.Allowed = append(m.Allowed, id)
	}
	return m
}

func smt() workload.Machine { // two cores: 0 and 2, 1 and 3
	return machine([]int{0, 2}, []int{1, 3}, []int{0, 2}, []int{1, 3})
}

func TestChoose(t *testing.T) {
	narrow := smt()
	narrow.Allowed = []int{1, 2, 3} // as in a container
	unknown := machine(nil, nil)
	hidden := machine([]int{0}, []int{1})
	hidden.Measured = [][2]int{{0, 1}}
	for _, c := range []struct {
		name    string
		m       workload.Machine
		text    string
		want    []int
		problem string
	}{
		{"all", smt(), All, []int{0, 1, 2, 3}, ""},
		{"one of each core", smt(), OnePerCore, []int{0, 1}, ""},
		{"of those allowed", narrow, OnePerCore, []int{1, 2}, ""},
		{"not reported: all", unknown, OnePerCore, []int{0, 1}, ""},
		{"no siblings: all", hidden, OnePerCore, []int{0, 1}, ""},
		{"list", smt(), "3,0-1", []int{0, 1, 3}, ""},
		{"not allowed", narrow, "0,1", nil, "parameter cpus: CPU 0: offline, or not among the CPUs"},
		{"twice", smt(), "1,1", nil, "CPU 1 is there twice"},
		{"empty", smt(), "", nil, "names 0 CPUs"},
		{"slip", smt(), "one-per-cor", nil, "did you mean one-per-core?"},
		{"nonsense", smt(), "x", nil, "write all, one-per-core, or a list"},
		{"too many", smt(), "0-9999", nil, "1 to 4096"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Of(c.m).Choose("cpus", c.text)
			testkit.Same(t, c.want, got)
			if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestCount(t *testing.T) {
	for text, want := range map[string]int{Threads: 4, Cores: 2, "7": 7, " 7 ": 7} {
		if got, err := Of(smt()).Count("degree", text); got != want || err != nil || CheckCount("degree", text) != nil {
			t.Errorf("%q is %d, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{"0": "outside of 1 to 4096", "-3": "outside", "4097": "outside",
		"core": "did you mean cores?", "": "write a number"} {
		testkit.Refused(Of(smt()).Count("degree", text))(t, want, text)
		if CheckCount("degree", text) == nil {
			t.Errorf("%q passes the check", text)
		}
	}
}

// Without two threads on a core, levels that would be the same as others are told.
func TestOffers(t *testing.T) {
	hidden := machine([]int{0}, []int{1})
	hidden.Measured = [][2]int{{0, 1}}
	for name, c := range map[string]struct {
		m   workload.Machine
		why string
	}{
		"smt":      {smt(), ""},
		"none":     {machine([]int{0}, []int{1}), "no core has two threads here"},
		"unknown":  {machine(nil, nil), "this system does not say"},
		"measured": {hidden, "a measurement says"},
	} {
		h := Of(c.m)
		got := []string{h.Offers([]string{All, OnePerCore, "0"})[OnePerCore],
			h.alike([]string{"1", Threads, Cores}, Threads, Cores)[Cores],
			h.alike([]string{Cores, Threads}, Threads, Cores)[Threads]}
		for _, why := range got {
			if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
				t.Errorf("%s: %q", name, got)
			}
		}
		testkit.Is(t, 1, len(h.Offers([]string{All, "0", "9"})), name, "of all, 0 and 9 cannot be had")
		testkit.Is(t, 0, len(h.alike([]string{"1", Cores, "2"}, Threads, Cores)), name, "counts of three cannot be had")
		notes := h.Notes(OnePerCore, Cores)
		testkit.Is(t, (c.why == ""), (len(notes) == 0), name, "notes", notes)
	}
}

// Whatever is reported, the cores have each allowed CPU once.
func TestCoresHoldAll(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "CPUs")
		lists := make([][]int, n)
		for i := range lists {
			lists[i] = rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, 4, rapid.ID).Draw(t, "siblings")
			lists[i] = append(lists[i], i)
		}
		h := Of(machine(lists...))
		seen := map[int]int{}
		for _, c := range h.Cores() {
			for _, cpu := range c {
				seen[cpu]++
			}
		}
		if len(seen) != n {
			t.Fatalf("%v of %d CPUs", h.Cores(), n)
		}
		for cpu, times := range seen {
			if times != 1 {
				t.Fatalf("CPU %d is there %d times in %v", cpu, times, h.Cores())
			}
		}
	})
}

func TestHere(t *testing.T) {
	h, err := Here(t.Context())
	if err != nil || len(h.CPUs()) == 0 || len(h.Cores()) == 0 || len(h.Cores()) > len(h.CPUs()) {
		t.Errorf("%+v, %v", h, err)
	}
}
