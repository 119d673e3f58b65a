package watch

import (
	"bytes"
	"io"
	"math"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"

	"hostlab/internal/proc"
	"hostlab/internal/screen"
)

// Exposer keeps what Prometheus reads: the counters of the last reading, and
// commits counted over all of them. Its form is the text format 0.0.4, which
// node_exporter's textfile collector reads too.
//
// Every name begins with hostlab_, since node_exporter's own node_cpu_seconds_total
// and the like, from a textfile beside it, would be a collision that it refuses.
type Exposer struct {
	Version string
	info    Info
	last    Reading
	samples int
	commits int
	seconds float64 // in commits
}

// Add takes the last reading.
func (e *Exposer) Add(info Info, r Reading) {
	e.info, e.last = info, r
	e.samples++
	e.commits += len(r.Commits)
	for _, c := range r.Commits {
		e.seconds += c
	}
}

// family is one metric, whose samples go to the collector's channel.
type family struct {
	name, help string
	kind       prometheus.ValueType
	to         chan<- prometheus.Metric
}

// put gives a sample, whose labels are names and values in turn. Unknown values are left out, as exporters do.
func (f family) put(v float64, labels ...string) {
	if !known(v) {
		return
	}
	set := prometheus.Labels{}
	for i := 0; i < len(labels); i += 2 {
		set[labels[i]] = screen.Clean(labels[i+1])
	}
	f.to <- prometheus.MustNewConstMetric(prometheus.NewDesc(f.name, f.help, nil, set), f.kind, v)
}

// metric is a quantity that each of some objects has.
type metric[T any] struct {
	name, help string
	of         func(T) float64
}

func families[T any](of func(name string, kind prometheus.ValueType, help string) family, kind prometheus.ValueType,
	list []T,
	labels func(int, T) []string, metrics []metric[T]) {
	for _, m := range metrics {
		f := of(m.name, kind, m.help)
		for i, x := range list {
			if v := m.of(x); !math.IsInf(v, 0) {
				f.put(v, labels(i, x)...)
			}
		}
	}
}

// WriteTo writes all metrics.
func (e *Exposer) WriteTo(w io.Writer) (int64, error) {
	page := prometheus.NewRegistry()
	page.MustRegister(e)
	return WriteMetrics(w, page)
}

// WriteMetrics writes a page of metrics in the text format 0.0.4, whole or not at all.
func WriteMetrics(w io.Writer, page prometheus.Gatherer) (int64, error) {
	list, err := page.Gather()
	if err != nil {
		return 0, err
	}
	var b bytes.Buffer
	for _, f := range list {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			return 0, err
		}
	}
	return b.WriteTo(w)
}

// Describe says nothing, since what a host has becomes known with its first reading.
func (e *Exposer) Describe(chan<- *prometheus.Desc) {}

// Collect gives all metrics of the last reading.
func (e *Exposer) Collect(to chan<- prometheus.Metric) {
	of := func(name string, kind prometheus.ValueType, help string) family {
		return family{"hostlab_" + name, help, kind, to}
	}
	of("build_info", prometheus.GaugeValue, "The version of hostlab that watches.").put(1, "version", e.Version)
	of("watch_samples_total", prometheus.CounterValue, "Readings taken since hostlab watch began.").put(float64(e.samples))
	if e.samples > 0 {
		of("watch_last_reading_timestamp_seconds", prometheus.GaugeValue,
			"When the counters were read last.").put(float64(e.last.At.UnixMilli()) / 1e3)
	}
	e.cpus(of)
	if e.samples > 0 {
		resource := func(i int, _ proc.Pressure) []string { return []string{"resource", Pressures[i]} }
		families(of, prometheus.CounterValue, e.last.Pressure[:], resource, []metric[proc.Pressure]{
			{"pressure_waiting_seconds_total", "Time in which some task waited for a resource.",
				func(s proc.Pressure) float64 { return s.Some }},
			{"pressure_stalled_seconds_total", "Time in which all tasks waited for a resource.",
				func(s proc.Pressure) float64 { return s.Full }},
		})
	}
	device := func(_ int, d DiskReading) []string { return []string{"device", d.Name} }
	families(of, prometheus.CounterValue, e.last.Disks, device, []metric[DiskReading]{
		{"log_device_writes_completed_total", "Writes that a disk under the log directory completed.",
			func(d DiskReading) float64 { return d.Writes }},
		{"log_device_write_time_seconds_total", "Time that these writes took.",
			func(d DiskReading) float64 { return d.WriteTime }},
		{"log_device_flush_requests_total", "Flushes that a disk under the log directory completed.",
			func(d DiskReading) float64 { return d.Flushes }},
		{"log_device_flush_requests_time_seconds_total", "Time that these flushes took.",
			func(d DiskReading) float64 { return d.FlushTime }},
	})
	if e.commits > 0 {
		to <- prometheus.MustNewConstSummary(prometheus.NewDesc("hostlab_commit_duration_seconds",
			"Durable commits of 4 KiB that hostlab watch --probe-commits made in the log directory.", nil, nil),
			uint64(e.commits), e.seconds, nil)
	}
}

func (e *Exposer) cpus(of func(name string, kind prometheus.ValueType, help string) family) {
	times := of("cpu_seconds_total", prometheus.CounterValue,
		"Time that a CPU spent in a mode since boot, or on Windows since the watch began; user holds the time of guests.")
	for _, c := range e.last.CPUs {
		t := c.Times
		for _, m := range []struct {
			mode string
			s    float64
		}{{"idle", t.Idle}, {"iowait", t.IOWait}, {"irq", t.IRQ}, {"nice", t.Nice}, {"softirq", t.SoftIRQ},
			{"steal", t.Steal},
			{"system", t.System}, {"user", t.User}} {
			times.put(m.s, "cpu", strconv.Itoa(c.ID), "mode", m.mode)
		}
	}
	cpu := func(_ int, c CPUReading) []string { return []string{"cpu", strconv.Itoa(c.ID)} }
	families(of, prometheus.GaugeValue, e.last.CPUs, cpu, []metric[CPUReading]{
		{"cpu_frequency_hertz", "Frequency of a CPU, as cpufreq tells, or % of Maximum Frequency on Windows.",
			func(c CPUReading) float64 { return c.Frequency }},
		{"cpu_frequency_max_hertz",
			"Highest frequency that the hardware of a CPU can reach, as cpufreq tells; the nominal one on " +
				"Windows.", func(c CPUReading) float64 {
				if hz := e.info.Highest[c.ID]; hz > 0 {
					return hz
				}
				return unknown
			}},
		{"cpu_effective_frequency_hertz", "Frequency of a CPU while it was busy, counted.",
			func(c CPUReading) float64 { return c.Effective }},
	})
	states := of("cpu_idle_state_seconds_total", prometheus.CounterValue,
		"Time that a CPU spent in an idle state, as cpuidle counts.")
	for _, c := range e.last.CPUs {
		named := e.info.States[c.ID]
		for i, v := range c.States {
			if i < len(named) {
				states.put(v, "cpu", strconv.Itoa(c.ID), "index", strconv.Itoa(i), "state", named[i].Name)
			}
		}
	}
}
