package scanlock

import (
	"fmt"
	"slices"

	"hostlab/internal/cpus"
	"hostlab/internal/hot"
	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// maxPositions is how many CPUs the scanner of the rotation visits at most.
const maxPositions = 8

// site is a machine as seen from the CPU of the lock thread.
type site struct {
	m      *cpus.Machine
	victim int
}

// other returns the CPU that scans beside the lock thread, -1 for none and the rotation,
// and why the host does not have it.
func (s site) other(scanner result.Scanner) (cpu int, why string) {
	if !s.m.Has(s.victim) {
		return -1, fmt.Sprintf("CPU %d is offline, or not among the CPUs that may be used", s.victim)
	}
	switch scanner {
	case result.NoScanner:
		return -1, ""
	case result.Rotation:
		if len(s.m.CPUs()) < 2 {
			why = "one CPU may be used, and it takes two"
		}
		return -1, why
	case result.ScannerSame:
		return s.victim, ""
	case result.ScannerSibling:
		return s.m.Find(s.victim, cpus.Sibling)
	}
	return s.m.Find(s.victim, cpus.Core)
}

// scan returns the bytes of a scan: what was asked for, or for 0 twice L2. Where nobody knows L2,
// that is 4 MiB, more than most have.
func (s site) scan(asked int64) int64 {
	switch l2 := s.m.Cache(s.victim, 2); {
	case asked > 0:
	case l2 > 0:
		asked = min(2*l2, MostScan)
	default:
		asked = 4 << 20
	}
	return int64(hot.Whole(int(asked)))
}

// cells returns what runs, one after another: more than one for the rotation.
func (s site) cells(p *Params) ([]Cell, error) {
	list, err := s.m.Choose("cpus", p.CPUs) // wrong is wrong, also where the scanner does not go round
	if err != nil {
		return nil, err
	}
	scanner := p.Scanner
	other, why := s.other(scanner)
	if why != "" {
		return nil, workload.Wrong("scanner", string(scanner)+": "+why, "'hostlab facts' lists the CPUs and what they share")
	}
	one := Cell{ScanSize: int(s.scan(int64(p.ScanSize)))}
	if scanner != result.Rotation {
		one.Threads = []Thread{{CPU: s.victim, Role: Lock}}
		if other >= 0 {
			one.Threads = append(one.Threads, Thread{CPU: other, Role: Scan})
		}
		return []Cell{one}, nil
	}
	switch text := p.CPUs; {
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

// ends are the two CPUs whose distance is watched: the victim and the scanner's, or in
// the rotation and where the victim is alone the victim and the nearest, so that the
// baseline is watched as the cells that are compared with it; b is -1 where there is
// no other.
func (s site) ends(c Cell) (a, b int) {
	if len(c.Threads) == 2 && c.Threads[0].CPU != c.Threads[1].CPU {
		return c.Threads[0].CPU, c.Threads[1].CPU
	}
	for _, place := range []cpus.Place{cpus.Sibling, cpus.Core} {
		if cpu, why := s.m.Find(s.victim, place); why == "" {
			return s.victim, cpu
		}
	}
	return s.victim, -1
}

// idleSiblings are the CPUs on the cores of a cell's threads on which none of them
// runs: what others do there slows the threads, and no counter of theirs shows it.
func (s site) idleSiblings(c Cell) (out []int) {
	for _, t := range c.Threads {
		for _, cpu := range s.m.Threads(t.CPU) {
			if !slices.ContainsFunc(c.Threads, func(o Thread) bool { return o.CPU == cpu }) && !slices.Contains(out, cpu) {
				out = append(out, cpu)
			}
		}
	}
	return out
}
