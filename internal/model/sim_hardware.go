package model

import (
	"math"
	"slices"
)

// hardware is a machine made ready: operating points, domains, sockets, cores.
type hardware struct {
	m       Machine
	top     int32     // P-state whose request includes turbo; -1 for none
	hz      []float64 // operating points, rising: P-states, turbo bins, fixed
	rate    []float64 // work per second there
	pace    []float64 // its inverse
	scale   []float64 // frequency over that of the highest P-state
	watts   []float64 // of an executing core
	pstate  []int32   // point of a P-state
	turbo   []int32   // point by active cores, 0 to CoresPerSocket; nil without
	held    int32     // point that all CPUs are held at; -1 when the governor chooses
	share   []float64 // rate of a thread by busy threads of its core
	slow    []float64 // its inverse
	power   []float64 // share of the core's power that a busy thread draws, likewise
	exit    []Time
	target  []float64 // ns
	idling  []float64 // W of a wholly idle core by idle state
	domains []domain
	perDom  int // CPUs in one
	// asking holds by P-state the CPUs that ask for it, when several share a domain.
	asking  []bitset
	sockets []socket
	cores   []int32 // busy threads
}

type domain struct{ request int32 }

type socket struct {
	active int32 // cores with a busy thread
	turbo  int32 // point that the highest P-state gives now
}

func newHardware(m Machine, g governor, memoryShare float64) hardware {
	h := hardware{m: m, top: -1, held: -1}
	points := slices.Clone(m.PStates)
	for _, b := range m.Turbo {
		points = append(points, b.Hz)
	}
	hold := m.Fixed
	if hold == 0 && g.rule == ruleHertz {
		hold = g.hz
	}
	if hold > 0 {
		points = append(points, hold)
	}
	slices.Sort(points)
	h.hz = slices.Compact(points)
	at := func(hz float64) int32 { i, _ := slices.BinarySearch(h.hz, hz); return int32(i) }
	for _, f := range h.hz {
		h.rate = append(h.rate, speed(f, m.Nominal, memoryShare))
		h.pace = append(h.pace, 1/h.rate[len(h.rate)-1])
		h.scale = append(h.scale, f/m.PStates[len(m.PStates)-1])
		h.watts = append(h.watts, m.Power.core(f, m))
	}
	for _, f := range m.PStates {
		h.pstate = append(h.pstate, at(f))
	}
	if hold > 0 {
		h.held = at(hold)
	} else if g.boost && len(m.Turbo) > 0 {
		h.top = int32(len(m.PStates) - 1)
		bin := 0
		for n := 0; n <= m.CoresPerSocket; n++ {
			if n > m.Turbo[bin].ActiveCores {
				bin++
			}
			h.turbo = append(h.turbo, at(m.Turbo[bin].Hz))
		}
	}
	h.share, h.power = []float64{1, 1}, []float64{0, 1}
	for k := 2; k <= m.ThreadsPerCore; k++ {
		// Beyond two threads the loss of two applies again for each doubling.
		h.share = append(h.share, math.Pow(m.SMTRate, math.Log2(float64(k))))
		h.power = append(h.power, (1+m.Power.SMTShare*float64(k-1))/float64(k))
	}
	for _, x := range h.share {
		h.slow = append(h.slow, 1/x)
	}
	poll := m.Power.core(m.PStates[0], m)
	for _, i := range m.IdleStates {
		h.exit = append(h.exit, Nanoseconds(i.ExitLatency))
		h.target = append(h.target, i.TargetResidency*1e9)
		h.idling = append(h.idling, poll*i.PowerShare)
	}
	if len(m.IdleStates) == 0 {
		h.exit, h.target, h.idling = []Time{0}, []float64{0}, []float64{poll}
	}
	h.perDom = map[Scope]int{PerThread: 1, PerCore: m.ThreadsPerCore,
		PerSocket: m.ThreadsPerCore * m.CoresPerSocket}[m.Domain]
	h.domains = make([]domain, m.CPUs()/h.perDom)
	if h.perDom > 1 {
		for range m.PStates {
			h.asking = append(h.asking, newBitset(m.CPUs()))
		}
	}
	h.sockets = make([]socket, m.Sockets)
	h.cores = make([]int32, m.Sockets*m.CoresPerSocket)
	if h.turbo != nil {
		for i := range h.sockets {
			h.sockets[i].turbo = h.turbo[0]
		}
	}
	return h
}

// core is the power of a core that executes at hz, in watts.
func (p Power) core(hz float64, m Machine) float64 {
	volts := p.Volts(hz, m)
	return p.CoreWatts * volts * volts / (p.NominalVolts * p.NominalVolts) * hz / m.Nominal
}

// Volts is the voltage assumed at hz: a straight line through LowVolts at the
// lowest P-state and NominalVolts at nominal frequency.
func (p Power) Volts(hz float64, m Machine) float64 {
	low := m.PStates[0]
	if m.Nominal <= low {
		return p.NominalVolts
	}
	return p.LowVolts + (p.NominalVolts-p.LowVolts)*(hz-low)/(m.Nominal-low)
}

// capacity is the work per second with all CPUs busy at nominal frequency.
func (h *hardware) capacity() float64 {
	return float64(h.m.CPUs()) * h.share[h.m.ThreadsPerCore]
}

// idleState is the deepest state whose target residency is at most the expected
// idle time in ns: the choice of Linux's menu governor, with the mean of past
// idle times for its prediction.
func (h *hardware) idleState(expected float64) int32 {
	best := 0
	for i, t := range h.target {
		if t <= expected {
			best = i
		}
	}
	return int32(best)
}

// idleWatts is what an idle CPU draws while busy siblings of its core are busy.
func (h *hardware) idleWatts(state, busySiblings int32) float64 {
	if busySiblings > 0 {
		return 0 // the core's power is its busy threads'
	}
	return h.idling[state] / float64(h.m.ThreadsPerCore)
}

func (h *hardware) pointOf(k *cpu) int32 {
	if h.held >= 0 {
		return h.held
	}
	r := h.domains[k.domain].request
	if r == h.top {
		return h.sockets[k.socket].turbo
	}
	return h.pstate[r]
}

// ask sets a CPU's request, and its domain's frequency to the highest request.
func (s *sim) ask(i, request int32) {
	h := &s.hw
	if s.cpus[i].request == request && h.perDom == 1 {
		return
	}
	s.request(i, request)
	d := s.cpus[i].domain
	highest := request
	if h.perDom > 1 {
		highest = s.highest(i)
	}
	if h.domains[d].request == highest {
		return
	}
	h.domains[d].request = highest
	first := d * int32(h.perDom)
	for j := first; j < first+int32(h.perDom); j++ {
		if s.cpus[j].proc >= 0 {
			s.refresh(j)
		}
	}
}

func (s *sim) request(i, request int32) {
	k := &s.cpus[i]
	if s.hw.asking != nil && k.request != request {
		s.hw.asking[k.request].clear(int(i))
		s.hw.asking[request].set(int(i))
	}
	k.request = request
}

// highest is the highest request in the domain of i, which has just asked. Under
// schedutil, the request of an idle CPU falls with its utilisation
// (cpufreq_schedutil.c, sugov_next_freq_shared). That is worked out only for those
// whose request could be the highest: the others' may be out of date, but only above
// what they would ask for now, and they are still below the highest.
func (s *sim) highest(i int32) int32 {
	h := &s.hw
	d := s.cpus[i].domain
	first := int(d) * h.perDom
	for l := max(h.domains[d].request, s.cpus[i].request); int(l) > s.g.floor; l-- {
		for j := h.asking[l].within(first, first+h.perDom); j >= 0; j = h.asking[l].within(j+1, first+h.perDom) {
			if !s.falls(i, int32(j)) {
				return l
			}
		}
	}
	return int32(s.g.floor)
}

// falls brings the request of an idle CPU other than i to its utilisation now, and
// reports whether it is lower than it was.
func (s *sim) falls(i, j int32) bool {
	k := &s.cpus[j]
	if s.g.rule != ruleSchedutil || k.proc >= 0 || j == i {
		return false
	}
	s.account(j)
	pstates := s.c.Machine.PStates
	now := int32(s.g.atOrAbove(pstates, s.g.margin*pstates[len(pstates)-1]*k.util))
	if now >= k.request {
		return false
	}
	s.request(j, now)
	return true
}
