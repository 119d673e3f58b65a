package client

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// Lacks implements workload.Demanding: a private server that takes huge pages does not start without them, and one that
// spreads its memory over one node has nothing to spread it over.
func (common) Lacks(params workload.Params, t host.Tree) string {
	p := all(params)
	if p.DSN != "" {
		return ""
	}
	asked := func(name string) string { return strings.ToLower(string(p.Server[name])) }
	switch on := asked("innodb_numa_interleave"); {
	case p.Engine == inMariaDB && (on == "on" || on == "1") && len(host.Nodes(t)) == 1:
		return "this host has one memory node, over which nothing can be spread; run it on one with several (hostlab facts " +
			"shows them under NUMA)"
	case p.Engine == inPostgres && asked("huge_pages") == "on" && asked("huge_page_size") == "":
		return missingPages(t, asked("shared_buffers"))
	}
	return ""
}

// missingPages says how many huge pages to reserve for a cache; "": there are enough, or that is not known. The
// server's other shared memory takes some percent more (PostgreSQL documentation, shared_memory_size_in_huge_pages);
// a quarter is asked for it, as check does.
func missingPages(t host.Tree, cache string) string {
	want, ok := sizeOf(cache)
	needs := want + want/4
	meminfo := t.Text("/proc/meminfo").Or("")
	number := func(line string) (n int64) {
		n = -1
		for text := range strings.Lines(meminfo) {
			if w := strings.Fields(text); len(w) > 1 && w[0] == line+":" {
				n, _ = strconv.ParseInt(w[1], 10, 64)
			}
		}
		return n
	}
	all, free, promised := number("HugePages_Total"), number("HugePages_Free"), number("HugePages_Rsvd")
	size := number("Hugepagesize") << 10
	if !ok || all < 0 || free < 0 || promised < 0 || size <= 0 {
		return ""
	}
	free = max(0, free-promised)
	if free >= (needs+size-1)/size {
		return ""
	}
	pages := all - free + (needs+size-1)/size
	return fmt.Sprintf(
		"its cache of %s takes huge pages, with a quarter more for the rest of its shared memory, and %d of %s are free; "+
			"reserve them: sudo sysctl vm.nr_hugepages=%d (now %d; note it to put it back)", result.Format(float64(want), "B"),
		free, result.Format(float64(size), "B"), pages, all)
}

// units are those of PostgreSQL's sizes: a number without one counts blocks.
var units = map[string]int64{"": 8 << 10, "b": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40}

// sizeOf reads a size as PostgreSQL does. No machine has what is too large to reckon with.
func sizeOf(text string) (bytes int64, ok bool) {
	digits := strings.TrimRight(text, "kmgtb")
	unit, known := units[strings.TrimPrefix(text, digits)]
	n, err := strconv.ParseInt(digits, 10, 32)
	if !known || err != nil || n <= 0 || n > math.MaxInt64/4/unit {
		return 0, false
	}
	return n * unit, true
}
