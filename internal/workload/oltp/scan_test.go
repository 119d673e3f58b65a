package oltp

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/systemtest"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

// machine has cores of these CPUs.
func machine(cores ...[]int) workload.Machine {
	n := 0
	m := workload.Machine{Topology: &host.Topology{}}
	for _, core := range cores {
		for _, cpu := range core {
			m.Topology.CPUs = append(m.Topology.CPUs, host.CPU{ID: cpu, Siblings: host.Known(core, "", "made")})
		}
		n += len(core)
	}
	for cpu := range n {
		m.Allowed = append(m.Allowed, cpu)
	}
	return m
}

func TestRoom(t *testing.T) {
	four := machine([]int{0, 4}, []int{1, 5}, []int{2, 6}, []int{3, 7})
	two := machine([]int{0, 2}, []int{1, 3})
	flat := machine([]int{0}, []int{1})
	one := machine([]int{0})
	hybrid := machine([]int{0, 1}, []int{2, 3}, []int{4}, []int{5})
	hybrid.Topology.CoreTypes = []host.CoreType{{Name: "performance"}, {Name: "efficiency"}}
	for i := range hybrid.Topology.CPUs {
		hybrid.Topology.CPUs[i].CoreType = hybrid.Topology.CoreTypes[i/4].Name
	}
	two2, lonely := machine([]int{0}, []int{1}, []int{2}, []int{3}), machine([]int{0}, []int{1})
	for i := range 2 {
		two2.Topology.Caches = append(two2.Topology.Caches, host.Cache{Level: 3, Type: "Unified", CPUs: []int{2 * i, 2*i + 1}})
		lonely.Topology.Caches = append(lonely.Topology.Caches, host.Cache{Level: 3, Type: "Unified", CPUs: []int{i}})
	}
	for _, c := range []struct {
		name    string
		m       workload.Machine
		given   map[string]any
		want    room
		problem string
	}{
		{"nothing asked", four, nil, room{}, ""},
		{"floating", four, map[string]any{"scanner": floating}, room{}, ""},
		{"one of each core", four, map[string]any{"cpus": cpus.OnePerCore}, room{Workers: []int{0, 1, 2, 3}}, ""},
		{"sibling", four, map[string]any{"scanner": sibling}, room{[]int{0, 1, 2, 3, 5, 6, 7}, []int{4}}, ""},
		{"core", four, map[string]any{"scanner": apart}, room{[]int{0, 1, 2, 4, 5, 6}, []int{3}}, ""},
		{"room, none", four, map[string]any{"leave_room": true}, room{Workers: []int{0, 1, 2, 5, 6}}, ""},
		{"room, floating", four, map[string]any{"leave_room": true, "scanner": floating}, room{Workers: []int{0, 1, 2, 5, 6}}, ""},
		{"room, sibling", four, map[string]any{"leave_room": true, "scanner": sibling}, room{[]int{0, 1, 2, 5, 6}, []int{4}}, ""},
		{"room, core", four, map[string]any{"leave_room": true, "scanner": apart}, room{[]int{0, 1, 2, 5, 6}, []int{3}}, ""},
		{"room, one of each core", four, map[string]any{"leave_room": true, "scanner": sibling, "cpus": cpus.OnePerCore}, room{[]int{0, 1, 2}, []int{4}}, ""},
		{"beside a list", four, map[string]any{"scanner": sibling, "cpus": "5-6"}, room{[]int{5, 6}, []int{1}}, ""},
		{"two cores", two, map[string]any{"leave_room": true, "scanner": apart}, room{[]int{0}, []int{1}}, ""},
		{"no siblings, core", flat, map[string]any{"scanner": apart}, room{[]int{0}, []int{1}}, ""},
		{"no siblings, room", flat, map[string]any{"leave_room": true}, room{Workers: []int{0}}, ""},
		{"no siblings", flat, map[string]any{"scanner": sibling}, room{}, "parameter scanner: sibling: no core has two threads here"},
		{"one core", one, map[string]any{"scanner": apart}, room{}, "all CPUs that can be used are of one core"},
		{"one core, room", one, map[string]any{"leave_room": true}, room{Workers: []int{0}}, ""},
		{"the other core", flat, map[string]any{"scanner": apart, "cpus": "1"}, room{[]int{1}, []int{0}}, ""},
		{"another class", hybrid, map[string]any{"scanner": apart}, room{[]int{0, 1, 4, 5}, []int{2}}, ""},
		{"another cache", two2, map[string]any{"scanner": apart}, room{[]int{0, 2, 3}, []int{1}}, ""},
		{"no core near", lonely, map[string]any{"scanner": apart}, room{}, "core: no other core shares the last-level cache of CPU 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := values(t, c.given)
			got, err := roomOf(cpus.Of(c.m), v)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("%v", err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%s%v", diff, err)
			}
			// A level that Offers has not taken out can be run.
			scanner := v.String("scanner")
			if gone := (Workload{}).Offers(workload.Config{Params: v}, "scanner", scanners, c.m)[scanner]; gone != "" {
				t.Errorf("it runs, and is told not to: %s", gone)
			}
		})
	}
}

func TestOffers(t *testing.T) {
	offers := func(m workload.Machine, param string, levels ...string) map[string]string {
		return Workload{}.Offers(workload.Config{Params: values(t, nil)}, param, levels, m)
	}
	flat, smt := machine([]int{0}, []int{1}), machine([]int{0, 1}, []int{2, 3})
	const why = "no core has two threads here"
	for _, c := range []struct{ want, got map[string]string }{
		{map[string]string{sibling: why}, offers(flat, "scanner", scanners...)},
		{map[string]string{}, offers(smt, "scanner", scanners...)},
		{map[string]string{sibling: why, apart: oneCore}, offers(machine([]int{0}), "scanner", scanners...)},
		{map[string]string{cpus.OnePerCore: why}, offers(flat, "cpus", cpus.All, cpus.OnePerCore)},
		{map[string]string{cpus.Cores: why}, offers(flat, "workers", cpus.Threads, cpus.Cores)},
		{map[string]string{}, offers(flat, "rows", "1", "2")},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Error(diff)
		}
	}
	got := Workload{}.Context(workload.Config{Params: values(t, nil)}, smt)
	if diff := cmp.Diff(map[string]string{"threads": "4", "cores": "2", "scanner sibling": "CPU 1", "scanner core": "CPU 2"}, got); diff != "" {
		t.Error(diff)
	}
}

// The scanner writes until it is told to stop, whatever its size; and says when it
// cannot run.
func TestScanner(t *testing.T) {
	for _, size := range []int{128, scanPart - 64, scanPart + 128, 3 * scanPart} {
		wrote := 0.0
		for end := systemtest.End(t); wrote <= float64(size) && time.Now().Before(end); {
			s := newScanner(nil, size)
			if err := s.wait(); err != nil {
				t.Fatal(err)
			}
			close(s.start)
			time.Sleep(10 * time.Millisecond)
			did, err := s.finish()
			if err != nil {
				t.Fatal(err)
			}
			wrote += did.Bytes
		}
		if wrote <= float64(size) {
			t.Errorf("%g of %d bytes were written", wrote, size)
		}
	}
	s := newScanner([]int{1 << 20}, 128)
	if err := s.wait(); !errors.Is(err, thread.ErrNoCPU) {
		t.Errorf("on a CPU that is not there: %v", err)
	}
}
