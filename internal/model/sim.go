package model

import (
	"math"
	"math/rand/v2"
)

// Purposes of random numbers. None depends on the policy.
const (
	forArrivals Purpose = iota
	forDemand           // slices and waits of open steps, in order of arrival
	forProcess          // slices, waits and thinking of one closed process
	forPhase            // where in its check interval a CPU starts
	forDevice           // flushes
)

// Types of event.
const (
	evSlice  int32 = iota // a CPU ends its slice
	evCheck               // a CPU's check interval or scheduler tick ends
	evArrive              // an open step arrives
	evDevice              // the device ends a flush
	evWake                // a process ends its wait or its thinking
)

type sim struct {
	c    Case
	g    governor
	q    *Queue
	now  Time
	cpus []cpu
	hw   hardware

	procs   []proc
	free    []int32 // open: idle work processes, last used on top
	waiting ring    // processes that found no idle CPU
	place   placer

	slice, wait, think, device, flushWork sampler
	each                                  []pace // with Workload.Each, by process

	arrivals, demand, flushes *rand.Rand
	gap                       float64 // mean between arrivals, ns

	commit logGroup
	meter  meter
	events int64 // handled
	moved  int64 // ends of slices that a change of rate moved
	done   bool
	broken bool // more waits than ever ends
	eager  bool // simulate all checks, also those that can change nothing
}

type cpu struct {
	core    int32
	socket  int32
	domain  int32
	proc    int32   // process that runs; -1 when idle
	request int32   // P-state that the governor asks for
	point   int32   // operating point that it runs at
	idle    int32   // idle state, when idle
	since   Time    // accounts are made up to here; ahead of the present while it wakes
	left    float64 // work of the slice, ns at nominal
	rate    float64 // work per ns
	pace    float64 // ns per work
	watts   float64

	busy   Time    // total
	cycles float64 // total of busy ns x frequency over that of the highest P-state

	idleFrom Time
	idleMean float64 // of past idle times, ns

	// governor
	phase, start Time // of the check intervals; start of the present one
	startBusy    Time // busy and cycles then
	startCycles  float64
	parked       bool // checks would change nothing until the CPU starts or stops
	past         sampled
	util, lag    float64 // schedutil: tracked utilisation, ns of time not yet decayed
	boost        float64
	boostAt      Time
}

// proc is what runs on CPUs: a dialog's work process, a job, a worker, a writer.
type proc struct {
	rng     *rand.Rand
	arrived Time    // of the step
	cpu     Time    // busy time of the step so far
	ran     Time    // start of the present slice
	work    float64 // of the slice that is ready, ns
	left    float64 // Batch, Query: work still to do after it, ns
	plan    []float64
	index   int64 // of the step
	stage   int32 // slices done
	last    int32 // CPU it ran on; -1 before
	io      bool  // it wakes from I/O
	util    float64
	est     float64
	utilAt  Time
}

// pace is how a process computes and thinks.
type pace struct{ slice, think sampler }

// newSim prepares a replication. The case is valid.
func newSim(c Case, g governor, seed uint64, replication int) *sim {
	w := c.Workload
	n := c.Machine.CPUs()
	s := &sim{
		c: c, g: g, q: NewQueue(2*n + 2), cpus: make([]cpu, n), hw: newHardware(c.Machine, g, w.MemoryShare),
		slice: w.Slice.sampler(), wait: w.Wait.sampler(), think: w.Think.sampler(),
		device: w.Device.sampler(), flushWork: w.FlushWork.sampler(),
		flushes: Stream(seed, replication, forDevice, 0),
	}
	for _, u := range w.Each {
		s.each = append(s.each, pace{u.Slice.sampler(), u.Think.sampler()})
	}
	s.waiting.buf = make([]int32, 64)
	s.place = newPlacer(w.Placement, n, c.Machine.ThreadsPerCore)
	start := g.floor
	if g.rule == ruleTop {
		start = g.top
	}
	for i := range s.cpus {
		k := &s.cpus[i]
		k.proc, k.request, k.parked = -1, int32(start), true
		if s.hw.asking != nil {
			s.hw.asking[start].set(i)
		}
		k.core = int32(i / c.Machine.ThreadsPerCore)
		k.socket = int32(i / (c.Machine.ThreadsPerCore * c.Machine.CoresPerSocket))
		k.domain = int32(i / s.hw.perDom)
		if g.period > 0 {
			k.phase = Time(Stream(seed, replication, forPhase, i).Float64() * float64(g.period))
		}
		k.idle = s.hw.idleState(math.Inf(1))
		k.idleMean = math.Inf(1)
		k.watts = s.hw.idleWatts(k.idle, 0)
	}
	for d := range s.hw.domains {
		s.hw.domains[d].request = int32(start)
	}
	s.meter.init(s)
	if w.Open() {
		s.arrivals = Stream(seed, replication, forArrivals, 0)
		s.demand = Stream(seed, replication, forDemand, 0)
		rate := c.Load * s.hw.capacity() / (float64(w.Slices) * w.Slice.Mean)
		s.gap = 1e9 / rate
		s.q.Set(s.arriveSlot(), evArrive, Time(s.gap*s.arrivals.ExpFloat64()))
		return s
	}
	s.populate(seed, replication)
	return s
}

// Slots: CPUs' slices, CPUs' checks, the arrivals, the device, the processes.
func (s *sim) checkSlot(cpu int32) int32 { return int32(len(s.cpus)) + cpu }
func (s *sim) arriveSlot() int32         { return int32(2 * len(s.cpus)) }
func (s *sim) deviceSlot() int32         { return int32(2*len(s.cpus)) + 1 }
func (s *sim) wakeSlot(p int32) int32    { return int32(2*len(s.cpus)) + 2 + p }

// run simulates until the meter has its steps, or limit events.
func (s *sim) run(limit int64) {
	for !s.done && s.events < limit && s.step() {
	}
}

// step handles one event; false when nothing is left to happen.
func (s *sim) step() bool {
	e, ok := s.q.Next()
	if !ok {
		return false
	}
	s.now = e.At
	s.events++
	switch e.Kind {
	case evSlice:
		s.endSlice(e.Slot)
	case evCheck:
		s.checkCPU(e.Slot - int32(len(s.cpus)))
	case evArrive:
		s.arrive()
	case evDevice:
		s.flushed()
	case evWake:
		s.wake(e.Slot - s.wakeSlot(0))
	}
	return true
}

// ring is a first come first served queue of processes.
type ring struct {
	buf     []int32 // length is a power of two
	head, n int
}

func (r *ring) push(p int32) {
	if r.n == len(r.buf) {
		b := make([]int32, 2*len(r.buf))
		k := copy(b, r.buf[r.head:])
		copy(b[k:], r.buf[:r.head])
		r.buf, r.head = b, 0
	}
	r.buf[(r.head+r.n)&(len(r.buf)-1)] = p
	r.n++
}

func (r *ring) pop() int32 {
	p := r.buf[r.head]
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return p
}

func (s *sim) addProc() int32 {
	p := int32(len(s.procs))
	s.procs = append(s.procs, proc{last: -1})
	s.q.Grow(int(s.wakeSlot(p)) + 1)
	return p
}
