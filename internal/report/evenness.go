package report

import (
	"math"

	"hostlab/internal/assess"
	"hostlab/internal/watch"
)

// mostLoads bounds the shares of single CPUs that are judged at once: a week of 256 CPUs.
const mostLoads = 16 << 20

// evenness judges how evenly the CPUs were used in that time, as 'watch --from' does; nil: the ring does not tell.
func (h *History) evenness() *watch.Answer {
	cpus, n := 0, 0
	for _, m := range h.Minutes {
		if m.Loads != nil {
			cpus, n = max(cpus, len(m.Loads.Busy)), n+1
		}
	}
	if cpus < 2 || n < 2 || cpus*n > mostLoads {
		return nil
	}
	r := &watch.Record{Head: watch.Head{Host: h.Host, Interval: KeptFor.Seconds(), Unknown: []watch.Unknown{
		{What: "the clock and the idle states of each CPU",
			Why: "a ring does not keep them; 'hostlab watch --save FILE' does"}}}}
	for cpu := range cpus {
		r.CPUs = append(r.CPUs, cpu)
	}
	for i, m := range h.Minutes {
		end := h.At[i].Add(KeptFor)
		if m.Loads == nil || len(r.Points) > 0 && !end.After(r.Points[len(r.Points)-1].At) { // the clock was set back
			continue
		}
		r.Points = append(r.Points, pointOf(m, cpus))
		r.Points[len(r.Points)-1].At = end
	}
	if len(r.Points) < 2 {
		return nil
	}
	return watch.Analyze(r, watch.DefaultQuestion())
}

// pointOf is what a stretch has of the CPUs.
func pointOf(m *assess.Minute, cpus int) watch.Point {
	p := watch.Point{Seconds: min(m.Report.Wall, KeptFor.Seconds()), Busy: make([]float32, cpus), Steal: math.NaN(),
		Pressure: math.NaN()}
	for cpu := range p.Busy {
		p.Busy[cpu] = float32(math.NaN())
		if cpu < len(m.Loads.Busy) && m.Loads.Busy[cpu] <= assess.One {
			p.Busy[cpu] = float32(m.Loads.Busy[cpu]) / assess.One
		}
	}
	if m.Host.Steal != nil {
		p.Steal = *m.Host.Steal
	}
	if v := m.Loads.Pressure; v != nil {
		p.Pressure = *v
	}
	return p
}
