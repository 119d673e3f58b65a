package scanlock

import (
	"errors"
	"fmt"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload/cpus"
	"hostlab/internal/workload/hot"
	threads "hostlab/internal/workload/scanlock"
)

// None is what -s and -l take for no threads of that kind.
const None = "none"

// The bounds of what can be asked for.
const (
	LeastScan, MostScan = 128, 1 << 30 // B of one scanner's block
	MostAdds            = 1_000_000    // of a critical or parallel section: about a third of a millisecond
	FromMemory          = 1.0 / 2      // of the memory, for all scanners' blocks
)

// Ask is what the command line asks for. Of Cell all but the threads is taken; Scan
// and Lock are sets of CPUs as package cpuset reads them, None, or "" for the default
// of the program of 2005: the first CPU scans, all others take the lock.
type Ask struct {
	Scan, Lock string
	Antagonist threads.Role // what the scanners do: Scan, or what stands in its place
	Cell       threads.Cell
}

// Plan is which thread does what where.
type Plan struct {
	Cell       threads.Cell
	Antagonist threads.Role
	Near       []Near   // of each thread of Cell.Threads
	Warnings   []string // what makes the figures mean something else than one would think
}

// Make checks what is asked for against a host and plans it. Scanners come first, as
// in the program of 2005. Errors are of the user's making, and name the flag.
func Make(ask Ask, m Machine) (Plan, error) {
	if err := bounds(ask.Cell); err != nil {
		return Plan{}, err
	}
	scan, lock, err := choose(ask, m)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Cell: ask.Cell, Antagonist: ask.Antagonist}
	p.Cell.ScanSize = hot.Whole(ask.Cell.ScanSize) // the plan names what is written
	p.Cell.Threads = nil
	for _, cpu := range scan {
		p.Cell.Threads = append(p.Cell.Threads, threads.Thread{CPU: cpu, Role: ask.Antagonist})
	}
	for _, cpu := range lock {
		p.Cell.Threads = append(p.Cell.Threads, threads.Thread{CPU: cpu, Role: threads.Lock})
	}
	if most, ok := m.Memory.Get(); ok && ask.Antagonist == threads.Scan && float64(len(scan))*float64(ask.Cell.ScanSize) > FromMemory*float64(most) {
		return Plan{}, fmt.Errorf("--scan-size %s for %s takes more than half of the memory, %s", result.Format(float64(ask.Cell.ScanSize), "B"),
			screen.Count(len(scan), "scanner"), result.Format(float64(most), "B"))
	}
	at := cpus.New(m.Topology, nil, nil)
	p.place(at, scan)
	p.warn(at, m, lock)
	return p, nil
}

// bounds checks the sizes.
func bounds(c threads.Cell) error {
	for _, x := range []struct {
		flag           string
		n, least, most int
		unit           string
	}{{"critical", c.Critical, 0, MostAdds, ""}, {"parallel", c.Parallel, 0, MostAdds, ""}, {"scan-size", c.ScanSize, LeastScan, MostScan, "B"}} {
		if x.n < x.least || x.n > x.most {
			show := func(n int) string { return result.Format(float64(n), x.unit) }
			return fmt.Errorf("--%s %s: expected %s to %s", x.flag, show(x.n), show(x.least), show(x.most))
		}
	}
	return nil
}

// choose finds the CPUs of both kinds of threads.
func choose(ask Ask, m Machine) (scan, lock []int, err error) {
	if scan, err = read("-s", ask.Scan, m); err != nil {
		return nil, nil, err
	}
	if lock, err = read("-l", ask.Lock, m); err != nil {
		return nil, nil, err
	}
	if ask.Scan == None && ask.Lock == None {
		return nil, nil, errors.New("-s none and -l none: nothing is left to run")
	}
	if len(m.Allowed) == 0 {
		return nil, nil, errors.New("the CPUs that this process may use are unknown: name them with -s and -l")
	}
	if ask.Scan == "" {
		free := without(m.Allowed, lock)
		if len(free) == 0 {
			return nil, nil, fmt.Errorf("-l %s takes every CPU that may be used here (%s): no CPU is left to scan; leave one out, or ask for -s none",
				screen.Short(ask.Lock), cpus.Named(m.Allowed))
		}
		scan = free[:1]
	}
	if ask.Lock == "" {
		if lock = without(m.Allowed, scan); len(lock) == 0 {
			why := fmt.Sprintf("-s %s takes every CPU that may be used here (%s)", screen.Short(ask.Scan), cpus.Named(m.Allowed))
			if ask.Scan == "" {
				why = fmt.Sprintf("only %s may be used here, and it scans", cpus.Named(m.Allowed))
			}
			return nil, nil, fmt.Errorf("%s: no CPU is left to take the lock; give it more CPUs, or ask for -s none or -l none", why)
		}
	}
	if both := without(scan, without(scan, lock)); len(both) > 0 {
		hint := ""
		if plain(ask.Scan) || plain(ask.Lock) {
			hint = "; a plain number is a mask, and a CPU by its number is cpu:N"
		}
		return nil, nil, fmt.Errorf("-s %s and -l %s both have %s: %s need as many CPUs%s", screen.Short(ask.Scan), screen.Short(ask.Lock),
			cpus.Named(both), screen.Count(len(scan)+len(lock), "thread"), hint)
	}
	return scan, lock, nil
}

// plain reports whether a set is written as a decimal mask.
func plain(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// read reads one set and checks its CPUs.
func read(flag, text string, m Machine) ([]int, error) {
	if text == "" || text == None {
		return nil, nil
	}
	cpus, err := cpus.ParseSet(text)
	if err == nil {
		err = m.usable(cpus)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, screen.Short(text), err)
	}
	return cpus, nil
}

// place says how near each lock thread is to a scanner.
func (p *Plan) place(at *cpus.Machine, scan []int) {
	p.Near = make([]Near, len(p.Cell.Threads))
	if len(scan) == 0 {
		return
	}
	for i, t := range p.Cell.Threads {
		if t.Role == threads.Lock {
			p.Near[i] = near(at, scan, t.CPU)
		}
	}
}

// warn collects what a reader of the figures should know beforehand.
func (p *Plan) warn(at *cpus.Machine, m Machine, lock []int) {
	var beside, dark []int
	for i, t := range p.Cell.Threads {
		switch p.Near[i] {
		case SameCore:
			beside = append(beside, t.CPU)
		case NotKnown:
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
		note("what %s %s with a scanner is not known: the system does not report it", cpus.Named(dark), plural(dark, "shares", "share"))
	} else if m.Guest && len(beside) == 0 && len(p.Near) > 1 {
		note("this is a guest, and a hypervisor may hide which CPUs share a core: `hostlab facts --probe` measures it")
	}
	if quota, ok := m.Quota.Get(); ok && quota < float64(len(p.Cell.Threads)) {
		note("the control group gives %.3g CPUs to %s: they are stopped in turn, and their rates are of that", quota, screen.Count(len(p.Cell.Threads), "thread"))
	}
}
