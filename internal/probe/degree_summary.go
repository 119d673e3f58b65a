package probe

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// disturbance says how many of the rounds that count others disturbed: "" for none, or
// where enough were left without them.
func (r *degreeRun) disturbance(used, clean int) string {
	if used == clean {
		return ""
	}
	return fmt.Sprintf("other work took more than %.0f %% of these CPUs in %d of %d rounds, and %.0f %% in half of them",
		100*disturbedShare, used-clean, used,
		100*stats.Median(column(r.rounds, func(x degreeRound) float64 { return x.foreign })))
}

func (r *degreeRun) summarise(out *Outcome) {
	cfg := r.cfg
	rounds, clean := undisturbed(r.rounds, func(x degreeRound) bool { return x.foreign <= disturbedShare }, cfg.Alpha)
	disturbed := r.disturbance(len(rounds), clean)
	seconds := func(cond int) []float64 {
		return column(rounds, func(x degreeRound) float64 { return x.seconds[cond] })
	}
	noise := floor(seconds(1), seconds(0), cfg.Alpha)
	// Both runs at degree 1 of a round are equally its baseline.
	base := column(rounds, func(x degreeRound) float64 { return math.Sqrt(x.seconds[0] * x.seconds[1]) })
	labels := func(degree int) result.Labels { return result.Labels{Degree: degree, Disturbed: disturbed} }
	var warnings []string
	switch left := len(r.rounds) - len(rounds); {
	case disturbed != "":
		warnings = []string{disturbed + ": this is what they left"}
		out.Warnings = append(out.Warnings, disturbed)
	case left > 0:
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more rounds, in which others took part of the CPUs, are left out",
			left))
	}
	bytes := slices.Repeat([]float64{float64(r.table.Bytes())}, len(base))
	throughput := blank(Throughput, ".1", "XML scanned per second by one worker", "B/s", labels(1))
	throughput.Estimate, throughput.Warnings = ratio(bytes, base, cfg.Alpha), warnings
	throughput.NoiseFloor = noise * throughput.Estimate.Value
	out.Measurements = append(out.Measurements, throughput)
	for i, c := range r.conds {
		if i < 2 {
			continue
		}
		d := strconv.Itoa(c.degree)
		speedup := blank(SpeedUp, "."+d, "Speed-up of "+d+" workers over one", "ratio", labels(c.degree))
		speedup.Warnings = slices.Clone(warnings)
		r.throttling(&speedup, c.degree, column(rounds, func(x degreeRound) *stops { return x.stops[i] }))
		efficiency := speedup
		efficiency.Kind, efficiency.Name, efficiency.Title = Efficiency, string(Efficiency)+"."+d,
			"Speed-up of "+d+" workers over "+d+" times one"
		cpu := func(cond int) []float64 { return column(rounds, func(x degreeRound) float64 { return x.cpu[cond] }) }
		if speedup.Reason == "" {
			up, k := ratio(base, seconds(i), cfg.Alpha), float64(c.degree)
			speedup.Estimate, speedup.NoiseFloor = up, noise*up.Value // the baseline's noise scales with it
			efficiency.Estimate = new(up.Map(func(v float64) float64 { return v / k }))
			efficiency.NoiseFloor = speedup.NoiseFloor / k
			if disturbed != "" && r.limit.cpus == 0 && !slices.Contains(cpu(0), 0) && len(base) >= stats.MinBlocks(cfg.Alpha) {
				// What others took is no loss of parallelism: the CPU time of the workers tells that. In a guest it counts
				// the hypervisor's pauses, too, which takes a median of many rounds to leave out.
				efficiency.Estimate, efficiency.NoiseFloor = ratio(cpu(0), cpu(i), cfg.Alpha), floor(cpu(1), cpu(0), cfg.Alpha)
				efficiency.Labels.Disturbed, efficiency.Warnings = "", nil
				efficiency.Title += ", by their CPU time"
			}
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
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("rounds that fitted into the time: %d; an interval takes %d: omit --quick, add --service none, "+
				"or run it on a quieter host", n, stats.MinBlocks(cfg.Alpha)))
	}
}

// throttling says what a quota did to a degree above it. Without the kernel's count
// over enough periods the figure would be of no known condition: it is unknown.
func (r *degreeRun) throttling(m *result.Measurement, degree int, seen []*stops) {
	if r.limit.cpus == 0 || float64(degree) <= r.limit.cpus {
		return
	}
	m.Labels.Quota = r.limit.cpus
	var total stops
	for _, s := range seen {
		if s != nil {
			total.periods += s.periods
			total.throttled += s.throttled
		}
	}
	switch {
	case slices.Contains(seen, nil):
		file := r.limit.file
		if file == "" {
			file = "cpu.stat"
		}
		m.Reason = fmt.Sprintf("the limit is %.3g CPUs, and whether it stopped the query is not known: %s cannot be read",
			r.limit.cpus, file)
	case total.periods < quotaPeriods*len(seen):
		m.Reason = fmt.Sprintf(
			"the limit is %.3g CPUs, and the runs were too short for it: %d periods in %d of them, and each takes %d",
			r.limit.cpus, total.periods, len(seen), quotaPeriods)
	default:
		m.Labels.Throttled = fmt.Sprintf("%d of %d", total.throttled, total.periods)
		m.Warnings = append(m.Warnings, fmt.Sprintf("the limit is %.3g CPUs; it stopped the query in %s periods",
			r.limit.cpus,
			m.Labels.Throttled))
	}
}
