package model

import (
	"math"
	"slices"
)

// meter measures one replication. Open workloads: the steps that arrive as number
// warmUp to warmUp+steps-1, whenever they end, so that all policies are measured
// on the same steps; residency and energy between the first and the last of those
// arrivals. Closed ones: the steps that end after warmUp steps have ended. Batch
// and Query: everything.
type meter struct {
	s       *sim
	warmUp  int64
	steps   int64
	arrival int64 // number of the next
	ends    int64 // of measured steps
	total   int64 // ends of all steps

	response *Histogram
	cpu      float64 // ns, of measured steps

	joules  float64 // W ns
	work    float64 // ns at nominal
	inPoint []Time
	inIdle  []Time
	from    snapshot
	to      snapshot
}

type snapshot struct {
	at      Time
	total   int64
	joules  float64
	work    float64
	inPoint []Time
	inIdle  []Time
	waiting int // slices without a CPU
}

func (m *meter) init(s *sim) {
	m.s = s
	m.response = NewHistogram()
	m.inPoint = make([]Time, len(s.hw.hz))
	m.inIdle = make([]Time, len(s.hw.exit))
	m.from = m.snapshot()
}

func (m *meter) snapshot() snapshot {
	for i := range m.s.cpus {
		m.s.account(int32(i))
	}
	return snapshot{m.s.now, m.total, m.joules, m.work, slices.Clone(m.inPoint), slices.Clone(m.inIdle), m.s.waiting.n}
}

func (m *meter) arrived() int64 {
	switch m.arrival {
	case m.warmUp:
		m.from = m.snapshot()
	case m.warmUp + m.steps:
		m.to = m.snapshot()
	}
	m.arrival++
	return m.arrival - 1
}

func (m *meter) ended(r *proc) {
	m.total++
	kind := m.s.c.Workload.Kind
	switch {
	case m.s.c.Workload.Open():
		if r.index < m.warmUp || r.index >= m.warmUp+m.steps {
			return
		}
		m.record(r)
		if m.ends == m.steps {
			if m.arrival <= m.warmUp+m.steps { // all ended before the next arrival
				m.to = m.snapshot()
			}
			m.s.done = true
		}
	case kind == Query:
		m.cpu += float64(r.cpu)
		if m.total == int64(m.s.c.Workload.Users) {
			m.response.Record(m.s.now)
			m.ends = 1
			m.finish()
		}
	case kind == Batch:
		m.record(r)
		if m.total == int64(m.s.c.Workload.Users) {
			m.finish()
		}
	case m.total <= m.warmUp:
		if m.total == m.warmUp {
			m.from = m.snapshot()
		}
	default:
		m.record(r)
		if m.ends == m.steps {
			m.finish()
		}
	}
}

func (m *meter) record(r *proc) {
	m.response.Record(m.s.now - r.arrived)
	m.cpu += float64(r.cpu)
	m.ends++
}

// shared adds the CPU time of a process that works for all steps: the log writer's.
func (m *meter) shared(r *proc) {
	if m.total >= m.warmUp {
		m.cpu += float64(r.cpu)
	}
	r.cpu = 0
}

func (m *meter) finish() {
	m.to = m.snapshot()
	m.s.done = true
}

type replicate struct {
	values  map[Response]float64
	points  []float64 // shares of busy time by operating point
	idle    []float64 // shares of idle time by idle state; nil when never idle
	steps   int64
	events  int64
	horizon float64
	broken  bool
}

// result gives a replication's figures; those of a step are multiplied by scale.
func (m *meter) result(scale float64) replicate {
	s := m.s
	out := replicate{steps: m.ends, events: s.events, broken: s.broken, horizon: Seconds(m.to.at - m.from.at)}
	if s.broken || m.ends == 0 || out.horizon <= 0 || m.grows() {
		out.broken = true
		return out
	}
	points, busy := difference(m.to.inPoint, m.from.inPoint)
	idle, _ := difference(m.to.inIdle, m.from.inIdle)
	out.points, out.idle = points, idle
	n := float64(m.ends)
	if s.c.Workload.Kind == Query {
		n = 1
	}
	watts := (m.to.joules-m.from.joules)/1e9/out.horizon + float64(s.c.Machine.Sockets)*s.c.Machine.Power.SocketWatts
	rate := float64(m.to.total-m.from.total) / out.horizon
	if s.c.Workload.Kind == Query {
		rate = 1 / out.horizon
	}
	rate /= scale
	response, cpu := m.response.Mean(), m.cpu/n/1e9
	if work := m.to.work - m.from.work; s.each != nil && work > 0 {
		all := busy / work * s.c.Workload.Slice.Mean
		response, cpu = all+max(0, response-cpu), all
	}
	out.values = map[Response]float64{
		StepTime: scale * response, StepTimeP50: scale * m.response.Quantile(0.5),
		StepTimeP95: scale * m.response.Quantile(0.95), StepTimeP99: scale * m.response.Quantile(0.99),
		CPUSeconds: scale * cpu, Throughput: rate,
		Utilisation: busy / 1e9 / out.horizon / float64(len(s.cpus)), Watts: watts,
	}
	if rate > 0 {
		out.values[JoulesPerStep] = watts / rate
	}
	if busy > 0 {
		mean := 0.0
		for i, share := range points {
			mean += share * s.hw.hz[i]
		}
		out.values[Performance] = mean / s.c.Machine.Nominal
	}
	return out
}

// grows reports whether an open workload's queue grew through the whole
// measurement, by more slices than a stable queue's luck explains: then means say
// how long was simulated, and nothing else.
func (m *meter) grows() bool {
	growth := m.to.waiting - m.from.waiting
	return m.s.c.Workload.Open() && growth > 100+5*len(m.s.cpus) && float64(growth) > 0.15*float64(m.steps)
}

// difference gives shares and their total in ns; nil without any.
func difference(to, from []Time) (shares []float64, total float64) {
	shares = make([]float64, len(to))
	for i := range to {
		shares[i] = float64(to[i] - from[i])
		total += shares[i]
	}
	if total <= 0 {
		return nil, 0
	}
	for i := range shares {
		shares[i] /= total
	}
	return shares, math.Max(0, total)
}
