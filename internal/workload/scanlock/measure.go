package scanlock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

// What puts a run in doubt.
const (
	disturbedShare = 0.02 // of the CPUs' time that others and the hypervisor took
	movedShare     = 0.20 // by which the distance of the two CPUs changed
)

// clockTick is what a thread's CPU time may be off by at each reading: the kernel
// adds to it at every tick of its own, 250 a second as distributions have it.
const clockTick = 4 * time.Millisecond

// leastTaken stands for no acquisition of a thread that had its CPU and starved for the
// lock: a ratio takes no 0, and half of one is what counts of nothing are usually given
// (F. J. Anscombe, "On Estimating Binomial Response Relations", Biometrika 43, 1956).
const leastTaken = 0.5

// stretch is what the threads of a cell did while they were measured.
type stretch struct {
	cell     Cell
	seconds  float64
	counts   []Count // differences, in the order of Cell.Threads
	steal    float64 // seconds that the hypervisor took of their CPUs, as far as the clock's ticks tell
	hasLoads bool
	beside   map[int]float64 // seconds that others ran on siblings of these CPUs, as far as the clock's ticks tell
}

// measure runs a cell and reads its counters after the warm-up and at the end.
func measure(ctx context.Context, c Cell, idle []int, warmUp, duration time.Duration) (out stretch, err error) {
	s, err := Start(ctx, c)
	if err != nil {
		return out, err
	}
	defer func() {
		err = errors.Join(err, s.Close())
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}()
	var on []int
	for _, t := range c.Threads {
		on = append(on, t.CPU)
	}
	if err := proc.Sleep(ctx, warmUp); err != nil {
		return out, err
	}
	loads, okBefore := proc.Loads(append(slices.Clip(on), idle...))
	own := proc.Own()
	before, err := s.Snapshot()
	if err != nil {
		return out, err
	}
	if err := proc.Sleep(ctx, duration); err != nil {
		return out, err
	}
	after, err := s.Snapshot()
	if err != nil {
		return out, err
	}
	now, okAfter := proc.Loads(append(slices.Clip(on), idle...))
	own = proc.Own() - own
	out = stretch{cell: c, seconds: (after.At - before.At).Seconds(), hasLoads: okBefore && okAfter,
		beside: map[int]float64{}}
	if len(before.Counts) != len(c.Threads) || len(after.Counts) != len(c.Threads) || out.seconds <= 0 {
		return out, fmt.Errorf("the worker answered for %d threads of %d over %g s", len(after.Counts), len(c.Threads),
			out.seconds)
	}
	for i := range c.Threads {
		out.counts = append(out.counts, after.Counts[i].since(before.Counts[i]))
	}
	if out.hasLoads {
		for _, cpu := range on {
			out.steal += now[cpu].Steal - loads[cpu].Steal
		}
		for _, cpu := range idle { // this process may run there; the worker's threads do not
			out.beside[cpu] = now[cpu].Busy - loads[cpu].Busy + now[cpu].Steal - loads[cpu].Steal - own
		}
	}
	return out, nil
}

// sharing is how many threads of the cell have the CPU of one of them.
func (s *stretch) sharing(i int) (n int) {
	for _, t := range s.cell.Threads {
		if t.CPU == s.cell.Threads[i].CPU {
			n++
		}
	}
	return n
}

// had reports whether a thread had its CPU for half of its part of the stretch or more, so that
// others did not keep it from the lock, and whether the system tells.
func (s *stretch) had(i int) (yes, known bool) {
	c := &s.counts[i]
	return c.CPUTime.Seconds() >= s.seconds/2/float64(s.sharing(i)), c.HasCPU
}

// disturbed is the larger of what the unluckiest CPU was without the cell's threads, and of
// what the hypervisor took, as a share of the stretch. What clocks leave open is not counted.
func (s *stretch) disturbed() (worst float64) {
	for i, c := range s.counts {
		ran, known := 0.0, true
		for _, o := range s.counts {
			if o.CPU == c.CPU {
				ran, known = ran+o.CPUTime.Seconds(), known && o.HasCPU
			}
		}
		switch {
		case c.HasWaited && s.sharing(i) == 1:
			worst = max(worst, c.Waited.Seconds()/s.seconds)
		case known:
			worst = max(worst, (s.seconds-ran-2*clockTick.Seconds())/s.seconds)
		}
	}
	if n := float64(len(s.counts)); s.hasLoads {
		worst = max(worst, (s.steal-proc.Tick.Seconds()*n)/(s.seconds*n))
	}
	return min(1, worst)
}

// measured is all that a run saw.
type measured struct {
	site
	scanner       result.Scanner
	stretches     []stretch // one for each position of the rotation
	before, after float64   // distance of the two CPUs, s; 0: not known
}

// part is what one thread did over the stretches in which it took part.
type part struct {
	acquisitions, spins, scans, seconds float64

	had, known bool // it had its CPU in every stretch; the system tells
}

func (p *part) add(s *stretch, i int) {
	c := &s.counts[i]
	had, known := s.had(i)
	p.had, p.known = had && (p.had || p.seconds == 0), known && (p.known || p.seconds == 0)
	p.acquisitions += float64(c.Acquisitions)
	p.spins += float64(c.Spins)
	p.scans += float64(c.Bytes) / float64(s.cell.ScanSize) // of a large block only parts are scanned in the time
	p.seconds += s.seconds
}

func (m *measured) sample() (out workload.Sample, err error) {
	out = workload.Sample{Values: map[string]float64{}, Missing: map[string]string{}}
	var victim, scanner part
	total, seconds, wanting := 0.0, 0.0, 0
	for _, s := range m.stretches {
		lockers := 0
		for i, t := range s.cell.Threads {
			out.Operations += int64(s.counts[i].Acquisitions)
			total += float64(s.counts[i].Acquisitions)
			switch {
			case t.Role == Scan:
				scanner.add(&s, i)
				continue
			case t.CPU == m.victim:
				victim.add(&s, i)
			}
			lockers++
		}
		seconds += s.seconds
		wanting = max(wanting, lockers)
	}
	switch {
	case victim.acquisitions > 0:
	case !victim.known:
		return out, fmt.Errorf(
			"the thread on CPU %d did not take the lock once in %.3g s, and this system does not tell whether "+
				"others had its CPU", m.victim, victim.seconds)
	case !victim.had:
		return out, fmt.Errorf("the thread on CPU %d did not take the lock once in %.3g s: the CPU is taken by others",
			m.victim,
			victim.seconds)
	default:
		victim.acquisitions = leastTaken
	}
	out.Set("lock_rate", victim.acquisitions/victim.seconds)
	out.Set("total_rate", max(total, leastTaken)/seconds) // the lock thread had its CPU
	if wanting > 1 {
		out.Set("spins_per_lock", victim.spins/victim.acquisitions)
		out.Zero = map[string]string{"spins_per_lock": "compare = \"difference\" takes it"}
	} else {
		out.Lack("one thread only wants the lock", "spins_per_lock")
	}
	if scanner.seconds > 0 {
		out.Set("scan_rate", scanner.scans/scanner.seconds)
	} else {
		out.Lack("nothing scans", "scan_rate")
	}
	share, why := m.siblingShare()
	out.Give("sibling_share", share, why)
	out.Doubt = m.doubt()
	return out, nil
}

// siblingShare compares the scanner's siblings with the other lock threads, as the
// published table does: the geometric mean over the positions. Siblings that got nothing
// starved, and count with leastTaken, unless others had their CPU.
func (m *measured) siblingShare() (share float64, why string) {
	if m.scanner != result.Rotation {
		return 0, "only the rotation has it"
	}
	logs, n, why := 0.0, 0, "no lock thread shares a core with the scanner, while another does not"
	for _, s := range m.stretches {
		near := m.m.Siblings(s.cell.Threads[0].CPU)
		var sum, count [2]float64 // of the siblings, of the others
		had := [2]bool{true, true}
		for i, t := range s.cell.Threads[1:] {
			k := 1
			if slices.Contains(near, t.CPU) {
				k = 0
			}
			sum[k] += float64(s.counts[i+1].Acquisitions)
			count[k]++
			yes, _ := s.had(i + 1)
			had[k] = had[k] && yes
		}
		if count[0] == 0 || count[1] == 0 {
			continue
		}
		if sum[0]+sum[1] == 0 || sum[0] == 0 && !had[0] || sum[1] == 0 && !had[1] {
			why = "lock threads got nothing while others had their CPUs"
			continue
		}
		logs += math.Log(max(sum[0], leastTaken) / count[0] / (max(sum[1], leastTaken) / count[1]))
		n++
	}
	if n == 0 {
		return 0, why
	}
	return math.Exp(logs / float64(n)), ""
}

// moved reports whether the distance of the two CPUs changed.
func (m *measured) moved() bool {
	return m.before > 0 && m.after > 0 && math.Max(m.before/m.after, m.after/m.before)-1 > movedShare
}

// doubt says why a run should not count, or "".
func (m *measured) doubt() string {
	if m.moved() {
		return fmt.Sprintf("the CPUs moved: a cache line took %.0f ns between them before and %.0f ns after", m.before*1e9,
			m.after*1e9)
	}
	for _, s := range m.stretches {
		if share := s.disturbed(); share > disturbedShare {
			return fmt.Sprintf("others took %.1f %% of a CPU that the threads ran on", 100*share)
		}
		for cpu, busy := range s.beside {
			if share := min(1, (busy-proc.Tick.Seconds())/s.seconds); share > disturbedShare {
				return fmt.Sprintf("others ran %.1f %% of the time on CPU %d, which shares a core with a thread", 100*share, cpu)
			}
		}
	}
	return ""
}

// session goes by the CPUs that are there at each run, as a level may switch some off.
type session struct {
	cfg     workload.Config
	m       *cpus.Machine
	seen    []int // the CPUs that could be used when m was made
	victim  int   // of runs that name none, as long as its CPU is there
	thrower throwing
}

// look sees to it that CPUs which went offline or came back since are known.
func (s *session) look(ctx context.Context) error {
	now, err := thread.Allowed()
	if err != nil || slices.Equal(now, s.seen) {
		return err
	}
	s.m, s.seen, err = machineOf(ctx, s.cfg)
	return err
}

// site is the machine as it is now, as seen from the victim of a run.
func (s *session) site(p *Params) site {
	if named := p.Victim; named >= 0 {
		return site{s.m, named}
	}
	if !s.m.Has(s.victim) {
		s.victim = s.m.Victim()
	}
	return site{s.m, s.victim}
}

func (s *session) Close() error { return s.thrower.Close() }

func (s *session) Run(ctx context.Context, r workload.Request) (out workload.Sample, err error) {
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if err := s.look(ctx); err != nil {
		return out, err
	}
	p := r.Params.(*Params)
	here := s.site(p)
	cells, err := here.cells(p)
	if err != nil {
		return out, err
	}
	m := measured{site: here, scanner: p.Scanner}
	a, b := here.ends(cells[0])
	if b >= 0 {
		if m.before, err = s.thrower.distance(ctx, a, b); err != nil {
			return out, err
		}
	}
	for _, cell := range cells {
		stretch, err := measure(ctx, cell, here.idleSiblings(cell), p.WarmUp.Duration, p.Duration.Duration)
		if err != nil {
			return out, err
		}
		m.stretches = append(m.stretches, stretch)
	}
	// One odd reading moves no CPU: what has moved stays where it is.
	for try := 0; b >= 0 && (try == 0 || try < 3 && m.moved()); try++ {
		if m.after, err = s.thrower.distance(ctx, a, b); err != nil {
			return out, err
		}
	}
	return m.sample()
}
