package host

import (
	"cmp"
	"slices"
	"strconv"
)

// maxCacheIndex is more cache levels and types than any CPU has.
const maxCacheIndex = 16

// readCaches reads each cache once. Only one thread of a core is asked, and
// another only where it is in fewer of the caches found than that first thread:
// 512 CPUs would have 12,000 files.
func readCaches(t Tree, cpus []CPU) []Cache {
	first := map[int]int{} // CPU -> the CPU asked in its stead
	var ask []int
	for _, c := range cpus {
		asked := c.ID
		if l, ok := c.Siblings.Get(); ok {
			if _, known := first[l[0]]; known { // cpus rise, and so does l
				asked = l[0]
			}
		}
		if asked == c.ID {
			ask = append(ask, c.ID)
		}
		first[c.ID] = asked
	}
	type key struct {
		level int
		typ   string
		cpu   int
	}
	caches := []Cache{}
	have := map[key]bool{}
	in := map[int]int{} // CPU -> how many of caches it is in
	add := func(ask []int) {
		for i, found := range sideBySide(ask, readers(), func(cpu int) []Cache { return cachesOf(t, cpu) }) {
			for _, c := range found {
				if have[key{c.Level, c.Type, ask[i]}] {
					continue
				}
				caches = append(caches, c)
				for _, cpu := range c.CPUs {
					have[key{c.Level, c.Type, cpu}] = true
					in[cpu]++
				}
			}
		}
	}
	add(ask)
	var missed []int
	for _, c := range cpus {
		if in[c.ID] < in[first[c.ID]] {
			missed = append(missed, c.ID)
		}
	}
	add(missed)
	slices.SortStableFunc(caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type), cmp.Compare(a.CPUs[0], b.CPUs[0]))
	})
	return caches
}

// cachesOf reads the caches of one CPU. Those without a level or type, as in a
// guest whose firmware describes none, are left out.
func cachesOf(t Tree, cpu int) []Cache {
	var caches []Cache
	for i := range maxCacheIndex {
		dir := cpuPath(cpu) + "/cache/index" + strconv.Itoa(i)
		level := t.Int(dir+"/level", "", 1)
		if level.State == StateAbsent {
			break
		}
		typ, ok := t.Word(dir + "/type").Get()
		if level.State != StateOK || level.Value < 1 || level.Value > 9 || !ok {
			continue
		}
		c := Cache{Level: int(level.Value), Type: typ, CPUs: []int{cpu}} // all that is known where the list cannot be read
		fill(t, dir, &c)
		if l, ok := t.List(dir + "/shared_cpu_list").Get(); ok && slices.Contains(l, cpu) {
			c.CPUs = ascending(l)
		}
		caches = append(caches, c)
	}
	return caches
}
