package scanlock

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/cpus"
	"hostlab/internal/hot"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// The cells without a place.
const (
	cellNone     = "none"
	cellRotation = "rotation"
)

// maxPositions is how many CPUs the scanner of the rotation visits at most.
const maxPositions = 8

// maxBlock is the most memory that a scan of a cell may take.
const maxBlock = 1 << 30

// spareMemory is how many times its size must be free before a scan takes memory:
// what others need at once must not be pushed out.
const spareMemory = 4

var (
	besides = []Role{Scan, Pause, ALU, FMA, Lock, Own}
	sizes   = []string{"half-l1", "half-l2", "2xl2", "2xllc"}
)

// cellName is a parsed name: what the other thread does, and where.
type cellName struct {
	text  string
	role  Role   // "" for none and rotation
	size  string // of sizes; "" as the parameter scan_size says
	place string // of cpus.Places, or "" for a CPU
	cpu   int
}

// parseCell reads a name such as "scan-half-l1@sibling".
func parseCell(text string) (cellName, error) {
	c := cellName{text: text}
	if text == cellNone || text == cellRotation {
		return c, nil
	}
	what, where, _ := strings.Cut(text, "@")
	role, size, sized := strings.Cut(what, "-")
	c.role, c.size = Role(role), size
	cpu, err := strconv.Atoi(where)
	switch {
	case !slices.Contains(besides, c.role), sized && (c.role != Scan || !slices.Contains(sizes, size)):
	case slices.Contains(cpus.Places, where):
		c.place = where
		return c, nil
	case err == nil && cpu >= 0 && strconv.Itoa(cpu) == where:
		c.cpu = cpu
		return c, nil
	}
	e := &workload.ParamError{Name: "cell", Text: fmt.Sprintf("%q is no cell", text),
		Hint: "there are none, rotation, and scan, scan-half-l1, scan-half-l2, scan-2xl2, scan-2xllc, pause, alu, fma, lock and own " +
			"at a place: scan@sibling, @core, @llc, @socket, or @ and the number of a CPU"}
	if near := screen.Meant(text, cellNames()); near != "" {
		e.Hint = "did you mean " + near + "?"
	}
	return c, e
}

// cellNames lists the names of all cells but those at a CPU's number.
func cellNames() []string {
	names := []string{cellNone, cellRotation}
	for _, place := range cpus.Places {
		for _, r := range besides {
			names = append(names, string(r)+"@"+place)
		}
		for _, s := range sizes {
			names = append(names, string(Scan)+"-"+s+"@"+place)
		}
	}
	return names
}

// site is a machine as seen from the victim.
type site struct {
	m      *cpus.Machine
	victim int
	free   int64 // B of memory that may be taken; 0: not known
}

// newSite takes the parameter victim, where -1 is the machine's choice.
func newSite(m *cpus.Machine, p workload.Values) site {
	s := site{m, int(p.Int("victim")), freeMemory()}
	if s.victim < 0 {
		s.victim = m.Victim()
	}
	return s
}

// other returns the CPU of a cell's other thread, -1 for cells without one, and why
// the cell cannot be had.
func (s site) other(c cellName, scanSize int64) (cpu int, why string) {
	if !s.m.Has(s.victim) {
		return -1, fmt.Sprintf("CPU %d is offline, or not among the CPUs that may be used", s.victim)
	}
	switch {
	case c.text == cellNone:
		return -1, ""
	case c.text == cellRotation:
		if len(s.m.CPUs()) < 2 {
			return -1, "one CPU may be used, and it takes two"
		}
		return -1, ""
	case c.place != "":
		if cpu, why = s.m.Find(s.victim, c.place); why != "" {
			return -1, why
		}
	case c.cpu == s.victim:
		return -1, fmt.Sprintf("CPU %d is that of the lock thread", c.cpu)
	case !s.m.Has(c.cpu):
		return -1, fmt.Sprintf("CPU %d is offline, or not among the CPUs that may be used", c.cpu)
	default:
		cpu = c.cpu
	}
	if c.role == Scan {
		if _, why = s.scan(c.size, scanSize); why != "" {
			return -1, why
		}
	}
	return cpu, ""
}

// scan returns the bytes of a scan: a size relative to the victim's caches, or for ""
// what was asked for, 0 being twice L2. Where nobody knows L2, that is 4 MiB, more
// than most have.
func (s site) scan(size string, asked int64) (n int64, why string) {
	l1, l2, llc := s.m.Cache(s.victim, 1), s.m.Cache(s.victim, 2), s.m.Cache(s.victim, 0)
	of, name := map[string]int64{"half-l1": l1 / 2, "half-l2": l2 / 2, "2xl2": 2 * l2, "2xllc": 2 * llc}[size],
		map[string]string{"half-l1": "L1 cache", "half-l2": "L2 cache", "2xl2": "L2 cache", "2xllc": "last-level cache"}[size]
	switch {
	case size == "" && asked > 0:
		of = asked
	case size == "" && l2 > 0:
		of = 2 * l2
	case size == "":
		of = 4 << 20
	case of == 0:
		return 0, fmt.Sprintf("the size of the %s of CPU %d is not known", name, s.victim)
	case size == "2xllc" && s.m.Cache(s.victim, 3) == 0:
		return 0, "no cache behind L2 is known, so that twice the last-level cache is twice L2"
	}
	if s.free > 0 && of > s.free/spareMemory {
		return 0, fmt.Sprintf("a scan of %s would take more than a quarter of the memory that is free, %s",
			result.Format(float64(of), "B"), result.Format(float64(s.free), "B"))
	}
	if of > maxBlock {
		return 0, fmt.Sprintf("a scan of %d MiB is more than the %d MiB that one may take", of>>20, maxBlock>>20)
	}
	return int64(hot.Whole(int(of))), ""
}

// cells returns what a cell runs, one after another: more than one for the rotation.
func (s site) cells(c cellName, p workload.Values) ([]Cell, error) {
	list, err := s.m.Choose("cpus", p.String("cpus")) // wrong is wrong, also where the cell has no use for it
	if err != nil {
		return nil, err
	}
	other, why := s.other(c, p.Int("scan_size"))
	if why != "" {
		return nil, workload.Wrong("cell", c.text+": "+why, "'hostlab facts' lists the CPUs and what they share")
	}
	size, why := s.scan(c.size, p.Int("scan_size"))
	if why != "" {
		return nil, workload.Wrong("scan_size", why, "")
	}
	one := Cell{Lock: LockKind(p.String("lock")), Critical: int(p.Int("critical")), Touch: p.Bool("touch"),
		Parallel: int(p.Int("parallel")),
		NoPause:  p.Bool("no_pause"), ScanSize: int(size), Layout: Layout(p.String("layout"))}
	if c.text != cellRotation {
		one.Threads = []Thread{{CPU: s.victim, Role: Lock}}
		if other >= 0 {
			one.Threads = append(one.Threads, Thread{CPU: other, Role: c.role})
		}
		return []Cell{one}, nil
	}
	switch text := p.String("cpus"); {
	case len(list) < 2:
		return nil, workload.Wrong("cpus", text+": that is one CPU, and the rotation takes two", "")
	case !slices.Contains(list, s.victim):
		return nil, &workload.ParamError{Name: "cpus", Hint: "name a victim that is",
			Text: fmt.Sprintf("%s: CPU %d, that of the lock thread, is not among them", text, s.victim)}
	}
	m := s.m.Only(list)
	var all []Cell
	for _, scanner := range m.Positions(s.victim, maxPositions) {
		at := one
		at.Threads = []Thread{{CPU: scanner, Role: Scan}}
		for _, cpu := range m.CPUs() {
			if cpu != scanner {
				at.Threads = append(at.Threads, Thread{CPU: cpu, Role: Lock})
			}
		}
		all = append(all, at)
	}
	return all, nil
}
