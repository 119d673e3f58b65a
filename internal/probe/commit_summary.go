package probe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload/logcommit"
)

// summarise turns the rounds into measurements and distributions. On the log
// directory both blocks of a round are one: they differ in nothing.
func (p commitProbe) summarise(out *Outcome, runs commitRuns, cfg Config, layout logcommit.Layout) {
	disk := make([][]float64, len(runs.a))
	for i := range disk {
		disk[i] = slices.Concat(runs.a[i], runs.b[i])
	}
	aa := stats.PairedRatio(medians(runs.b), medians(runs.a), cfg.Alpha)
	floor := stats.Floor(aa)
	labels := map[string]string{"device": "log-dir", "layout": string(layout)}
	out.Measurements = append(out.Measurements, device(disk, "commit", "on the log directory", labels, floor, cfg.Alpha)...)

	memLabels := map[string]string{"device": "memory"}
	gain := result.Measurement{Probe: "commit", Name: "commit.gain", Unit: "ratio", Evidence: result.Measured, NoiseFloor: floor,
		Title: "Commit in memory over commit on the log directory: what remains with the fastest device", Labels: map[string]string{"device": "memory"}}
	if len(runs.mem) > 0 {
		out.Measurements = append(out.Measurements, device(runs.mem, "commit.memory", "in memory", memLabels, math.NaN(), cfg.Alpha)...)
		gain.Estimate = ratio(stats.PairedRatio(medians(runs.mem), medians(disk), cfg.Alpha))
	} else {
		gain.Reason = "no tmpfs that this user may write to, such as /dev/shm"
		for _, m := range device(nil, "commit.memory", "in memory", memLabels, math.NaN(), cfg.Alpha) {
			m.Reason = gain.Reason
			out.Measurements = append(out.Measurements, m)
		}
	}
	same := result.Measurement{Probe: "commit", Name: "commit.aa", Unit: "ratio", Evidence: result.Measured, NoiseFloor: math.NaN(),
		Title: "Second block over first on the same log directory: the noise floor", Estimate: ratio(aa), Labels: labels}
	if same.Estimate != nil && same.Estimate.HasInterval() && !same.Estimate.Contains(1) {
		same.Warnings = []string{"two blocks that differ in nothing differ: other load on the device; run it again when the host is quieter"}
	}
	out.Measurements = append(out.Measurements, gain, same)

	edges := logEdges(slices.Concat(slices.Concat(disk...), slices.Concat(runs.mem...)), 10)
	out.Distributions = append(out.Distributions, histogram("commit", "Commits on the log directory", edges, disk))
	if len(runs.mem) > 0 {
		out.Distributions = append(out.Distributions, histogram("commit.memory", "Commits in memory", edges, runs.mem))
	}
}

// device describes the commits on one of the two. floor is the A/A ratio's.
func device(rounds [][]float64, name, where string, labels map[string]string, floor, alpha float64) []result.Measurement {
	all := slices.Concat(rounds...)
	slices.Sort(all)
	n := len(all)
	labels = maps.Clone(labels)
	labels["commits"] = strconv.Itoa(n)
	m := func(suffix, title, unit string) result.Measurement {
		return result.Measurement{Probe: "commit", Name: name + suffix, Title: title + " " + where, Unit: unit,
			NoiseFloor: math.NaN(), Evidence: result.Measured, Labels: labels}
	}
	p50 := m(".p50", "Median commit", "s")
	p99 := m(".p99", "99th percentile of commits", "s")
	longest := m(".max", "Longest commit", "s")
	rate := m(".rate", "Commits per second, one after another,", "1/s")
	if n > 0 {
		p50.Estimate = clusterQuantile(rounds, all, 0.50, alpha)
		p50.NoiseFloor = floor * p50.Estimate.Value
		longest.Estimate = &result.Estimate{Value: all[n-1], Low: math.NaN(), High: math.NaN(), N: n}
		counts, sums := make([]float64, len(rounds)), make([]float64, len(rounds))
		for i, r := range rounds {
			counts[i] = float64(len(r))
			for _, t := range r {
				sums[i] += t
			}
		}
		rate.Estimate = interval(stats.PairedRatio(counts, sums, alpha))
		rate.NoiseFloor = floor * rate.Estimate.Value
		if float64(n)*(1-0.99) >= 10 {
			p99.Estimate = clusterQuantile(rounds, all, 0.99, alpha)
			if !p99.Estimate.HasInterval() {
				p99.Warnings = []string{fmt.Sprintf("no interval: commits of one round are alike, and these count only as %d", p99.Estimate.N)}
			}
		} else {
			p99.Reason = fmt.Sprintf("%d commits fitted into the time; a 99th percentile takes 1000", n)
		}
	}
	return []result.Measurement{p50, p99, longest, rate}
}

// clusterQuantile estimates the q-quantile of all (sorted) with an interval that
// allows for the commits of one round being alike: a burst of other load slows
// many in a row, and an interval that counts each of them is far too narrow. The
// share of each round's commits at or below the estimate varies between rounds by
// more than the binomial law says; that excess is the design effect (Kish, Survey
// Sampling, 1965, section 5.4; for quantiles, Woodruff, JASA 47, 1952). n divided
// by it is how many independent commits these are worth, and the interval is that
// of so many equally spaced order statistics. Estimate.N is that number.
func clusterQuantile(rounds [][]float64, all []float64, q, alpha float64) *result.Estimate {
	n := len(all)
	e := &result.Estimate{Value: stats.Quantile(all, q), Low: math.NaN(), High: math.NaN(), N: n}
	e.N = max(1, int(float64(n)/designEffect(rounds, e.Value, q)))
	thin := make([]float64, e.N)
	for i := range thin {
		thin[i] = all[min(n-1, int((float64(i)+0.5)*float64(n)/float64(e.N)))]
	}
	if lo, hi, ok := stats.QuantileInterval(thin, q, alpha); ok && len(rounds) >= stats.MinBlocks(alpha) {
		// Thinning moves order statistics by half a step; the estimate stays inside.
		e.Low, e.High = min(lo, e.Value), max(hi, e.Value)
	}
	return e
}

// designEffect is the variance of the rounds' shares of values at or below x over
// that of independent values, at least 1.
func designEffect(rounds [][]float64, x, q float64) float64 {
	if len(rounds) < 2 {
		return 1
	}
	size, square := 0.0, 0.0
	for _, r := range rounds {
		below := 0
		for _, t := range r {
			if t <= x {
				below++
			}
		}
		d := float64(below)/float64(len(r)) - q
		square += d * d
		size += float64(len(r))
	}
	k := float64(len(rounds))
	return max(1, square/(k-1)*(size/k)/(q*(1-q)))
}

func interval(iv stats.Interval) *result.Estimate {
	return &result.Estimate{Value: iv.Estimate, Low: iv.Low, High: iv.High, N: iv.N}
}

// ratio is interval for a PairedRatio; nil when no pair was usable.
func ratio(iv stats.Interval) *result.Estimate {
	if iv.N == 0 {
		return nil
	}
	return interval(iv)
}

// logEdges are upper edges of classes, so many a decade, that hold all of x.
func logEdges(x []float64, perDecade int) []float64 {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, v := range x {
		if v > 0 {
			lo, hi = min(lo, v), max(hi, v)
		}
	}
	if lo > hi {
		return nil
	}
	scale := float64(perDecade)
	var edges []float64
	for k := math.Floor(math.Log10(lo) * scale); ; k++ {
		edge := math.Pow(10, k/scale)
		edges = append(edges, edge)
		if edge >= hi {
			return edges
		}
	}
}

func histogram(name, title string, edges []float64, rounds [][]float64) result.Distribution {
	d := result.Distribution{Name: name, Title: title, Unit: "s", Edge: edges, Count: make([]int, len(edges))}
	for _, r := range rounds {
		for _, t := range r {
			i, _ := slices.BinarySearch(edges, t)
			d.Count[min(i, len(edges)-1)]++
		}
	}
	return d
}
