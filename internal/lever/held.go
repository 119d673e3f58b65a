package lever

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

// reached is the share of the reported maximum that a CPU must have run at
// before the clock counts as full. Additions per second miss the clock by what
// interrupts take.
const reached = 0.95

// heldClock is a limit that the host's own settings put on the clock, at all
// loads alike. A probe that compares a CPU with itself cannot see it.
type heldClock struct {
	share float64 // of the frequency that the table of P-states ends at, in (0, 1)
	says  string  // a clause
	by    string  // who sets it, where this host cannot: the firmware; "" here
}

// held finds the tightest limit in force; nil where none is known of.
func (in *input) held() *heldClock {
	var out *heldClock
	limit := func(share float64, format string, args ...any) bool {
		tighter := share > 0 && share < 0.995 && (out == nil || share < out.share)
		if tighter {
			out = &heldClock{share: share, says: fmt.Sprintf(format, args...)}
		}
		return tighter
	}
	for _, p := range in.facts.Frequency.Policies {
		top := float64(p.Ceiling().Or(0))
		if top <= 0 {
			continue
		}
		of := func(hz int64) string { return result.Format(float64(hz), "Hz") + " of " + result.Format(top, "Hz") }
		if hz, ok := p.Max.Get(); ok {
			limit(float64(hz)/top, "scaling_max_freq caps the clock at %s", of(hz))
		}
		if hz, ok := p.BIOSLimit.Get(); ok {
			if limit(float64(hz)/top, "the firmware caps the clock at %s", of(hz)) {
				out.by = firmware
			}
		}
		if hz, ok := lowest(p); ok && pinsLowest(p) {
			limit(float64(hz)/top, "the governor powersave under %s holds the clock at its lowest, %s", p.Driver.Value, of(hz))
		}
	}
	if pct, ok := in.facts.Frequency.MaxPerfPct.Get(); ok {
		limit(float64(pct)/100, "max_perf_pct caps the clock at %d %%", pct)
	}
	if w := in.facts.Windows; w != nil {
		if pct, ok := w.ThrottleMax.Get(); ok {
			limit(float64(pct)/100, "the power plan caps the processor at %d %%", pct)
		}
		for _, c := range w.Processors {
			hz, known := c.Limit.Get()
			if top, ok := c.Max.Get(); ok && known && top > 0 {
				limit(float64(hz)/float64(top), "Windows limits CPU %d to %s of %s", c.CPU, result.Format(float64(hz), "Hz"),
					result.Format(float64(top), "Hz"))
			}
		}
	}
	return out
}

// pinsLowest reports whether the governor keeps the lowest frequency whatever
// the load. The word powersave does so under a driver that takes orders from the
// kernel's governors, but not under intel_pstate and amd-pstate-epp, which have
// an algorithm of that name (admin-guide/pm/intel_pstate.rst, amd-pstate.rst).
func pinsLowest(p host.Policy) bool {
	driver, ok := p.Driver.Get()
	return ok && driver != "" && driver != "intel_pstate" && driver != "amd-pstate-epp" && p.Governor.Or("") == "powersave"
}

func lowest(p host.Policy) (int64, bool) {
	if hz, ok := p.Min.Get(); ok {
		return hz, true
	}
	return p.HWMin.Get()
}

// busyClock is how a CPU's clock in busy work compares with what it could be.
type busyClock struct {
	hz    float64 // seen, the lowest of all CPUs relative to its maximum; NaN: not measured
	max   float64 // Hz as reported for that CPU; 0: no CPU has a known maximum
	share float64 // hz/max, at most 1; NaN where either is unknown
}

// full reports whether nothing contradicts that CPUs reach their maximum.
func (b busyClock) full() bool { return b.max == 0 || b.share >= reached }

// clock compares the clock within busy stretches with the reported maximum.
func (in *input) clock() busyClock {
	out := busyClock{hz: math.NaN(), share: math.NaN()}
	for i := range in.measured {
		m := &in.measured[i]
		if m.Kind != probe.ClockBusy || m.Labels.CPU == nil {
			continue
		}
		top := in.maximum(*m.Labels.CPU)
		out.max = max(out.max, top)
		if !m.Known() || m.Labels.Disturbed != "" {
			continue
		}
		hz := m.Estimate.Value
		if share := min(hz/top, 1); top > 0 && (math.IsNaN(out.share) || share < out.share) {
			out.hz, out.max, out.share = hz, top, share
		} else if math.IsNaN(out.hz) {
			out.hz = hz
		}
	}
	return out
}

// maximum is the highest frequency in Hz that the host reports for a CPU, 0 if
// it reports none.
func (in *input) maximum(cpu int) float64 {
	for _, p := range in.facts.Frequency.Policies {
		if slices.Contains(p.CPUs.Or(nil), cpu) || slices.Contains(p.Affected.Or(nil), cpu) {
			return float64(max(p.HWMax.Or(0), p.Ceiling().Or(0)))
		}
	}
	if w := in.facts.Windows; w != nil {
		for _, c := range w.Processors {
			if c.CPU == cpu {
				return float64(c.Max.Or(0))
			}
		}
	}
	return 0
}
