package noise

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hostlab/internal/stats"
)

// Sigma is the noise of all made-up models, 2 %, as a robust standard deviation. It
// is that of neighbouring runs: drift, shifts and outliers come on top of it.
const Sigma = 0.02

// Model makes the noise of n consecutive runs, as logarithms: the same whatever
// runs. Each call is another host on another day.
type Model struct {
	Name, About string
	Series      func(rng *rand.Rand, n int) []float64
}

// MadeUp returns the parametric models.
func MadeUp() []Model {
	return []Model{
		{"white", "2 % lognormal, nothing else: the easiest host there is", white},
		{"outliers", "white, and 5 % of runs take 20 % longer on average (exponential)", add(white, outliers)},
		{"drift", "outliers, and the host gets faster or slower by some 5 % in 100 runs", add(white, outliers, drift)},
		{"ar1", "each run keeps 0.8 of the last one's deviation; 2 % from run to run", ar1},
		{"shifts", "white, and every 40 runs on average another level, 5 % apart", add(white, shifts)},
		{"heavy", "Student's t with 2 degrees of freedom, scaled to 2 %", heavy},
		{"skewed", "lognormal noise of noise: deviations only upwards, exponential", skewed},
		{"all", "ar1, outliers, drift and shifts together", add(ar1, outliers, drift, shifts)},
	}
}

type series func(rng *rand.Rand, n int) []float64

// add superposes disturbances.
func add(parts ...series) series {
	return func(rng *rand.Rand, n int) []float64 {
		z := make([]float64, n)
		for _, p := range parts {
			for i, v := range p(rng, n) {
				z[i] += v
			}
		}
		return z
	}
}

func each(n int, f func(i int) float64) []float64 {
	z := make([]float64, n)
	for i := range z {
		z[i] = f(i)
	}
	return z
}

func white(rng *rand.Rand, n int) []float64 {
	return each(n, func(int) float64 { return Sigma * rng.NormFloat64() })
}

func outliers(rng *rand.Rand, n int) []float64 {
	return each(n, func(int) float64 {
		if rng.Float64() < 0.05 {
			return math.Log1p(0.20 * rng.ExpFloat64())
		}
		return 0
	})
}

func drift(rng *rand.Rand, n int) []float64 {
	slope := 0.05 / 100 * rng.NormFloat64()
	return each(n, func(i int) float64 { return slope * float64(i) })
}

func ar1(rng *rand.Rand, n int) []float64 {
	const phi = 0.8
	// Differences of neighbours have variance 2 (1-phi) of the series'.
	sd := Sigma / math.Sqrt(1-phi)
	v := sd * rng.NormFloat64()
	return each(n, func(int) float64 {
		v = phi*v + sd*math.Sqrt(1-phi*phi)*rng.NormFloat64()
		return v
	})
}

func shifts(rng *rand.Rand, n int) []float64 {
	level := 0.05 * rng.NormFloat64()
	return each(n, func(int) float64 {
		if rng.Float64() < 1.0/40 {
			level = 0.05 * rng.NormFloat64()
		}
		return level
	})
}

func heavy(rng *rand.Rand, n int) []float64 {
	return each(n, func(int) float64 {
		chi2 := 2 * rng.ExpFloat64() // 2 degrees of freedom
		t := rng.NormFloat64() / math.Sqrt(chi2/2)
		return min(math.Log(20), Sigma*t/1.2105) // 1.4826 times the third quartile of t2, 0.8165, is 1.2105; no run takes 20 times as long
	})
}

func skewed(rng *rand.Rand, n int) []float64 {
	return each(n, func(int) float64 { return Sigma * 1.4 * rng.ExpFloat64() }) // spread of neighbours' differences as in white
}

// joint is how many consecutive runs a resampled stretch keeps together: more than
// an experiment of 30 blocks of three, so that its drift and stalls are as they were.
const joint = 250

// Resampled draws from a recorded series by moving blocks on a circle (Politis and
// Romano 1992): stretches of joint runs from a random start each. With scale, it is
// multiplied so that all its runs together scatter by Sigma (robustly, so that
// stalls stay), which is what people mean by a noise of 2 %.
func Resampled(r *Record, s Series, scale bool) Model {
	z := s.Logs()
	m := Model{Name: r.Label + "/" + s.Work, About: s.About}
	if scale {
		f := Sigma / stats.Spread(z)
		for i := range z {
			z[i] *= f
		}
		m.Name += " to 2%"
		m.About += fmt.Sprintf(", times %.2g", f)
	}
	m.Series = func(rng *rand.Rand, n int) []float64 {
		out := make([]float64, 0, n)
		for len(out) < n {
			at := rng.IntN(len(z))
			for range min(joint, n-len(out)) {
				out = append(out, z[at%len(z)])
				at++
			}
		}
		return out
	}
	return m
}

// RunToRun is the robust standard deviation of one run, had from the differences
// of neighbours, which drift and level shifts do not widen.
func RunToRun(z []float64) float64 {
	d := make([]float64, len(z)-1)
	for i := range d {
		d[i] = math.Abs(z[i+1] - z[i])
	}
	return 1.4826 * stats.Median(d) / math.Sqrt2
}

// Autocorrelation is that of the ranks of z at a lag: Spearman's, which a few
// stalls do not drown.
func Autocorrelation(z []float64, lag int) float64 {
	r := ranks(z)
	mean := float64(len(r)-1) / 2
	var num, den float64
	for i := range r {
		den += (r[i] - mean) * (r[i] - mean)
		if i >= lag {
			num += (r[i] - mean) * (r[i-lag] - mean)
		}
	}
	return num / den
}

func ranks(z []float64) []float64 {
	order := make([]int, len(z))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(z[a], z[b]) })
	r := make([]float64, len(z))
	for i, at := range order {
		r[at] = float64(i)
	}
	return r
}
