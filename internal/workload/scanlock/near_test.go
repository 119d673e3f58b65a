package scanlock

import (
	"testing"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
)

// The nearest scanner decides, a place that is not known leaves all but a shared core
// open, and a cache that hints at siblings does not make a core of its own.
func TestNear(t *testing.T) {
	topo := &made(16).Topology // cores 0+8 to 7+15, last-level caches of cores 0-3 and 4-7
	hint := &made(16).Topology
	for i := range hint.CPUs {
		hint.CPUs[i].Siblings = host.Fact[[]int]{}
	}
	for core := range 8 {
		hint.Caches = append(hint.Caches, host.Cache{Level: 1, Type: "Data", CPUs: []int{core, core + 8}})
	}
	for _, c := range []struct {
		topo *host.Topology
		scan []int
		cpu  int
		want Near
	}{
		{topo, []int{0}, 8, SameCore},
		{topo, []int{0}, 1, SameCache},
		{topo, []int{4, 5}, 1, SameSocket},
		{topo, []int{4, 2}, 1, SameCache},
		{topo, []int{2, 4}, 1, SameCache},
		{topo, []int{2, 99}, 1, NotKnown},
		{topo, []int{99, 2}, 1, NotKnown},
		{topo, []int{99, 9}, 1, SameCore},
		{hint, []int{0}, 8, NotKnown},
		{hint, []int{0}, 5, SameSocket},
		{nil, []int{0}, 1, NotKnown},
	} {
		if got := near(cpus.New(c.topo, nil, nil), c.scan, c.cpu); got != c.want {
			t.Errorf("CPU %d beside scanners on %v: %s, want %s", c.cpu, c.scan, got, c.want)
		}
	}
}
