package trace

import (
	"strconv"

	"hostlab/internal/host"
)

// siblings maps each CPU to the one that shares its core. Where cores have more than
// two threads it maps none: busy times of several do not add up.
func siblings(tree host.Tree, cpus []int) map[int]int {
	out := map[int]int{}
	for _, c := range cpus {
		list := tree.List("/sys/devices/system/cpu/cpu" + strconv.Itoa(c) + "/topology/thread_siblings_list").Or(nil)
		if len(list) != 2 {
			continue
		}
		if other := list[0] + list[1] - c; other != c {
			out[c] = other
		}
	}
	return out
}

// noSiblings says why none are followed, and whether that is since no CPU shares its core: else they are not known.
func noSiblings(tree host.Tree, cpus []int) (why string, alone bool) {
	for _, c := range cpus {
		if f := tree.List("/sys/devices/system/cpu/cpu" + strconv.Itoa(c) +
			"/topology/thread_siblings_list"); f.State != host.StateOK {
			return f.Source + ": " + f.Reason, false
		} else if len(f.Value) > 2 {
			return "cores here have " + strconv.Itoa(len(f.Value)) + " threads, and busy times of several siblings do not add up",
				false
		}
	}
	return "no CPU here shares its core with another that is online", true
}
