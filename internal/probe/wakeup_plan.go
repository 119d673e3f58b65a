package probe

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/stats"
)

// Times of the wake-up probe's conditions, in seconds.
const (
	asleep   = 0.100 // before a slice of the first condition
	spinning = 0.100 // before the slices of the others
	gentle   = 0.030 // in place of spinning, where little of a CPU may be used
	settling = 0.005 // of the same kernel before a sleep, so that both begin with the same caches
)

// wakeSlices are the lengths of a slice in seconds when the CPU is awake.
var wakeSlices = []float64{0.010, 0.030, 0.100}

// maxWakeRounds is enough to resolve one percent at two percent of noise.
const maxWakeRounds = 30

// wakeTarget is a CPU that stands for its class.
type wakeTarget struct {
	CPU        int
	Class      string
	Socket     int // -1: unknown
	WorkingSet int // bytes, about its L2
}

// maxWakeTargets bounds the CPUs: many sockets are alike more often than not.
const maxWakeTargets = 4

// wakeTargets picks one CPU of each class and socket among those allowed, classes
// first, and says how many it left out.
func wakeTargets(topo *host.Topology, cpus []int) (targets []wakeTarget, left int) {
	if topo == nil {
		topo = &host.Topology{}
	}
	classes := topo.CoreTypes
	if len(classes) == 0 {
		classes = []host.CoreType{{Name: "all", CPUs: cpus}}
	}
	socket := map[int]int{}
	for _, c := range topo.CPUs {
		socket[c.ID] = c.Socket.Or(-1)
	}
	var first, more []wakeTarget
	for _, class := range classes {
		seen := map[int]bool{}
		for _, cpu := range class.CPUs {
			s, ok := socket[cpu]
			if !ok {
				s = -1
			}
			if seen[s] || !slices.Contains(cpus, cpu) {
				continue
			}
			t := wakeTarget{cpu, class.Name, s, workingSet(topo, cpu)}
			if len(seen) == 0 {
				first = append(first, t)
			} else {
				more = append(more, t)
			}
			seen[s] = true
		}
	}
	all := append(first, more...)
	if len(all) > maxWakeTargets {
		all, left = all[:maxWakeTargets], len(all)-maxWakeTargets
	}
	slices.SortStableFunc(all, func(a, b wakeTarget) int { return a.CPU - b.CPU })
	return all, left
}

// workingSet is three quarters of a CPU's second-level cache, the rest being left
// to code and stacks, or of a usual 1 MiB where its size is not known.
func workingSet(topo *host.Topology, cpu int) int {
	size := int64(1 << 20)
	for _, c := range topo.Caches {
		if v, ok := c.Size.Get(); ok && c.Level == 2 && slices.Contains(c.CPUs, cpu) {
			size = v
		}
	}
	return int(min(max(size, 128<<10), 16<<20)) / 4 * 3
}

// wakeKernel is a kernel with the lengths of its slices.
type wakeKernel struct {
	Name   string
	Slices []float64
}

// wakePlan is what fits into the budget.
type wakePlan struct {
	Kernels []wakeKernel
	Spin    float64 // s of work before the slices of a busy stretch
	Rounds  int
	Seconds float64 // that it should take
	Dropped string  // what did not fit, for a warning; "" for nothing
}

// wakePlans in the order in which they are given up: the long slice costs most
// and says least, since a governor has reacted after a few tens of milliseconds,
// and a cache is warm long before. So the mixed kernel never has it. The slices of
// mixed are among those of alu, with which they are compared.
var wakePlans = []wakePlan{
	{Kernels: []wakeKernel{{kernelALU, wakeSlices}, {kernelMixed, wakeSlices[:2]}}},
	{Kernels: []wakeKernel{{kernelALU, wakeSlices[:2]}, {kernelMixed, wakeSlices[:1]}}, Dropped: "slices of 100 ms"},
	{Kernels: []wakeKernel{{kernelALU, wakeSlices[:1]}, {kernelMixed, wakeSlices[:1]}},
		Dropped: "slices of 30 and 100 ms"},
	{Kernels: []wakeKernel{{kernelALU, wakeSlices[:1]}},
		Dropped: "slices of 30 and 100 ms and the kernel that sees cold caches"},
}

// slices are those of a kernel.
func (p wakePlan) slices(kernel string) []float64 {
	for _, k := range p.Kernels {
		if k.Name == kernel {
			return k.Slices
		}
	}
	return nil
}

// roundSeconds is what one round on one CPU takes, where so many CPUs may be used.
func (p wakePlan) roundSeconds(power float64) float64 {
	const overhead = 0.0005 // of a cell: threads, messages, reading the load
	total := 0.0
	cell := func(asleep, work float64) float64 { return max(asleep+work+overhead, work/power) }
	for _, k := range p.Kernels {
		sum := 0.0
		for _, s := range k.Slices {
			sum += s
		}
		for _, s := range k.Slices {
			total += cell(asleep, settling+s)
		}
		total += 2 * cell(0, p.Spin+sum)
	}
	return total
}

// calibrating is how often a busy stretch's spin fits into the preparation of one CPU.
const calibrating = 5

// planWakeup fits as many conditions as possible, then rounds, into the budget.
// A fifth of it is kept for rounds that are disturbed and repeated. The last
// resort is one short slice with as many rounds as there is time for, at least one.
func planWakeup(budget time.Duration, cpus int, power, alpha float64) wakePlan {
	plans, spin := wakePlans, spinning
	if power < 1 {
		plans, spin = wakePlans[2:], gentle
	}
	before := calibrating * spin * float64(cpus) / min(power, 1)
	time := budget.Seconds()*0.8 - before
	var p wakePlan
	for _, p = range plans {
		p.Spin = spin
		p.Rounds = int(time / (p.roundSeconds(power) * float64(cpus)))
		if p.Rounds >= stats.MinBlocks(alpha) {
			break
		}
	}
	p.Rounds = min(max(p.Rounds, 1), maxWakeRounds)
	p.Seconds = before + float64(cpus*p.Rounds)*p.roundSeconds(power)
	return p
}

// wakeKey names one comparison on one CPU.
type wakeKey struct {
	CPU    int
	Kernel string
	Slice  float64
}

// name tells a comparison's measurements from those of others, as in ".10ms.cpu0".
func (k wakeKey) name() string { return fmt.Sprintf(".%dms.cpu%d", int(k.Slice*1000+0.5), k.CPU) }

// wakeCell is one undivided stretch of a round: a slice after sleeping, or all
// slices of a kernel within one busy stretch.
type wakeCell struct {
	Target wakeTarget
	Kernel string
	Steps  []burstStep
	Roles  []wakeRole // of each step
}

// wakeRole says what a step measures; Slice is 0 for a step that measures nothing.
type wakeRole struct {
	Slice float64
	Cond  wakeCond
}

// wakeCond is a condition under which a slice runs.
type wakeCond int

const (
	afterSleep wakeCond = iota
	busy
	busyAgain // in another stretch, on another thread, as afterSleep is: the noise floor
	wakeConds
)

// wakeRound lays out a round in random order. perSecond gives the operations per
// second of a kernel on a CPU that is awake.
func wakeRound(p wakePlan, targets []wakeTarget, perSecond func(cpu int, kernel string) float64,
	rnd *rand.Rand) []wakeCell {
	var cells []wakeCell
	for _, t := range targets {
		for _, k := range p.Kernels {
			kernel := k.Name
			ops := func(slice float64) uint64 { return uint64(slice * perSecond(t.CPU, kernel)) }
			for _, s := range k.Slices {
				slept := wakeCell{Target: t, Kernel: kernel}
				slept.add(burstStep{Kernel: kernel, Spin: settling}, wakeRole{})
				slept.add(burstStep{Sleep: asleep}, wakeRole{})
				slept.add(burstStep{Kernel: kernel, N: ops(s)}, wakeRole{s, afterSleep})
				cells = append(cells, slept)
			}
			for _, cond := range []wakeCond{busy, busyAgain} {
				stretch := wakeCell{Target: t, Kernel: kernel}
				// The second half of the warm-up tells whether the clock still rises.
				stretch.add(burstStep{Kernel: kernel, Spin: p.Spin / 2}, wakeRole{})
				stretch.add(burstStep{Kernel: kernel, Spin: p.Spin / 2}, wakeRole{})
				for _, i := range rnd.Perm(len(k.Slices)) {
					stretch.add(burstStep{Kernel: kernel, N: ops(k.Slices[i])}, wakeRole{k.Slices[i], cond})
				}
				cells = append(cells, stretch)
			}
		}
	}
	rnd.Shuffle(len(cells), func(i, j int) { cells[i], cells[j] = cells[j], cells[i] })
	return cells
}

// climb is how much faster the last step of a busy stretch is than its first
// slice, or than the warm-up's end where there is one slice only; 0: not known.
func (c *wakeCell) climb(got []burstSample) float64 {
	last := len(got) - 1
	first := 1
	if last > 2 {
		first = 2
	}
	if c.Steps[0].Spin < gentle/2 || last <= first || got[first].N == 0 {
		return 0
	}
	a, b := got[first], got[last]
	return float64(b.N) / b.Seconds() / (float64(a.N) / a.Seconds())
}

func (c *wakeCell) add(s burstStep, r wakeRole) {
	c.Steps = append(c.Steps, s)
	c.Roles = append(c.Roles, r)
}
