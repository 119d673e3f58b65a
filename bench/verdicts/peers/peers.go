// Package peers decides as three other tools do, so that simulated experiments
// can be put to them. All three run all of A and then all of B, a fixed number of
// times each. Nothing of them is run here: what is emulated is written at each.
package peers

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Peer is one tool's way to compare two commands.
type Peer struct {
	Name, Way string
	// Discard says which of the consecutive runs of one side are warm-ups.
	Discard func(run int) bool
	// Values are how many measured runs its documentation asks for, of each side.
	Values int
	// P returns the two-sided p-value of the times of the two sides, with which the
	// tool says whether they differ: below Alpha, they do.
	P func(a, b []float64) float64
}

// Alpha is the level of all three.
const Alpha = 0.05

func none(int) bool { return false }

// All returns the peers.
func All() []Peer {
	return []Peer{
		// golang.org/x/perf cmd/benchstat 22c9c6c9d4da: "at least 10 times", old.txt,
		// then new.txt; benchmath.AssumeNothing compares with the Mann-Whitney U test.
		{"benchstat", "Mann-Whitney, alpha 0.05 (its -alpha)", none, 10, mannWhitney},
		// sharkdp/hyperfine 1.20.0 at 327d5f4: scheduler.rs runs one command to its end
		// before the next; at least 10 runs and 3 s of them (here 10: those of a
		// command that takes 0.3 s or more), no warm-up. It prints the ratio of the
		// means with a propagated standard deviation and leaves the verdict to
		// scripts/welch_ttest.py: Welch's t test, p < 0.05. Version 2.0.0 has the same.
		{"hyperfine", "Welch's t of its scripts/welch_ttest.py, p < 0.05", none, 10, welch},
		// psf/pyperf, _runner.py: 20 processes of one warm-up and three values;
		// _utils.py is_significant pools the values of all processes for Student's t
		// test with equal variances at 95 %. Its table of critical values is
		// replaced by the distribution. The processes of A run before those of B.
		{"pyperf", "Student's t over the pooled values, 95 %", func(run int) bool { return run%4 == 0 }, 60, student},
	}
}

// Runs returns how many runs of one side it takes to have so many values.
func (p Peer) Runs(values int) int {
	runs := 0
	for ; values > 0; runs++ {
		if !p.Discard(runs) {
			values--
		}
	}
	return runs
}

// Pick returns the measured ones of consecutive runs, at most so many.
func (p Peer) Pick(runs []float64, values int) []float64 {
	out := make([]float64, 0, values)
	for i, v := range runs {
		if !p.Discard(i) && len(out) < values {
			out = append(out, v)
		}
	}
	return out
}

func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x)-1)
}

func tTest(t, df float64) float64 {
	if math.IsNaN(t) {
		return 1
	}
	return 2 * distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Survival(math.Abs(t))
}

func student(a, b []float64) float64 {
	ma, va := moments(a)
	mb, vb := moments(b)
	na, nb := float64(len(a)), float64(len(b))
	df := na + nb - 2
	pooled := ((na-1)*va + (nb-1)*vb) / df
	return tTest((ma-mb)/math.Sqrt(pooled*(1/na+1/nb)), df)
}

func welch(a, b []float64) float64 {
	ma, va := moments(a)
	mb, vb := moments(b)
	ea, eb := va/float64(len(a)), vb/float64(len(b))
	df := (ea + eb) * (ea + eb) / (ea*ea/float64(len(a)-1) + eb*eb/float64(len(b)-1))
	return tTest((ma-mb)/math.Sqrt(ea+eb), df)
}

// mannWhitney is exact without ties up to 25 a side, as R's wilcox.test is up to
// 49, and else the normal approximation with the corrections for ties and continuity.
func mannWhitney(a, b []float64) float64 {
	type one struct {
		v float64
		b bool
	}
	all := make([]one, 0, len(a)+len(b))
	for _, v := range a {
		all = append(all, one{v, false})
	}
	for _, v := range b {
		all = append(all, one{v, true})
	}
	slices.SortFunc(all, func(x, y one) int {
		switch {
		case x.v < y.v:
			return -1
		case x.v > y.v:
			return 1
		}
		return 0
	})
	ranks, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		t := float64(j - i)
		ties += t*t*t - t
		for ; i < j; i++ {
			if all[i].b {
				ranks += float64(j) - (t-1)/2
			}
		}
	}
	na, nb := float64(len(a)), float64(len(b))
	u := ranks - nb*(nb+1)/2
	if ties == 0 && len(a) == len(b) && len(a) <= len(exactU)-1 {
		return min(1, 2*exactU[len(a)][int(min(u, na*nb-u))])
	}
	n := na + nb
	sd := math.Sqrt(na * nb / 12 * (n + 1 - ties/(n*(n-1))))
	z := (max(0, math.Abs(u-na*nb/2)-0.5)) / sd
	if math.IsNaN(z) {
		return 1
	}
	return math.Erfc(z / math.Sqrt2)
}

// exactU[n][u] is P(U <= u) for n values a side.
var exactU = func() [26][]float64 {
	var table [26][]float64
	for n := 1; n < len(table); n++ {
		// The number of ways is the coefficient of q^u in the Gaussian binomial
		// coefficient, the product over i = 1..n of (1-q^(n+i))/(1-q^i).
		ways := make([]float64, n*n+1)
		ways[0] = 1
		for i := 1; i <= n; i++ {
			for u := n * n; u >= n+i; u-- {
				ways[u] -= ways[u-n-i]
			}
			for u := i; u <= n*n; u++ {
				ways[u] += ways[u-i]
			}
		}
		total := 0.0
		for _, w := range ways {
			total += w
		}
		cdf := 0.0
		for u, w := range ways {
			cdf += w / total
			ways[u] = cdf
		}
		table[n] = ways
	}
	return table
}()
