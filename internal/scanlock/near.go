package scanlock

import (
	"slices"

	"hostlab/internal/workload/cpus"
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
	NotKnown    Near = "unknown" // the system does not report it
)

var nears = []Near{SameCore, SameCache, SameSocket, OtherSocket, NotKnown}

// words are the distances in a sentence.
var words = map[Near]string{
	SameCore: "on a scanner's core", SameCache: "same last-level cache", SameSocket: "same socket",
	OtherSocket: "other socket", NotKnown: "distance not known",
}

// nearOf is where a CPU is as seen from its nearest scanner.
var nearOf = map[string]Near{cpus.Sibling: SameCore, cpus.Core: SameCache, cpus.LLC: SameSocket, cpus.Socket: OtherSocket}

// near is how far a CPU is from the nearest of some scanners. Where the place of one
// is not known that may be the nearest, so that only a shared core is sure.
func near(m *cpus.Machine, scan []int, cpu int) Near {
	best := len(nears)
	for _, s := range scan {
		n, ok := nearOf[m.Place(s, cpu)]
		if n == SameCore {
			return n
		}
		if !ok {
			n = NotKnown
		}
		at := slices.Index(nears, n)
		if best == len(nears) || n == NotKnown || nears[best] != NotKnown && at < best {
			best = at
		}
	}
	return nears[best]
}
