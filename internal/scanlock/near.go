package scanlock

import (
	"slices"

	"hostlab/internal/host"
)

// Near says how much a CPU shares with the nearest scanner, or what stands in its
// place, as the system reports it.
type Near string

// The distances, nearest first. The empty one is that of a scanner itself, and of all
// where nothing scans.
const (
	SameCore    Near = "core"    // two threads of one core
	SameCache   Near = "cache"   // another core with the same last-level cache
	SameSocket  Near = "socket"  // another last-level cache of the same socket
	OtherSocket Near = "remote"  // another socket
	NotKnown    Near = "unknown" // the system does not tell
)

var nears = []Near{SameCore, SameCache, SameSocket, OtherSocket, NotKnown}

// words are the distances in a sentence.
var words = map[Near]string{
	SameCore: "on the core of a scanner", SameCache: "same last-level cache", SameSocket: "same socket",
	OtherSocket: "other socket", NotKnown: "distance not known",
}

// places are what CPUs share: equal numbers, the same object; -1, not known.
type places struct{ core, cache, socket map[int]int }

func placesOf(t *host.Topology) places {
	p := places{map[int]int{}, map[int]int{}, map[int]int{}}
	if t == nil {
		return p
	}
	for _, c := range t.CPUs {
		if l, ok := c.Siblings.Get(); ok && len(l) > 0 {
			p.core[c.ID] = slices.Min(l)
		}
		if s, ok := c.Socket.Get(); ok {
			p.socket[c.ID] = s
		}
	}
	level := map[int]int{}
	for i, c := range t.Caches {
		if c.Type == "Instruction" || c.Level < 2 {
			continue // a cache of the first level is the core's own
		}
		for _, cpu := range c.CPUs {
			if c.Level > level[cpu] {
				level[cpu], p.cache[cpu] = c.Level, i
			}
		}
	}
	return p
}

// crowd is what some CPUs occupy.
type crowd struct {
	places
	cores, caches, sockets map[int]bool
	dark                   bool // of some of them the core is not known
}

func (p places) crowd(cpus []int) crowd {
	c := crowd{p, map[int]bool{}, map[int]bool{}, map[int]bool{}, false}
	for _, cpu := range cpus {
		if core, ok := p.core[cpu]; ok {
			c.cores[core] = true
		} else {
			c.dark = true
		}
		if cache, ok := p.cache[cpu]; ok {
			c.caches[cache] = true
		}
		if socket, ok := p.socket[cpu]; ok {
			c.sockets[socket] = true
		}
	}
	return c
}

// near is how far a CPU is from the nearest of the crowd.
func (c crowd) near(cpu int) Near {
	core, ok := c.core[cpu]
	if !ok || c.dark {
		return NotKnown
	}
	if c.cores[core] {
		return SameCore
	}
	cache, okCache := c.cache[cpu]
	socket, okSocket := c.socket[cpu]
	switch {
	case okCache && c.caches[cache]:
		return SameCache
	case okSocket && len(c.sockets) > 0 && !c.sockets[socket]:
		return OtherSocket
	case okCache && len(c.caches) > 0 && okSocket:
		return SameSocket
	}
	return NotKnown
}
