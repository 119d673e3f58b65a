package cpus

import (
	"fmt"
	"slices"
	"strconv"

	"hostlab/internal/host"
)

// Place is where a CPU is as seen from another.
type Place string

// The places, nearest first. Unknown is none: what the system reports does not say where a CPU is.
const (
	Sibling Place = "sibling" // another thread of the same core
	Core    Place = "core"    // another core with the same last-level cache
	LLC     Place = "llc"     // a core of the same socket with another last-level cache
	Socket  Place = "socket"  // another socket
	Unknown Place = "unknown"
)

// Places lists the places, nearest first.
var Places = []Place{Sibling, Core, LLC, Socket}

// Machine is what is known of the CPUs that may be used.
type Machine struct {
	hidden   bool                // a measurement found siblings, which a choice by words leaves out
	ids      []int               // allowed and online, ascending
	cpus     map[int]host.CPU    // all that are online
	core     map[int][]int       // threads of the same core, itself included, by report or by measurement
	reported map[int]bool        // CPUs of which the system or a measurement reports who shares their core
	caches   map[int]*host.Cache // last level, by CPU, from the second on: the first is a core's own
	data     map[int][]*host.Cache
	classes  []host.CoreType
}

// New takes what is known together; of a nil Topology, nothing is. allowed are the CPUs that may be used, nil for
// all that are online. Pairs that were measured to share a core count as siblings,
// whatever the system reports. It takes time in proportion to the CPUs and to the
// lists of what they share.
func New(t *host.Topology, allowed []int, measured [][2]int) *Machine {
	if t == nil {
		t = &host.Topology{}
	}
	m := &Machine{cpus: map[int]host.CPU{}, core: map[int][]int{}, reported: map[int]bool{}, caches: map[int]*host.Cache{},
		data: map[int][]*host.Cache{}, classes: t.CoreTypes}
	for _, c := range t.CPUs {
		m.cpus[c.ID] = c
		m.core[c.ID] = []int{c.ID}
		if l, ok := c.Siblings.Get(); ok && len(l) > 0 {
			m.core[c.ID], m.reported[c.ID] = l, true
		}
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
			if old := m.caches[cpu]; c.Level > 1 && (old == nil || old.Level < c.Level) {
				m.caches[cpu] = c
			}
		}
	}
	if len(t.CPUs) == 0 { // nothing is known but that they are there
		for _, id := range allowed {
			m.cpus[id] = host.CPU{ID: id}
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

// Usable lists the CPUs that this process may run on, ascending. Without an affinity, as
// on systems that do not report it, these are all that are online.
func Usable(f *host.Facts) []int {
	if list, ok := f.Limits.Affinity.Get(); ok && len(list) > 0 {
		return slices.Sorted(slices.Values(list))
	}
	return slices.Sorted(slices.Values(f.Topology.Online.Or(nil)))
}

// join makes two cores one.
func (m *Machine) join(a, b int) {
	if slices.Contains(m.core[a], b) || m.core[a] == nil || m.core[b] == nil {
		return
	}
	all := slices.Concat(m.core[a], m.core[b])
	slices.Sort(all)
	for _, cpu := range all {
		m.core[cpu], m.reported[cpu] = all, true
	}
}

// CPUs lists those that may be used, ascending.
func (m *Machine) CPUs() []int { return m.ids }

// Only is the machine with no other CPUs to be used than those of a list.
func (m *Machine) Only(list []int) *Machine {
	fewer := *m
	fewer.ids = slices.DeleteFunc(slices.Clone(m.ids), func(id int) bool { return !slices.Contains(list, id) })
	return &fewer
}

// Cores lists the CPUs that may be used by core, in the order of their first.
func (m *Machine) Cores() (cores [][]int) {
	at := map[int]int{}
	for _, id := range m.ids {
		i, known := at[id]
		if !known {
			i = len(cores)
			cores = append(cores, nil)
			for _, sibling := range m.core[id] {
				at[sibling] = i
			}
		}
		cores[i] = append(cores[i], id)
	}
	return cores
}

// Has reports whether a CPU may be used.
func (m *Machine) Has(cpu int) bool {
	_, ok := slices.BinarySearch(m.ids, cpu)
	return ok
}

// Threads lists the CPUs of a CPU's core that are online, itself included, whether or
// not they may be used.
func (m *Machine) Threads(cpu int) (out []int) {
	for _, s := range m.core[cpu] {
		if _, online := m.cpus[s]; online {
			out = append(out, s)
		}
	}
	return out
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
	if len(m.classes) < 2 {
		return ""
	}
	return m.cpus[cpu].CoreType
}

// Victim is the CPU from which to look when nobody names one: the lowest that may be
// used and has a sibling that may be, of the largest class that has such; the lowest
// of all where none has; -1 where no CPU may be used.
func (m *Machine) Victim() int {
	best, most := -1, int64(-1)
	for _, id := range m.ids {
		if c := m.capacity(id); len(m.Siblings(id)) > 0 && (best < 0 || c > most) {
			best, most = id, c
		}
	}
	if best < 0 && len(m.ids) > 0 {
		best = m.ids[0]
	}
	return best
}

// capacity compares classes; 0 where it is not known.
func (m *Machine) capacity(cpu int) int64 {
	for _, c := range m.classes {
		if len(m.classes) > 1 && c.Name == m.cpus[cpu].CoreType {
			return c.Capacity.Or(0)
		}
	}
	return 0
}

// Cache returns the size in bytes of the data cache of that level that a CPU uses,
// level 0 for its last; 0: not known.
func (m *Machine) Cache(cpu, level int) int64 {
	if level == 0 {
		if c := m.caches[cpu]; c != nil {
			return c.Size.Or(0)
		}
		level = 1
	}
	if c := m.at(cpu, level); c != nil {
		return c.Size.Or(0)
	}
	return 0
}

// at is the data cache of that level that a CPU uses; nil: not known.
func (m *Machine) at(cpu, level int) *host.Cache {
	for _, c := range m.data[cpu] {
		if c.Level == level {
			return c
		}
	}
	return nil
}

// hinted lists the CPUs that may be a CPU's siblings where the system does not say
// who is, in the order of what says so: those of the same first-level cache, which
// threads of different cores do not share, or where that is not known the other of
// two that share the second. Clusters of small cores share one, too.
func (m *Machine) hinted(cpu int) (others []int, by string) {
	if m.reported[cpu] {
		return nil, ""
	}
	c, by := m.at(cpu, 1), "L1"
	if c == nil && len(m.classes) < 2 {
		if c, by = m.at(cpu, 2), "L2"; c != nil && len(c.CPUs) != 2 {
			c = nil
		}
	}
	if c == nil {
		return nil, ""
	}
	return slices.DeleteFunc(slices.Clone(c.CPUs), func(o int) bool { return o == cpu || m.reported[o] }), by
}

// Find returns the lowest CPU at a place as seen from a victim's, or why there is
// none, in a phrase. Every place but the sibling is on a core of the victim's class,
// since another class differs in more than in its place. Where nobody says which
// cores share a last-level cache, as in many guests, the cores of a socket count as
// if they did; but never one that may be the victim's own.
func (m *Machine) Find(victim int, place Place) (cpu int, why string) {
	list, why := m.All(victim, place)
	if len(list) == 0 {
		return -1, why
	}
	return list[0], ""
}

// All is Find for all of them, ascending.
func (m *Machine) All(victim int, place Place) (list []int, why string) {
	if !m.Has(victim) {
		return nil, fmt.Sprintf("CPU %d is offline, or not among the CPUs that may be used", victim)
	}
	of := "CPU " + strconv.Itoa(victim)
	if place == Sibling {
		return m.Siblings(victim), m.noSibling(victim)
	}
	otherClass, unknown := false, false
	for _, id := range m.ids {
		switch at := m.Place(victim, id); {
		case id == victim:
		case at == place, at == Unknown && place == Core && m.assumed(victim, id):
			if m.Class(id) == m.Class(victim) {
				list = append(list, id)
			} else {
				otherClass = true
			}
		case at == Unknown && (place == Core || m.caches[victim] != m.caches[id]):
			unknown = true
		}
	}
	why = map[Place]string{
		Core:   "no other core shares the last-level cache of " + of,
		LLC:    "the socket of " + of + " has no second last-level cache",
		Socket: "there is no CPU on another socket than " + of,
	}[place]
	switch {
	case why == "":
		return nil, "there is no place " + strconv.Quote(string(place))
	case otherClass:
		why += " with cores of its class, " + m.Class(victim)
	case place == LLC && m.caches[victim] == nil:
		why = "the caches of " + of + " are not known"
	case unknown && place != Socket: // of which all is known that there is
		why = "not known: the system does not tell what other CPUs share with " + of
	}
	return list, why
}

// noSibling is why no CPU that may be used is known to be a sibling.
func (m *Machine) noSibling(cpu int) string {
	of := "CPU " + strconv.Itoa(cpu)
	if len(m.core[cpu]) > 1 {
		return "none of the CPUs that may be used shares a core with " + of
	}
	if others, by := m.hinted(cpu); len(others) > 0 {
		return fmt.Sprintf(
			"not known: CPU %d uses the %s cache of %s, but the system does not report which CPUs share a core",
			others[0], by, of)
	}
	if !m.limited(cpu) {
		return "not known: the system does not report which CPUs share a core"
	}
	return "no CPU shares a core with " + of
}

// Place says where a CPU is as seen from another, as far as the system or a
// measurement tells: one of Places, or Unknown.
func (m *Machine) Place(from, to int) Place {
	v, okV := m.cpus[from]
	c, okC := m.cpus[to]
	switch {
	case slices.Contains(m.core[from], to) && from != to:
		return Sibling
	case !okV || !okC || from == to || m.maybe(from, to):
		return Unknown
	}
	a, okA := v.Socket.Get()
	b, okB := c.Socket.Get()
	llcA, llcB := m.caches[from], m.caches[to]
	switch {
	case llcA != nil && llcA == llcB && (m.limited(from) || m.limited(to)):
		return Core
	case okA && okB && a != b:
		return Socket
	case llcA != nil && llcB != nil && llcA != llcB && llcA.Level == llcB.Level:
		return LLC
	}
	return Unknown
}

// maybe reports whether a CPU may be another's sibling for what their caches hint.
func (m *Machine) maybe(a, b int) bool {
	others, _ := m.hinted(a)
	return slices.Contains(others, b)
}

// assumed reports whether a CPU whose place is not known counts as a core beside
// another: they have the same last-level cache, or of neither one is known.
func (m *Machine) assumed(a, b int) bool { return m.caches[a] == m.caches[b] && !m.maybe(a, b) }

// limited reports whether it is known which CPUs may share a CPU's core, and so which
// do not: by report, by measurement, or since its first-level cache is known.
func (m *Machine) limited(cpu int) bool { return m.reported[cpu] || m.at(cpu, 1) != nil }

// Core names a CPU's core, by the lowest of its threads.
func (m *Machine) Core(cpu int) int {
	if l := m.core[cpu]; len(l) > 0 {
		return slices.Min(l)
	}
	return cpu
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
