package assess

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Full is a thread that had work for a CPU all the time: no more than one CPU serves it.
type Full struct {
	TID   int     `json:"tid"`
	Name  string  `json:"name"`  // "": it has ended
	Share float64 `json:"share"` // of the time, on a CPU or ready for one
}

// called names it.
func (f *Full) called() string {
	if f.Name == "" {
		return fmt.Sprintf("thread %d", f.TID)
	}
	return fmt.Sprintf("%s (thread %d)", screen.Clean(f.Name), f.TID)
}

// full is the share of the time from which a thread is always at work.
const full = 0.95

// busy are the threads that mainly were at work, and all is how many were watched for most of the time.
func (b *blocked) busy() (list []Full, all int) {
	if b.tally == nil {
		return nil, 0
	}
	for id := range b.tally.Looks {
		ran, watched := b.tally.Of(id)
		if watched < b.tally.Wall.Seconds()/2 {
			continue
		}
		all++
		if share := ran / watched; share >= mainly {
			thread, _ := proc.Read(id.TID) // one that has ended has no name
			list = append(list, Full{id.TID, thread.Name, share})
		}
	}
	return list, all
}

// Interpreter is a process of Python, of which one thread computes at a time: its global lock is no platform's.
type Interpreter struct {
	PID     int `json:"pid"`
	Threads int `json:"threads"` // that had work
}

// interpreter is that of the service, if one process has most of its work in several threads; nil: none. Builds without
// the lock end with "t" (PEP 703).
func (b *blocked) interpreter() *Interpreter {
	if b.tally == nil {
		return nil
	}
	threads, seconds, all, first := map[int]int{}, map[int]float64{}, 0.0, 0
	for id := range b.tally.Looks {
		ran, watched := b.tally.Of(id)
		if all += ran; ran >= awake*watched && ran > 0 {
			threads[id.PID]++
		}
		if seconds[id.PID] += ran; seconds[id.PID] > seconds[first] {
			first = id.PID
		}
	}
	program, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", first))
	name := filepath.Base(program)
	if threads[first] < 2 || seconds[first] < mainly*all || !strings.HasPrefix(name, "python") ||
		strings.HasSuffix(name, "t") {
		return nil
	}
	return &Interpreter{first, threads[first]}
}

// mainly is the share of a service's work that makes a process the one that counts.
const mainly = 0.8

// turns says that threads of one interpreter fill one CPU while more have work, or one thread always does.
func (m *Minute) turns() []explain.Finding {
	used, at := m.Report.Part(explain.DatabaseCPU).Seconds/max(m.Report.Wall, 1e-9), m.atWork()
	always := len(m.Full) == 1 && m.Full[0].Share >= full
	if m.Interpreter == nil || m.Host.CPUs < 2 || used < mainly || used > 1+onlyOne || at < 1.5 && !always {
		return nil
	}
	if at < 1.5 { // the others wait for it, each time for 5 ms (sys.getswitchinterval), and may have next to no work
		return []explain.Finding{{Parameter: "one interpreter", Part: explain.DatabaseCPU, Number: used, Unit: "CPUs", N: -1,
			Plain: true, AtMost: result.Finite(1), Unseen: "it does not show what its clients wait for",
			Text: fmt.Sprintf("one thread of Python, %s, always computes, and others that have work wait some 5 ms each time for it (GIL)",
				m.Full[0].called()),
			Step: "have a process of its own do what that thread does, or have it pause"}}
	}
	parallel := min(at, float64(m.Host.CPUs))
	likely := 1 - 1/parallel
	return []explain.Finding{{Parameter: "one interpreter", Part: explain.DatabaseCPU, Number: used, Unit: "CPUs", N: -1,
		Explains: &likely, AtMost: result.Finite(1 - 1/(2*parallel)), // to take turns may cost them as much again
		Unseen: "it does not show what it costs them to take turns",
		Text: fmt.Sprintf("%d threads of Python (PID %d) compute one at a time (GIL): they use %.2g of %s while %.2g "+
			"have work",
			m.Interpreter.Threads, m.Interpreter.PID, used, screen.Count(m.Host.CPUs, "CPU"), at),
		Step: "have more processes share its work, as workers of its server; more CPUs serve its threads no better"}}
}

// collectors are how names of threads begin that collect garbage: HotSpot's and .NET's, which the kernel cuts at 15
// bytes. HotSpot's VM thread does it while all others stand still.
var collectors = []string{"GC Thread", "G1 ", "VM Thread", "ZWorker", "ZDriver", "XWorker", "XDriver", "Shenandoah",
	".NET Server GC", ".NET BGC"}

// Collector is what threads that collect garbage took of a service's CPU time.
type Collector struct {
	Thread  string  `json:"thread"` // the name of the one that took most
	Seconds float64 `json:"seconds"`
	Heap    string  `json:"heap"`             // the limit of the heap, as its command line has it; "": it has none
	Unread  bool    `json:"unread,omitempty"` // its command line could not be read
}

// collector sums it up; nil: no such thread ran.
func (b *blocked) collector() *Collector {
	if b.tally == nil {
		return nil
	}
	var c Collector
	most, pid := 0.0, 0
	for id := range b.tally.Looks {
		ran, _ := b.tally.Of(id)
		if ran <= 0 {
			continue
		}
		thread, _ := proc.Read(id.TID)
		if !slices.ContainsFunc(collectors, func(begin string) bool { return strings.HasPrefix(thread.Name, begin) }) {
			continue
		}
		if c.Seconds += ran; ran > most {
			most, c.Thread, pid = ran, thread.Name, id.PID
		}
	}
	if most == 0 {
		return nil
	}
	line, err := proc.Words(pid, "cmdline")
	c.Unread = err != nil
	for _, word := range line { // the last one counts
		if size, ok := strings.CutPrefix(word, "-Xmx"); ok {
			c.Heap = size
		}
	}
	return &c
}

// collects is the share of the CPU time from which garbage is a cause, and emptied is how much of the others' CPU time
// they may need for the caches that a collection empties, and for what they tell the collector of their writes.
const (
	collects = 0.1
	emptied  = 0.25
)

// garbage is the collector of a heap that is too small: its threads compute, and others wait for them.
func (m *Minute) garbage() []explain.Finding {
	ran := m.Report.Part(explain.DatabaseCPU).Seconds + m.Report.Part(explain.RunQueue).Seconds
	if m.Collector == nil || ran <= 0 || m.Collector.Seconds < collects*ran {
		return nil
	}
	of := min(1, m.Collector.Seconds/ran)
	cpu := m.share(explain.DatabaseCPU)
	likely, most := of*cpu.Value, cpu.High*(of+(1-of)*emptied)
	for _, p := range []explain.PartName{explain.RunQueue, explain.Locks} { // all waits may be for it
		e := m.share(p)
		likely, most = likely+of*e.Value, most+e.High
	}
	heap, step := "its command line has no -Xmx", "start it with a larger heap (-Xmx), or have it make less garbage"
	if m.Collector.Unread {
		heap = "its command line cannot be read, so that its heap's limit is not known"
	}
	if m.Collector.Heap != "" {
		heap = "the heap's limit is -Xmx" + screen.Clean(m.Collector.Heap)
	}
	if strings.HasPrefix(m.Collector.Thread, ".NET") {
		heap, step = "its heap's limit is not known here",
			"give its heap more (DOTNET_GCHeapHardLimit, limits of its container), or have it make less garbage"
	}
	return []explain.Finding{{Parameter: "heap", Value: m.Collector.Heap, Part: explain.DatabaseCPU, Number: of,
		Unit: "of its CPU time", N: -1,
		Explains: result.Finite(min(1, likely)), AtMost: result.Finite(min(1, most)),
		Unseen: "it does not show which waits are for the collection",
		Text: fmt.Sprintf("garbage collection (%s) takes %s of its CPU time, and other threads wait for it",
			screen.Clean(m.Collector.Thread), result.Share(of)),
		More: []string{heap},
		Step: step}}
}

// alone is the thread that has all the work of a service: it is served by one CPU, however many there are, so that no
// lever of the platform but a faster clock shortens its work.
func (m *Minute) alone() (list []explain.Finding) {
	cpus := m.Host.CPUs
	if m.Host.Allowed > 0 {
		cpus = min(cpus, m.Host.Allowed)
	}
	cpu, queue := m.share(explain.DatabaseCPU), m.share(explain.RunQueue)
	if len(m.Full) != 1 || m.Connected || m.Host.Busy == nil || cpus < 2 || cpu.Value < half || len(m.turns()) > 0 ||
		m.Throttled != nil && *m.Throttled > 0 {
		return nil
	}
	t := m.Full[0]
	has := "always has work"
	if t.Share < full {
		if r := m.Requests; r == nil || r.Unread < 1 {
			return nil
		}
		has = "has work for " + result.Share(t.Share) + " of the time while requests wait"
	}
	return []explain.Finding{{Parameter: "threads at work", Part: explain.DatabaseCPU, Number: t.Share,
		Unit: "of the time", N: int64(m.Threads), Plain: true,
		// the others then wait no longer for a CPU, and do as much each
		AtMost: result.Finite(lever.Unit(cpu.High*(1-1/float64(cpus)) + queue.High)),
		Text: fmt.Sprintf("of %s, %s alone %s, and more than one CPU cannot serve it",
			screen.Count(m.Threads, "thread"), t.called(), has),
		More: []string{fmt.Sprintf("the %s are %s busy", screen.Count(m.Host.CPUs, "CPU"), result.Share(*m.Host.Busy))},
		Step: "let more threads or processes share its work, if it can, or give it less to do"}}
}
