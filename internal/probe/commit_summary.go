package probe

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
	"hostlab/internal/workload/logcommit"
)

// summarise turns the rounds into measurements and distributions. Both blocks of
// a round in one file are one: they differ in nothing.
func summarise(out *Outcome, runs commitRuns, cfg Config) {
	during := fmt.Sprintf("in %.0f s", math.Max(1, runs.seconds))
	medians := func(rounds [][]float64) []float64 { return column(rounds, stats.Median) }
	both := func(file func(commitRound) [2][]float64) (rounds [][]float64, aa result.Estimate) {
		block := func(i int) []float64 {
			return column(runs.rounds, func(r commitRound) float64 { return stats.Median(file(r)[i]) })
		}
		together := func(r commitRound) []float64 { return slices.Concat(file(r)[0], file(r)[1]) }
		return column(runs.rounds, together), stats.PairedRatio(block(1), block(0), cfg.Alpha)
	}
	disk, aa := both(func(r commitRound) [2][]float64 { return r.new })
	old, oldAA := both(func(r commitRound) [2][]float64 { return r.old })
	var mem [][]float64
	if len(runs.rounds[0].mem) > 0 {
		mem = column(runs.rounds, func(r commitRound) []float64 { return r.mem })
	}
	labels := result.Labels{Device: "log-dir", Layout: string(runs.layout), Seconds: math.Round(10*runs.seconds) / 10}
	oldLabels := labels
	oldLabels.Layout = string(logcommit.Overwritten)
	memLabels := result.Labels{Device: "memory", Seconds: labels.Seconds}
	out.Measurements = append(out.Measurements, device(disk, NewBlocks, "on the log directory, "+during, labels,
		stats.Floor(aa),
		cfg.Alpha)...)
	recycled := device(old, Recycled, "on the log directory over blocks written before, as in a recycled log, "+during,
		oldLabels,
		stats.Floor(oldAA), cfg.Alpha)
	out.Measurements = append(out.Measurements, recycled[:3]...)
	out.Measurements = append(out.Measurements, drift(column(runs.rounds,
		func(r commitRound) []float64 { return slices.Concat(r.new[0], r.new[1], r.old[0], r.old[1]) }), during, labels,
		cfg.Alpha))

	gain := blank(CommitGain, "", "Commit in memory over commit to a recycled log: what remains with the fastest device",
		"ratio",
		result.Labels{Device: "memory"})
	gain.NoiseFloor = stats.Floor(oldAA)
	memory := device(mem, InMemory, "in memory, "+during, memLabels, math.NaN(), cfg.Alpha)
	if len(mem) > 0 {
		gain.Estimate = ratio(medians(mem), medians(old), cfg.Alpha)
	} else {
		gain.Reason = "no tmpfs that this user may write to, such as /dev/shm"
		for i := range memory {
			memory[i].Reason = gain.Reason
		}
	}
	out.Measurements = append(append(out.Measurements, memory...), gain,
		twice(NewBlocks, "on the log directory", aa, labels), twice(Recycled, "in a recycled log", oldAA, oldLabels))

	edges := workload.Edges(slices.Concat(slices.Concat(disk...), slices.Concat(old...), slices.Concat(mem...)), 10)
	out.Distributions = append(out.Distributions, workload.Histogram(string(NewBlocks), "Commits on the log directory",
		edges,
		disk...))
	if len(mem) > 0 {
		out.Distributions = append(out.Distributions, workload.Histogram(string(InMemory), "Commits in memory", edges,
			mem...))
	}
	out.Distributions = append(out.Distributions, workload.Histogram(string(Recycled), "Commits to a recycled log",
		edges, old...))
}

// twice is the A/A measurement of one file.
func twice(f CommitFile, where string, aa result.Estimate, labels result.Labels) result.Measurement {
	m := blank(f.Of(Twice), "", "Second block over first "+where+": the noise floor", "ratio", labels)
	m.Estimate = &aa
	if !m.Known() {
		m.Reason = "no block had a time"
	} else if m.Estimate.HasInterval() && !m.Estimate.Contains(1) {
		m.Warnings = []string{"two blocks that differ in nothing differ: other load on the device; run it again when the host is quieter"}
	}
	return m
}

// device describes the commits on one of them. floor is the A/A ratio's.
func device(rounds [][]float64, f CommitFile, where string, labels result.Labels, floor,
	alpha float64) []result.Measurement {
	all := slices.Concat(rounds...)
	slices.Sort(all)
	n := len(all)
	labels.Commits = n
	m := func(s Stat, title, unit string) result.Measurement {
		return blank(f.Of(s), "", title+" "+where, unit, labels)
	}
	mean := m(Mean, "Mean commit", "s")
	p50 := m(Median, "Median commit", "s")
	p99 := m(Tail, "99th percentile of commits", "s")
	longest := m(Longest, "Longest commit", "s")
	rate := m(Rate, "Typical rate of commits between stalls, one after another,", "1/s")
	if n > 0 {
		mean.Estimate = clusterMean(rounds, alpha)
		mean.Warnings = worth(mean.Estimate)
		p50.Estimate = clusterQuantile(rounds, all, 0.50, alpha)
		p50.Warnings = worth(p50.Estimate)
		p50.NoiseFloor = floor * p50.Estimate.Value
		longest.Estimate = single(all[n-1], n)
		longest.Warnings = []string{"no interval: the next run may see a longer one"}
		// Rounds that follow each other are joined: they are alike.
		joined := thinned(rounds, stats.Median, alpha)
		counts, sums := make([]float64, len(joined)), make([]float64, len(joined))
		for i, r := range joined {
			counts[i] = float64(len(r))
			sums[i] = counts[i] * stats.Mean(r)
		}
		rate.Estimate = ratio(counts, sums, alpha)
		rate.NoiseFloor = floor * rate.Estimate.Value
		if float64(n)*(1-0.99) >= 10 {
			p99.Estimate = clusterQuantile(rounds, all, 0.99, alpha)
			p99.Warnings = worth(p99.Estimate)
		} else {
			p99.Reason = fmt.Sprintf("%d commits fitted into the time; a 99th percentile takes 1000", n)
		}
	}
	return []result.Measurement{mean, p99, p50, longest, rate}
}

// drifted is the change between the first and the last third from which on it is said: less
// is not worth a line.
const drifted = 1.05

// drift compares the last third of the rounds with the first. One figure for a device that
// changes meanwhile holds for neither part.
func drift(rounds [][]float64, during string, labels result.Labels, alpha float64) result.Measurement {
	m := blank(CommitDrift, "", "Mean commit on the log directory in the last third of the time over that in the first, "+
		during,
		"ratio", labels)
	if m.Estimate = thirds(rounds, alpha); m.Estimate == nil {
		m.Reason = fmt.Sprintf("%d rounds are too few for thirds", len(rounds))
		return m
	}
	if !m.Estimate.HasInterval() {
		m.Warnings = []string{tooFew(m.Estimate.N, alpha)}
	}
	if e := m.Estimate; e.HasInterval() && !e.Contains(1) && max(e.Value, 1/e.Value) >= drifted {
		m.Labels.Drift = true
		third := len(rounds) / 3
		m.Warnings = []string{fmt.Sprintf(
			"the device was not the same all the time: the mean commit took %s at first and %s at last",
			result.Format(stats.Mean(slices.Concat(rounds[:third]...)), "s"),
			result.Format(stats.Mean(slices.Concat(rounds[len(rounds)-third:]...)), "s"))}
	}
	return m
}

// worth says why there is no interval, where there is none.
func worth(e *result.Estimate) []string {
	if e.HasInterval() {
		return nil
	}
	return []string{fmt.Sprintf("no interval: commits close in time are alike, and these count only as %d", e.N)}
}
