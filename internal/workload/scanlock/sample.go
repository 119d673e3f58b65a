package scanlock

import (
	"fmt"
	"math"
	"time"

	"hostlab/internal/neighbours"
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
	if v.acquisitions == 0 {
		return out, fmt.Errorf("the thread on CPU %d did not take the lock once in %.3g s: the CPU is taken by others", m.victim, v.seconds)
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
	out.Values["total_rate"] = total / seconds
	m.others(&out, other)
	m.fairness(&out, rates)
	m.seedShare(&out)
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
type part struct{ acquisitions, spins, rounds, bytes, seconds float64 }

func (p *part) add(c Count, seconds float64) {
	p.acquisitions += float64(c.Acquisitions)
	p.spins += float64(c.Spins)
	p.rounds += float64(c.Rounds)
	p.bytes += float64(c.Bytes)
	p.seconds += seconds
}

// victimsPart sums what the lock thread did, where it did not scan, and what the
// other did: of the rotation, the scanner.
func (m *measured) victimsPart() (victim, other part) {
	for _, s := range m.stretches {
		for i, t := range s.cell.Threads {
			switch {
			case t.CPU == m.victim && t.Role == Lock:
				victim.add(s.counts[i], s.seconds)
			case m.name.role != "" || t.Role == Scan:
				other.add(s.counts[i], s.seconds)
			}
		}
	}
	return victim, other
}

// lockers are the rates of the threads that want the same lock, of each stretch.
func (m *measured) lockers() (rates [][]float64) {
	for _, s := range m.stretches {
		var list []float64
		for i, t := range s.cell.Threads {
			if t.Role == Lock {
				list = append(list, float64(s.counts[i].Acquisitions)/s.seconds)
			}
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

// seedShare compares the scanner's siblings with the other lock threads, as the
// published table does: the geometric mean over the positions.
func (m *measured) seedShare(out *workload.Sample) {
	if m.name.text != cellRotation {
		out.Missing["seed_share"] = "only the rotation has it"
		return
	}
	logs, n := 0.0, 0
	for _, s := range m.stretches {
		scanner := s.cell.Threads[0].CPU
		near := map[int]bool{}
		for _, cpu := range m.m.Siblings(scanner) {
			near[cpu] = true
		}
		var sum, count [2]float64 // of the siblings, of the others
		for i, t := range s.cell.Threads[1:] {
			k := 1
			if near[t.CPU] {
				k = 0
			}
			sum[k] += float64(s.counts[i+1].Acquisitions)
			count[k]++
		}
		if sum[0] > 0 && sum[1] > 0 {
			logs += math.Log(sum[0] / count[0] / (sum[1] / count[1]))
			n++
		}
	}
	if n == 0 {
		out.Missing["seed_share"] = "no lock thread shares a core with the scanner, while another does not"
		return
	}
	out.Values["seed_share"] = math.Exp(logs / float64(n))
}

// moved reports whether the distance of the two CPUs changed.
func (m *measured) moved() bool {
	return m.before > 0 && m.after > 0 && math.Max(m.before/m.after, m.after/m.before)-1 > movedShare
}

// doubt says why a run should not count, or "".
func (m *measured) doubt() string {
	if m.moved() {
		return fmt.Sprintf("the CPUs moved: a cache line took %.0f ns between them before and %.0f ns after", m.before*1e9, m.after*1e9)
	}
	for _, s := range m.stretches {
		if share := s.disturbed(); share > disturbedShare {
			return fmt.Sprintf("others took %.1f %% of a CPU that the threads ran on", 100*share)
		}
		for cpu, busy := range s.beside {
			if share := min(1, (busy-neighbours.Tick)/s.seconds); share > disturbedShare {
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
		worst = max(worst, (s.steal-neighbours.Tick*float64(len(s.counts)))/(s.seconds*float64(len(s.counts))))
	}
	return min(1, worst)
}
