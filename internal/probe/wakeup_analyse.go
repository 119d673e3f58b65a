package probe

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// measurements turns rounds into ratios with intervals, and clocks.
func (r *wakeRun) measurements(alpha float64) []result.Measurement {
	var out []result.Measurement
	for _, t := range r.targets {
		for _, kernel := range r.plan.Kernels {
			for _, slice := range r.plan.Slices {
				out = append(out, r.ratio(t, wakeKey{t.CPU, kernel, slice}, alpha))
			}
		}
		out = append(out, r.clocks(t, alpha)...)
	}
	return out
}

var kernelWords = map[string]string{kernelALU: "arithmetic", kernelMixed: "arithmetic and loads from the L2 cache"}

// ratio is the wake-up penalty of one kind of slice on one CPU.
func (r *wakeRun) ratio(t wakeTarget, key wakeKey, alpha float64) result.Measurement {
	m := result.Measurement{
		Probe: "wakeup", Name: "wakeup." + key.name(), Unit: "ratio", Evidence: result.Measured, NoiseFloor: math.NaN(),
		Title:  fmt.Sprintf("%.0f ms of %s after 100 ms asleep, against awake", key.Slice*1000, kernelWords[key.Kernel]),
		Labels: t.labels(key.Kernel),
	}
	m.Labels["slice"] = labelSeconds(key.Slice)
	rounds, disturbed, kept := r.usable(key, alpha)
	if len(rounds) == 0 {
		m.Reason = r.whyNone(t.CPU)
		return m
	}
	var cond [wakeConds][]float64
	for _, triple := range rounds {
		for c := range cond {
			cond[c] = append(cond[c], triple.Sample[c].seconds())
		}
	}
	m.Estimate = estimate(stats.PairedRatio(cond[afterSleep], cond[busy], alpha))
	m.NoiseFloor = stats.Floor(stats.PairedRatio(cond[busyAgain], cond[busy], alpha))
	if kept {
		m.Warnings = append(m.Warnings, fmt.Sprintf("others took part of the CPU in %d of the %d rounds; too few were left without them, so all count", disturbed, len(rounds)))
	} else if disturbed > 0 {
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d more rounds, in which others took part of the CPU, are left out", disturbed))
	}
	if !m.Estimate.HasInterval() {
		m.Warnings = append(m.Warnings, tooFew(len(rounds), alpha))
	}
	return m
}

// clocks are the additions per second when busy and right after sleeping. The
// first is over the longest slices, the second over the shortest.
func (r *wakeRun) clocks(t wakeTarget, alpha float64) []result.Measurement {
	kinds := []struct {
		name, title string
		slice       float64
		cond        wakeCond
	}{
		{"busy", "additions per second, about the core clock, within a busy stretch", slices.Max(r.plan.Slices), busy},
		{"after-sleep", "additions per second, about the core clock, right after 100 ms asleep", slices.Min(r.plan.Slices), afterSleep},
	}
	var out []result.Measurement
	for _, k := range kinds {
		m := result.Measurement{
			Probe: "wakeup", Name: fmt.Sprintf("wakeup.frequency.%s.cpu%d", k.name, t.CPU), Title: k.title, Unit: "Hz",
			Evidence: result.Measured, NoiseFloor: math.NaN(), Labels: t.labels("frequency"),
		}
		m.Labels["slice"], m.Labels["condition"] = labelSeconds(k.slice), k.name
		rounds, _, _ := r.usable(wakeKey{t.CPU, kernelALU, k.slice}, alpha)
		var hz []float64
		for _, triple := range rounds {
			if s := triple.Sample[k.cond]; s.seconds() > 0 {
				hz = append(hz, float64(s.N)/s.seconds())
			}
		}
		if len(hz) == 0 {
			m.Reason = r.whyNone(t.CPU)
		} else {
			m.Estimate = medianOf(hz, alpha)
		}
		out = append(out, m)
	}
	return out
}

func (r *wakeRun) whyNone(cpu int) string {
	if why := r.gone[cpu]; why != "" {
		return why
	}
	return "no round was completed in the time allowed"
}

func (t wakeTarget) labels(kernel string) map[string]string {
	l := map[string]string{"cpu": strconv.Itoa(t.CPU), "class": t.Class, "kernel": kernel}
	if t.Socket >= 0 {
		l["socket"] = strconv.Itoa(t.Socket)
	}
	return l
}

// estimate converts an interval of package stats.
func estimate(iv stats.Interval) *result.Estimate {
	return &result.Estimate{Value: iv.Estimate, Low: iv.Low, High: iv.High, N: iv.N}
}

// medianOf is the median with its distribution-free interval.
func medianOf(x []float64, alpha float64) *result.Estimate {
	e := &result.Estimate{Value: stats.Median(x), Low: math.NaN(), High: math.NaN(), N: len(x)}
	if lo, hi, ok := stats.QuantileInterval(x, 0.5, alpha); ok {
		e.Low, e.High = lo, hi
	}
	return e
}

func tooFew(n int, alpha float64) string {
	return fmt.Sprintf("%d rounds are too few for an interval; it takes %d", n, stats.MinBlocks(alpha))
}
