package scanlock

import (
	"fmt"
	"math"
	"slices"
	"time"

	"hostlab/internal/proc"
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

// measured is all that a run saw.
type measured struct {
	site
	name          cellName
	stretches     []stretch // one for each position of the rotation
	before, after float64   // distance of the two CPUs, s; 0: not known
}

func (m *measured) sample() (out workload.Sample, err error) {
	out = workload.Sample{Values: map[string]float64{}, Missing: map[string]string{}}
	v, other := m.victimsPart()
	switch {
	case v.acquisitions > 0:
	case !v.known:
		return out, fmt.Errorf("the thread on CPU %d did not take the lock once in %.3g s, and this system does not tell whether "+
			"others had its CPU", m.victim, v.seconds)
	case !v.had:
		return out, fmt.Errorf("the thread on CPU %d did not take the lock once in %.3g s: the CPU is taken by others", m.victim,
			v.seconds)
	default:
		v.acquisitions = leastTaken
	}
	out.Values["lock_rate"] = v.acquisitions / v.seconds
	rates := m.lockers()
	if len(rates[0]) > 1 {
		out.Values["spins_per_lock"] = v.spins / v.acquisitions
		out.Zero = map[string]string{"spins_per_lock": "compare = \"difference\" takes it"}
	} else {
		out.Missing["spins_per_lock"] = alone
	}
	total, seconds := 0.0, 0.0
	for _, s := range m.stretches {
		for _, c := range s.counts {
			total += float64(c.Acquisitions)
			out.Operations += int64(c.Acquisitions)
		}
		seconds += s.seconds
	}
	out.Values["total_rate"] = max(total, leastTaken) / seconds // the lock thread had its CPU
	m.others(&out, other)
	m.fairness(&out, rates)
	m.siblingShare(&out)
	switch {
	case m.name.text == cellNone: // the pair that is watched is that of other cells
		out.Missing["ping_pong"] = "there is no other thread"
	case m.before > 0 && m.after > 0:
		out.Values["ping_pong"] = (m.before + m.after) / 2
	default:
		out.Missing["ping_pong"] = "the two CPUs hardly met: others kept one of them busy"
	}
	out.Doubt = m.doubt()
	return out, nil
}

// part is what one thread did over the stretches in which it took part.
type part struct {
	acquisitions, spins, rounds, bytes, seconds float64

	had, known bool // it had its CPU in every stretch; the system tells
}

func (p *part) add(s *stretch, i int) {
	c, seconds := &s.counts[i], s.seconds
	had, known := s.had(i)
	p.had, p.known = had && (p.had || p.seconds == 0), known && (p.known || p.seconds == 0)
	p.acquisitions += float64(c.Acquisitions)
	p.spins += float64(c.Spins)
	p.rounds += float64(c.Rounds)
	p.bytes += float64(c.Bytes)
	p.seconds += seconds
}

// had reports whether a thread had its CPU for half of the stretch or more, so that
// others did not keep it from the lock, and whether the system tells. A wait that lasts
// is not in Waited yet, so that CPU time decides; a thread that sleeps on a mutex has
// little, but some.
func (s *stretch) had(i int) (yes, known bool) {
	c, half := &s.counts[i], s.seconds/2
	slept := s.cell.Lock == Mutex && c.HasWaited && c.CPUTime > 0 && c.Waited.Seconds() < half
	return c.HasCPU && (slept || c.CPUTime.Seconds() >= half), c.HasCPU
}

// victimsPart sums what the lock thread did, where it did not scan, and what the
// other did: of the rotation, the scanner.
func (m *measured) victimsPart() (victim, other part) {
	for _, s := range m.stretches {
		for i, t := range s.cell.Threads {
			switch {
			case t.CPU == m.victim && t.Role == Lock:
				victim.add(&s, i)
			case m.name.role != "" || t.Role == Scan:
				other.add(&s, i)
			}
		}
	}
	return victim, other
}

// lockers are the rates of the threads that want the same lock, of each stretch; where
// another took it, leastTaken is that of one that starved.
func (m *measured) lockers() (rates [][]float64) {
	for _, s := range m.stretches {
		var list []float64
		anybody := slices.ContainsFunc(s.counts, func(c Count) bool { return c.Role == Lock && c.Acquisitions > 0 })
		for i, t := range s.cell.Threads {
			if t.Role != Lock {
				continue
			}
			n := float64(s.counts[i].Acquisitions)
			if had, _ := s.had(i); n == 0 && had && anybody {
				n = leastTaken
			}
			list = append(list, n/s.seconds)
		}
		rates = append(rates, list)
	}
	return rates
}

func (m *measured) others(out *workload.Sample, other part) {
	role := m.name.role
	if m.name.text == cellRotation {
		role = Scan
	}
	switch role {
	case "":
		out.Missing["other_rate"] = "there is no other thread"
	case Lock, Own:
		if other.acquisitions == 0 && other.had {
			other.acquisitions = leastTaken
		}
		out.Values["other_rate"] = other.acquisitions / other.seconds
	case Scan: // of a large block only parts are scanned in the time
		out.Values["other_rate"] = other.bytes / other.seconds / float64(m.stretches[0].cell.ScanSize)
		out.Values["scan_rate"] = other.bytes / other.seconds
	default:
		out.Values["other_rate"] = other.rounds / other.seconds
	}
	if role != Scan {
		out.Missing["scan_rate"] = "nothing scans"
	}
}

// alone is why a run has no response that is about several threads and one lock.
const alone = "one thread only wants the lock"

// fairness fills share and jain, the means over the stretches.
func (m *measured) fairness(out *workload.Sample, rates [][]float64) {
	var share, jain, shares, jains float64
	for k, list := range rates {
		if len(list) < 2 {
			continue
		}
		sum := 0.0
		for _, r := range list {
			sum += r
		}
		if sum == 0 {
			continue
		}
		jain += Jain(list)
		jains++
		n := 0
		for _, t := range m.stretches[k].cell.Threads {
			if t.Role != Lock {
				continue
			}
			if t.CPU == m.victim {
				share += list[n] * float64(len(list)) / sum
				shares++
			}
			n++
		}
	}
	for name, v := range map[string][2]float64{"share": {share, shares}, "jain": {jain, jains}} {
		if v[1] > 0 {
			out.Values[name] = v[0] / v[1]
		} else {
			out.Missing[name] = alone
		}
	}
}

// Jain is the index of fairness of R. Jain, D. Chiu and W. Hawe, "A Quantitative
// Measure of Fairness and Discrimination" (DEC-TR-301, 1984): 1 for equal shares, 1/n
// where one of n has all; NaN where nobody has any.
func Jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	return sum * sum / (float64(len(x)) * squares)
}

// siblingShare compares the scanner's siblings with the other lock threads, as the
// published table does: the geometric mean over the positions. Siblings that got nothing
// starved, and count with leastTaken, unless others had their CPU.
func (m *measured) siblingShare(out *workload.Sample) {
	if m.name.text != cellRotation {
		out.Missing["sibling_share"] = "only the rotation has it"
		return
	}
	logs, n, taken := 0.0, 0, false
	for _, s := range m.stretches {
		scanner := s.cell.Threads[0].CPU
		near := map[int]bool{}
		for _, cpu := range m.m.Siblings(scanner) {
			near[cpu] = true
		}
		var sum, count [2]float64 // of the siblings, of the others
		had := [2]bool{true, true}
		for i, t := range s.cell.Threads[1:] {
			k := 1
			if near[t.CPU] {
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
			taken = true
			continue
		}
		logs += math.Log(max(sum[0], leastTaken) / count[0] / (max(sum[1], leastTaken) / count[1]))
		n++
	}
	if n == 0 && taken {
		out.Missing["sibling_share"] = "lock threads got nothing while others had their CPUs"
		return
	}
	if n == 0 {
		out.Missing["sibling_share"] = "no lock thread shares a core with the scanner, while another does not"
		return
	}
	out.Values["sibling_share"] = math.Exp(logs / float64(n))
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

// disturbed is the larger of what the unluckiest thread was without its CPU, and of
// what the hypervisor took, as a share of the stretch. What clocks leave open is not
// counted, nor what a thread slept: one that waits for a mutex does.
func (s *stretch) disturbed() (worst float64) {
	for _, c := range s.counts {
		switch {
		case c.HasWaited:
			worst = max(worst, c.Waited.Seconds()/s.seconds)
		case c.HasCPU && (s.cell.Lock != Mutex || !c.Role.Takes()):
			worst = max(worst, (s.seconds-c.CPUTime.Seconds()-2*clockTick.Seconds())/s.seconds)
		}
	}
	if s.hasLoads {
		worst = max(worst, (s.steal-proc.Tick.Seconds()*float64(len(s.counts)))/(s.seconds*float64(len(s.counts))))
	}
	return min(1, worst)
}
