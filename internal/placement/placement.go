// Package placement finds where on a machine a second thread has to run to share a
// core, a cache or nothing with a first one. It is pure.
package placement

import (
	"fmt"
	"slices"
	"strconv"

	"hostlab/internal/host"
)

// The places, nearest first.
const (
	Sibling = "sibling" // another thread of the same core
	Core    = "core"    // another core with the same last-level cache
	LLC     = "llc"     // a core of the same socket with another last-level cache
	Socket  = "socket"  // another socket
)

// Names lists the places, nearest first.
var Names = []string{Sibling, Core, LLC, Socket}

// Machine is what is known of the CPUs that may be used.
type Machine struct {
	ids     []int               // allowed and online, ascending
	cpus    map[int]host.CPU    // all that are online
	core    map[int][]int       // threads of the same core, itself included, by report or by measurement
	caches  map[int]*host.Cache // last level, by CPU
	data    map[int][]*host.Cache
	classes int
}

// New takes what is known together. allowed are the CPUs that may be used, nil for
// all that are online. Pairs that were measured to share a core count as siblings,
// whatever the system reports. It takes time in proportion to the CPUs and to the
// lists of what they share.
func New(t *host.Topology, allowed []int, measured [][2]int) *Machine {
	m := &Machine{cpus: map[int]host.CPU{}, core: map[int][]int{}, caches: map[int]*host.Cache{}, data: map[int][]*host.Cache{}, classes: len(t.CoreTypes)}
	for _, c := range t.CPUs {
		m.cpus[c.ID] = c
		m.core[c.ID] = c.Siblings.Or([]int{c.ID})
	}
	for _, p := range measured {
		m.join(p[0], p[1])
	}
	for i := range t.Caches {
		c := &t.Caches[i]
		if c.Type == "Instruction" {
			continue
		}
		for _, cpu := range c.CPUs {
			m.data[cpu] = append(m.data[cpu], c)
			if old := m.caches[cpu]; old == nil || old.Level < c.Level {
				m.caches[cpu] = c
			}
		}
	}
	for id := range m.cpus {
		if allowed == nil || slices.Contains(allowed, id) {
			m.ids = append(m.ids, id)
		}
	}
	slices.Sort(m.ids)
	return m
}

// join makes two cores one.
func (m *Machine) join(a, b int) {
	if slices.Contains(m.core[a], b) || m.core[a] == nil || m.core[b] == nil {
		return
	}
	all := slices.Concat(m.core[a], m.core[b])
	slices.Sort(all)
	for _, cpu := range all {
		m.core[cpu] = all
	}
}

// CPUs lists those that may be used, ascending.
func (m *Machine) CPUs() []int { return m.ids }

// Has reports whether a CPU may be used.
func (m *Machine) Has(cpu int) bool {
	_, ok := slices.BinarySearch(m.ids, cpu)
	return ok
}

// Siblings lists the other threads of a CPU's core that may be used, ascending.
func (m *Machine) Siblings(cpu int) (out []int) {
	for _, s := range m.core[cpu] {
		if s != cpu && m.Has(s) {
			out = append(out, s)
		}
	}
	return out
}

// Class names the kind of a CPU's core where the machine has several, as hybrid
// processors have; "" on others.
func (m *Machine) Class(cpu int) string {
	if m.classes < 2 {
		return ""
	}
	return m.cpus[cpu].CoreType
}

// Cache returns the size in bytes of the data cache of that level that a CPU uses,
// level 0 for its last; 0: not known.
func (m *Machine) Cache(cpu, level int) int64 {
	if level == 0 {
		if c := m.caches[cpu]; c != nil {
			return c.Size.Or(0)
		}
		return 0
	}
	for _, c := range m.data[cpu] {
		if c.Level == level {
			return c.Size.Or(0)
		}
	}
	return 0
}

// Find returns the lowest CPU at a place as seen from a victim's, or why there is
// none, in a phrase. Every place but the sibling is on a core of the victim's class,
// since another class differs in more than in its place.
func (m *Machine) Find(victim int, place string) (cpu int, why string) {
	if !m.Has(victim) {
		return -1, fmt.Sprintf("CPU %d is offline, or not among the CPUs that may be used", victim)
	}
	v, of := m.cpus[victim], "CPU "+strconv.Itoa(victim)
	if place == Sibling {
		if s := m.Siblings(victim); len(s) > 0 {
			return s[0], ""
		}
		if len(m.core[victim]) > 1 {
			return -1, "none of the CPUs that may be used shares a core with " + of
		}
		return -1, "no CPU shares a core with " + of
	}
	otherClass := false
	for _, id := range m.ids {
		c := m.cpus[id]
		if slices.Contains(m.core[victim], id) || m.place(v, c) != place {
			continue
		}
		if m.Class(id) == m.Class(victim) {
			return id, ""
		}
		otherClass = true
	}
	why = map[string]string{
		Core:   "no other core shares the last-level cache of " + of,
		LLC:    "the socket of " + of + " has no second last-level cache",
		Socket: "there is no CPU on another socket than " + of,
	}[place]
	switch {
	case why == "":
		return -1, "there is no place " + strconv.Quote(place)
	case otherClass:
		why += " with cores of its class, " + m.Class(victim)
	case place == LLC && m.caches[victim] == nil:
		why = "the caches of " + of + " are not known"
	}
	return -1, why
}

// place says where a CPU is that is on another core than v. Where the caches are not
// known, as in many guests, what is in the same socket counts as sharing one: nobody
// can tell.
func (m *Machine) place(v, c host.CPU) string {
	a, okA := v.Socket.Get()
	b, okB := c.Socket.Get()
	shared := m.caches[v.ID] == m.caches[c.ID]
	switch {
	case shared && m.caches[v.ID] != nil:
		return Core
	case okA && okB && a != b:
		return Socket
	case shared:
		return Core
	}
	return LLC
}

// Positions spreads at most most scanners over the CPUs that may be used: first a
// victim and one of its siblings, then CPUs at equal distances.
func (m *Machine) Positions(victim, most int) []int {
	n := len(m.ids)
	if n <= most {
		return slices.Clone(m.ids)
	}
	out := []int{victim}
	if s := m.Siblings(victim); len(s) > 0 {
		out = append(out, s[0])
	}
	for i := range most {
		if cpu := m.ids[i*n/most]; !slices.Contains(out, cpu) && len(out) < most {
			out = append(out, cpu)
		}
	}
	slices.Sort(out)
	return out
}
