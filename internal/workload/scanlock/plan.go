package scanlock

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/hot"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// None is what -s and -l take for no threads of that kind.
const None = "none"

// fromMemory is the most of the memory that all scanners' blocks may take.
const fromMemory = 1.0 / 2

// Ask is what the command line asks for. Scan and Lock are sets of CPUs as package cpus reads
// them, None, or "" for the default of the program of 2005: the first CPU scans, all others take
// the lock.
type Ask struct {
	Scan, Lock string
	ScanSize   int
}

// Plan is which thread does what where.
type Plan struct {
	Cell Cell
	// of each thread of Cell.Threads: where it is as seen from its nearest scanner; "": of a scanner, or there is none
	Near     []cpus.Place
	Warnings []string // what makes the figures mean something else than one would think
}

// Make checks what is asked for against a host and plans it. Scanners come first, as
// in the program of 2005. Errors are of the user's making, and name the flag.
func Make(ask Ask, f *host.Facts) (Plan, error) {
	scan, lock, err := choose(ask, f)
	if err != nil {
		return Plan{}, err
	}
	at := cpus.New(&f.Topology, nil, nil)
	p := Plan{Cell: Cell{ScanSize: hot.Whole(ask.ScanSize)}} // the plan names what is written
	for _, cpu := range scan {
		p.Cell.Threads, p.Near = append(p.Cell.Threads, Thread{cpu, Scan}), append(p.Near, "")
	}
	for _, cpu := range lock {
		p.Cell.Threads, p.Near = append(p.Cell.Threads, Thread{cpu, Lock}), append(p.Near, near(at, scan, cpu))
	}
	memory := f.Memory.Total
	if limit, ok := f.Limits.MemoryMax.Get(); ok && limit < memory.Or(limit+1) {
		memory = f.Limits.MemoryMax
	}
	if most, ok := memory.Get(); ok && float64(len(scan))*float64(ask.ScanSize) > fromMemory*float64(most) {
		return Plan{}, fmt.Errorf("--scan-size %s for %s takes more than half of the memory, %s",
			result.Format(float64(ask.ScanSize), "B"), screen.Count(len(scan), "scanner"), result.Format(float64(most), "B"))
	}
	p.warn(at, f, lock)
	return p, nil
}

// choose finds the CPUs of both kinds of threads.
func choose(ask Ask, f *host.Facts) (scan, lock []int, err error) {
	if scan, err = read("-s", ask.Scan, f); err != nil {
		return nil, nil, err
	}
	if lock, err = read("-l", ask.Lock, f); err != nil {
		return nil, nil, err
	}
	if ask.Scan == None && ask.Lock == None {
		return nil, nil, errors.New("-s none and -l none: nothing is left to run")
	}
	may := cpus.Usable(f)
	if len(may) == 0 {
		return nil, nil, errors.New("the CPUs that this process may use are unknown: name them with -s and -l")
	}
	if ask.Scan == "" {
		free := without(may, lock)
		if len(free) == 0 {
			return nil, nil, fmt.Errorf(
				"-l %s takes every CPU that may be used here (%s): no CPU is left to scan; leave one out, or "+
					"ask for -s none",
				screen.Short(ask.Lock), cpus.Named(may))
		}
		scan = free[:1]
	}
	if ask.Lock == "" {
		if lock = without(may, scan); len(lock) == 0 {
			why := fmt.Sprintf("-s %s takes every CPU that may be used here (%s)", screen.Short(ask.Scan), cpus.Named(may))
			if ask.Scan == "" {
				why = fmt.Sprintf("only %s may be used here, and it scans", cpus.Named(may))
			}
			return nil, nil, fmt.Errorf("%s: no CPU is left to take the lock; give it more CPUs, or ask for -s none or -l none",
				why)
		}
	}
	if both := without(scan, without(scan, lock)); len(both) > 0 {
		hint := ""
		if plain(ask.Scan) || plain(ask.Lock) {
			hint = "; a plain number is a mask, and a CPU by its number is cpu:N"
		}
		return nil, nil, fmt.Errorf("-s %s and -l %s both have %s: %s need as many CPUs%s", screen.Short(ask.Scan),
			screen.Short(ask.Lock),
			cpus.Named(both), screen.Count(len(scan)+len(lock), "thread"), hint)
	}
	return scan, lock, nil
}

// plain reports whether a set is written as a decimal mask.
func plain(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// read reads one set and checks its CPUs.
func read(flag, text string, f *host.Facts) ([]int, error) {
	if text == "" || text == None {
		return nil, nil
	}
	list, err := cpus.ParseSet(text)
	if err == nil {
		err = usable(f, list)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, screen.Short(text), err)
	}
	return list, nil
}

// warn collects what a reader of the figures should know beforehand.
func (p *Plan) warn(at *cpus.Machine, f *host.Facts, lock []int) {
	var beside, dark []int
	for i, t := range p.Cell.Threads {
		switch p.Near[i] {
		case cpus.Sibling:
			beside = append(beside, t.CPU)
		case cpus.Unknown:
			dark = append(dark, t.CPU)
		}
	}
	note := func(format string, a ...any) { p.Warnings = append(p.Warnings, fmt.Sprintf(format, a...)) }
	if len(beside) > 0 {
		note("the lock %s on %s %s a core with a scanner, as the system reports it: what one does there costs the other",
			plural(beside, "thread", "threads"), cpus.Named(beside), plural(beside, "shares", "share"))
	}
	locks, shared := map[int]int{}, 0
	for _, cpu := range lock {
		core := at.Core(cpu)
		if locks[core]++; locks[core] == 2 {
			shared++
		}
	}
	if shared > 0 {
		note("on %s two or more lock threads share the core", screen.Count(shared, "core"))
	}
	if len(dark) > 0 {
		note("what %s %s with a scanner is not known: the system does not report it", cpus.Named(dark),
			plural(dark, "shares", "share"))
	}
	if quota, ok := f.Limits.CPUQuota.Get(); ok && quota < float64(len(p.Cell.Threads)) {
		note("the control group gives %.3g CPUs to %s: they are stopped in turn, and their rates are of that", quota,
			screen.Count(len(p.Cell.Threads), "thread"))
	}
}

// usable says why some of the CPUs cannot be used here, or nil.
func usable(f *host.Facts, list []int) error {
	present, known := f.Topology.Present.Get()
	if none := without(list, present); known && len(present) > 0 && len(none) > 0 {
		return fmt.Errorf("%s %s not exist; this host has %s", cpus.Named(none), plural(none, "does", "do"),
			cpus.Named(rising(present)))
	}
	online, listed := f.Topology.Online.Get()
	if off := without(list, online); listed && len(off) > 0 {
		maybe := ""
		if !known {
			maybe = "not there, or "
		}
		return fmt.Errorf("%s %s %soffline; online %s %s", cpus.Named(off), plural(off, "is", "are"), maybe,
			plural(online, "is", "are"), cpus.Named(rising(online)))
	}
	set, limited := f.Limits.CPUSet.Get()
	if out := without(list, set); limited && len(set) > 0 && len(out) > 0 {
		return fmt.Errorf("%s %s outside the cpuset of this control group, which has %s", cpus.Named(out),
			plural(out, "lies", "lie"), cpus.Named(rising(set)))
	}
	may := cpus.Usable(f)
	if out := without(list, may); len(out) > 0 {
		return fmt.Errorf("this process may not use %s, only %s; was it started with taskset or the like?", cpus.Named(out),
			cpus.Named(may))
	}
	return nil
}

// without returns those of a rising list that are not in the other.
func without(list, other []int) []int {
	in := make(map[int]bool, len(other))
	for _, c := range other {
		in[c] = true
	}
	return slices.DeleteFunc(slices.Clone(list), func(c int) bool { return in[c] })
}

func rising(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return list
}

func plural(list []int, one, many string) string {
	if len(list) == 1 {
		return one
	}
	return many
}

// words are the places in a sentence.
var words = map[cpus.Place]string{
	cpus.Sibling: "on a scanner's core", cpus.Core: "same last-level cache", cpus.LLC: "same socket",
	cpus.Socket: "other socket", cpus.Unknown: "place not known",
}

// near is where a CPU is as seen from the nearest of some scanners. Where the place of one
// is not known that may be the nearest, so that only a shared core is sure.
func near(m *cpus.Machine, scan []int, cpu int) (best cpus.Place) {
	for _, s := range scan {
		switch at := m.Place(s, cpu); {
		case at == cpus.Sibling:
			return at
		case best == cpus.Unknown:
		case at == cpus.Unknown, best == "", slices.Index(cpus.Places, at) < slices.Index(cpus.Places, best):
			best = at
		}
	}
	return best
}
