package lever

import (
	"fmt"
	"math"

	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// lateness is how late threads wake from a sleep, beyond what the clock itself
// shows to a thread that spins for as long: the exit from an idle state, the
// timer and the scheduler.
type lateness struct {
	m         *result.Measurement // the median on the CPU that is latest; nil: not measured
	low, high float64             // s, beyond the control
	p99       *result.Measurement // of the same CPU, nil if unknown
	complete  bool                // every CPU has an interval and a control
	awake     bool                // in pauses that count others had the CPU
}

// lateness compares the wake-ups of each CPU with their control.
func (in *input) lateness() lateness {
	out := lateness{low: math.NaN(), high: math.NaN(), complete: true}
	for i := range in.measured {
		m := &in.measured[i]
		if m.Kind != probe.LateMedian {
			continue
		}
		floor := in.alike(probe.LateControl, m)
		if !known(m) || !m.Estimate.HasInterval() || !known(floor) {
			out.complete = false
			if known(m) && out.m == nil {
				out.m = m
			}
			continue
		}
		out.awake = out.awake || m.Labels.Awake > 0
		c := floor.Estimate
		from, to := c.Value, c.Value
		if c.HasInterval() {
			from, to = c.Low, c.High
		}
		if m.Labels.Awake > 0 {
			from = 0 // a clock that was watched beside others is no measure of the least
		}
		if high := m.Estimate.High - from; math.IsNaN(out.high) || high > out.high {
			out.m, out.low, out.high = m, m.Estimate.Low-to, high
			out.p99 = in.alike(probe.LateTail, m)
		}
	}
	out.complete = out.complete && out.m != nil
	return out
}

// costs reports whether the median lateness alone takes more than the margin of
// the shortest burst, beyond its control.
func (w lateness) costs() bool { return w.complete && !w.awake && w.low > Margin*burst }

// slight reports whether threads wake about as soon as from C1E.
func (w lateness) slight() bool { return w.complete && !w.awake && w.high <= deepLatency }

// says is a clause: "a thread wakes 60.0 us [55.0 us, 66.0 us] late after 100 ms
// asleep (n 40)". "" without a measurement.
func (w lateness) says() string {
	if w.m == nil {
		return ""
	}
	return fmt.Sprintf("a thread wakes %s late after 100 ms of sleep (%s)", short(w.m), Count(w.m))
}

// full is says with the tail.
func (w lateness) full() string {
	if w.m == nil || !known(w.p99) {
		return w.says()
	}
	return w.says() + "; 1 in 100 wakes at least " + result.Format(w.p99.Estimate.Value, "s") + " late"
}
