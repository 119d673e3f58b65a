package report

import (
	"io"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"gonum.org/v1/gonum/floats"

	"hostlab/internal/assess"
	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/screen"
	"hostlab/internal/watch"
)

// Metrics are what Prometheus reads of a service that is kept. Labels are bounded: parts, ends and levers are our own
// words, and programs beyond the first are one.
type Metrics struct {
	mu   sync.Mutex
	page *prometheus.Registry

	seconds, active, transactions, cpu, ends, taken *prometheus.CounterVec
	followed                                        *prometheus.CounterVec
	most, rise, usual, last, up                     *prometheus.GaugeVec
	programs                                        map[string]int // the stretch in which each was seen last
	stretches                                       int
}

// mostPrograms have a label of their own, which one gives up that was not seen for so many stretches, an hour.
const (
	mostPrograms = 20
	goneAfter    = int(time.Hour / KeptFor)
)

// NewMetrics are none yet.
func NewMetrics(version string) *Metrics {
	m := &Metrics{page: prometheus.NewRegistry(), programs: map[string]int{}}
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "hostlab_service_" + name, Help: help},
			append([]string{"service"}, labels...))
		m.page.MustRegister(c)
		return c
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "hostlab_service_" + name, Help: help},
			append([]string{"service"}, labels...))
		m.page.MustRegister(g)
		return g
	}
	m.seconds = counter("seconds_total", "Time that was watched.")
	m.active = counter("active_seconds_total", "Active time of all sessions or threads, by what it went to first.", "part")
	m.ends = counter("ended_seconds_total", "Waits that the scheduler's windows followed, by what they ended with.",
		"part", "end")
	m.followed = counter("followed_seconds_total", "Time of the scheduler's windows.")
	m.up = gauge("up", "1 where the service is there, else 0.")
	m.transactions = counter("transactions_total", "Transactions, where the server counts them.")
	m.cpu = counter("cpu_seconds_total", "CPU time of its threads.")
	m.taken = counter("others_cpu_seconds_total", "CPU time of other programs, those that use most.", "program")
	m.most = gauge("lever_at_most_ratio",
		"Share of active time that a lever could save at most, in the last stretch that knows it.", "lever")
	m.rise = gauge("rise_ratio",
		"Time of a transaction over that at this time on earlier days, while it is longer than chance explains; else 1. Absent until it is known.")
	m.usual = gauge("usual_transaction_seconds",
		"Between which times a transaction usually takes at this time of such days. Absent until it is known.", "limit")
	m.last = gauge("last_stretch_timestamp_seconds", "When the last stretch began.")
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "hostlab_build_info",
		Help:        "The version of hostlab that watches.",
		ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	m.page.MustRegister(build)
	return m
}

// add takes a stretch of a service.
func (m *Metrics) add(service string, at time.Time, x *assess.Minute, s standing) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &x.Report
	plus := func(c *prometheus.CounterVec, v float64, labels ...string) {
		if v > 0 {
			c.WithLabelValues(append([]string{service}, labels...)...).Add(v)
		}
	}
	plus(m.seconds, r.Wall)
	plus(m.transactions, float64(r.Transactions))
	for _, p := range r.Parts {
		if p.Name != explain.Idle {
			plus(m.active, p.Seconds, string(p.Name))
		}
	}
	if n := len(x.Readings); n > 0 {
		plus(m.cpu, x.Readings[n-1].CPU)
	}
	m.stretches++
	for name, last := range m.programs {
		if m.stretches-last > goneAfter {
			delete(m.programs, name)
			m.taken.DeleteLabelValues(service, name)
		}
	}
	for _, t := range x.Takers {
		name := screen.Clean(t.Name)
		if _, has := m.programs[name]; has || len(m.programs) < mostPrograms {
			m.programs[name] = m.stretches
		} else {
			name = "others"
		}
		plus(m.taken, t.Seconds, name)
	}
	if x.Ends != nil {
		plus(m.followed, floats.Sum(x.Ends.Lengths))
		for _, part := range explain.PartNames {
			by := map[chain.Kind]float64{}
			for _, w := range x.Ends.Windows {
				for e, s := range w[part] {
					by[e.Kind] += s
				}
			}
			for kind, s := range by {
				plus(m.ends, s, string(part), string(kind))
			}
		}
	}
	for _, l := range x.Levers() {
		if l.Bounded() {
			m.most.WithLabelValues(service, l.Name).Set(*l.AtMost)
		}
	}
	ratio := 1.0
	if s.rise != nil {
		ratio = s.rise.Ratio
	}
	for limit, v := range map[string]float64{"low": s.low, "high": s.high} {
		if v > 0 { // else, and for NaN, it is not known
			m.usual.WithLabelValues(service, limit).Set(v)
		} else {
			m.usual.DeleteLabelValues(service, limit)
		}
	}
	if s.known {
		m.rise.WithLabelValues(service).Set(ratio)
	}
	m.up.WithLabelValues(service).Set(1)
	m.last.WithLabelValues(service).Set(float64(at.UnixMilli()) / 1e3)
}

// gone notes that the service is not there: what its levers could give is not known any more.
func (m *Metrics) gone(service string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.most.Reset()
	m.up.WithLabelValues(service).Set(0)
}

// WriteTo writes all in the text format 0.0.4.
func (m *Metrics) WriteTo(w io.Writer) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return watch.WriteMetrics(w, m.page)
}
