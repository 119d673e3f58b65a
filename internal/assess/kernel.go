package assess

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/service"
	"hostlab/internal/trace"
)

// Kernel is what a service does with its CPU time, by samples of it.
type Kernel struct {
	Samples int                `json:"samples"`
	Works   map[trace.Work]int `json:"works"`  // samples, of its own code and of what the kernel does for it
	Faults  int64              `json:"faults"` // pages that were missing
}

// kernelWork samples what the kernel does.
type kernelWork struct {
	began []proc.Stat         // the service's processes
	seen  map[trace.Doing]int // samples
}

func (k *kernelWork) watch(ctx context.Context, s *service.Service, lasts time.Duration) {
	k.began = statsOf(s)
	k.seen, _ = trace.Calls(ctx, lasts) // else nothing is said of it
}

func statsOf(s *service.Service) (list []proc.Stat) {
	for _, pid := range s.Members() {
		if p, err := proc.Read(pid); err == nil {
			list = append(list, p)
		}
	}
	return list
}

// fill takes what its processes did, and those that they began and that have ended.
func (k *kernelWork) fill(m *Minute, s *service.Service) {
	if len(k.seen) == 0 {
		return
	}
	m.Kernel = &Kernel{Works: map[trace.Work]int{}}
	own := map[int]bool{}
	ended := statsOf(s)
	for _, p := range slices.Concat(k.began, ended) {
		own[p.PID] = true
	}
	for _, p := range ended {
		m.Kernel.Faults += p.Faults
		if i := slices.IndexFunc(k.began, func(b proc.Stat) bool { return b.Identity() == p.Identity() }); i >= 0 {
			m.Kernel.Faults -= k.began[i].Faults
		}
	}
	for d, n := range k.seen {
		if own[d.PID] || own[d.Parent] {
			m.Kernel.Samples += n
			m.Kernel.Works[d.Work] += n
		}
	}
}

// needless is work of the kernel of which a program may have less.
type needless struct {
	works    []trace.Work
	to, step string
}

var needlessWork = []needless{
	{[]trace.Work{trace.Processes}, "begin and end processes",
		"have it keep processes that wait for work, or begin them from a small one: a fork copies the page tables of all its memory"},
	{[]trace.Work{trace.Memory, trace.Faults}, "take and give back memory",
		"have it keep memory that it has taken (settings of its allocator), or use huge pages"},
	{[]trace.Work{trace.Clock}, "read the clock",
		"see whether the kernel has a clock that takes no system call: hostlab check --explain KRN-007"},
	{[]trace.Work{trace.Yields}, "yield CPUs", "have fewer threads spin for a lock"},
	{[]trace.Work{trace.Locks}, "wait for locks and wake who waits for them", "have fewer threads share a lock"},
}

// longestFault is what one page takes at most, s: with huge pages all of it is cleared. What takes longer is interrupts.
const longestFault = 200e-6

// enoughSamples are those from which a share of them says something.
const enoughSamples = 50

const workOfKernel = "work of the kernel"

// works says for what the kernel mostly works, if that may be less.
func (m *Minute) works() []explain.Finding {
	k := m.Kernel
	if k == nil || k.Samples < enoughSamples || m.Report.Busy <= 0 {
		return nil
	}
	cpu := m.share(explain.DatabaseCPU)
	var most needless
	samples := 0
	for _, w := range needlessWork {
		n := 0
		for _, work := range w.works {
			seconds := float64(k.Works[work]) / float64(k.Samples) * m.Report.Part(explain.DatabaseCPU).Seconds
			if work != trace.Faults || seconds <= longestFault*float64(k.Faults) {
				n += k.Works[work]
			}
		}
		if n > samples {
			most, samples = w, n
		}
	}
	of := float64(samples) / float64(k.Samples)
	share := lever.Unit(of * cpu.Value)
	return []explain.Finding{{Parameter: workOfKernel, Part: explain.DatabaseCPU, Number: of, Unit: "of CPU time",
		N: int64(samples), Explains: &share,
		AtMost: result.Finite(lever.Unit(cpu.High + m.share(explain.RunQueue).High)),
		Unseen: "it does not show what that costs its own code, by cold caches and by memory that a hypervisor gives anew",
		Text:   fmt.Sprintf("of the CPU time of %s, the kernel takes %s to %s", m.name(), result.Share(of), most.to), Step: most.step}}
}
