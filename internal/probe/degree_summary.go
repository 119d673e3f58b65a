package probe

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// quiet leaves the rounds that others did not disturb, if they are enough for an
// interval. Otherwise all stay, and the text says how many were disturbed.
func (r *degreeRun) quiet() (disturbed string) {
	var clean []int
	for i, share := range r.foreign {
		if share <= disturbedShare {
			clean = append(clean, i)
		}
	}
	all := len(r.foreign)
	if len(clean) == all {
		return ""
	}
	if len(clean) < stats.MinBlocks(r.cfg.Alpha) {
		return fmt.Sprintf("other work took more than %.0f %% of these CPUs in %d of %d rounds, and %.0f %% in half of them",
			100*disturbedShare, all-len(clean), all, 100*stats.Median(r.foreign))
	}
	for c := range r.conds {
		cond := &r.conds[c]
		if len(cond.stops) == all {
			cond.stops = pick(cond.stops, clean)
		}
		cond.times = pick(cond.times, clean)
	}
	return ""
}

func pick[T any](x []T, which []int) []T {
	out := make([]T, len(which))
	for i, k := range which {
		out[i] = x[k]
	}
	return out
}

func (r *degreeRun) summarise(out *Outcome) {
	cfg, all := r.cfg, len(r.foreign)
	disturbed := r.quiet()
	base := r.conds[0].times
	noise := floor(r.conds[1].times, base, cfg.Alpha)
	// Both runs at degree 1 of a round are equally its baseline.
	for i := range base {
		base[i] = math.Sqrt(base[i] * r.conds[1].times[i])
	}
	labels := func(degree int) result.Labels { return result.Labels{Degree: degree, Disturbed: disturbed} }
	var warnings []string
	switch left := all - len(base); {
	case disturbed != "":
		warnings = []string{disturbed + ": this is what they left"}
		out.Warnings = append(out.Warnings, disturbed)
	case left > 0:
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more rounds, in which others took part of the CPUs, are left out", left))
	}
	bytes := slices.Repeat([]float64{float64(r.table.Bytes())}, len(base))
	throughput := blank(Throughput, ".1", "XML scanned per second by one worker", "B/s", labels(1))
	throughput.Estimate, throughput.Warnings = ratio(bytes, base, cfg.Alpha), warnings
	throughput.NoiseFloor = noise * throughput.Estimate.Value
	out.Measurements = append(out.Measurements, throughput)
	for _, c := range r.conds[2:] {
		d := strconv.Itoa(c.degree)
		speedup := blank(SpeedUp, "."+d, "Speed-up of "+d+" workers over one", "ratio", labels(c.degree))
		speedup.Warnings = slices.Clone(warnings)
		r.throttling(&speedup, c)
		efficiency := speedup
		efficiency.Kind, efficiency.Name, efficiency.Title = Efficiency, string(Efficiency)+"."+d, "Speed-up of "+d+" workers over "+d+" times one"
		if speedup.Reason == "" {
			up, k := ratio(base, c.times, cfg.Alpha), float64(c.degree)
			speedup.Estimate, speedup.NoiseFloor = up, noise*up.Value // the baseline's noise scales with it
			efficiency.Estimate = &result.Estimate{Value: up.Value / k, Low: up.Low / k, High: up.High / k, N: up.N}
			efficiency.NoiseFloor = speedup.NoiseFloor / k
		} else {
			speedup.Warnings, efficiency.Warnings = nil, nil
		}
		out.Measurements = append(out.Measurements, speedup, efficiency)
	}
	if r.limit.cpus > 0 {
		last := out.Measurements[len(out.Measurements)-1]
		text := fmt.Sprintf("the control group allows %.3g of %d CPUs", r.limit.cpus, len(cfg.CPUs))
		if got := last.Labels.Throttled; got != "" {
			text += fmt.Sprintf("; at degree %d it stopped the query in %s periods", last.Labels.Degree, got)
		}
		out.Warnings = append(out.Warnings, text)
	}
	if n := len(base); n < stats.MinBlocks(cfg.Alpha) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d rounds fitted into the time and an interval takes %d: run it again without --quick, or on a quieter host", n, stats.MinBlocks(cfg.Alpha)))
	}
}

// throttling says what a quota did to a degree above it. Without the kernel's count
// over enough periods the figure would be of no known condition: it is unknown.
func (r *degreeRun) throttling(m *result.Measurement, c condition) {
	if r.limit.cpus == 0 || float64(c.degree) <= r.limit.cpus {
		return
	}
	m.Labels.Quota = r.limit.cpus
	var total stops
	for _, s := range c.stops {
		total.periods += s.periods
		total.throttled += s.throttled
	}
	switch {
	case len(c.stops) < len(c.times) || len(c.stops) == 0:
		file := r.limit.file
		if file == "" {
			file = "cpu.stat"
		}
		m.Reason = fmt.Sprintf("the limit is %.3g CPUs, and whether it stopped the query is not known: %s cannot be read", r.limit.cpus, file)
	case total.periods < quotaPeriods*len(c.stops):
		m.Reason = fmt.Sprintf("the limit is %.3g CPUs, and the runs were too short for it: %d periods in %d of them, and each takes %d",
			r.limit.cpus, total.periods, len(c.stops), quotaPeriods)
	default:
		m.Labels.Throttled = fmt.Sprintf("%d of %d", total.throttled, total.periods)
		m.Warnings = append(m.Warnings, fmt.Sprintf("the limit is %.3g CPUs; it stopped the query in %s periods", r.limit.cpus, m.Labels.Throttled))
	}
}
