package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/worker"
)

// clusterQuantile estimates the q-quantile of all (sorted) with an interval that
// allows for the values of one round being alike, and those of rounds that follow
// each other: a burst of other load slows many in a row, and an interval that
// counts each of them is far too narrow. n divided by the design effect is how many
// independent values these are worth, and the interval is that of so many equally
// spaced order statistics. Estimate.N is that number.
func clusterQuantile(rounds [][]float64, all []float64, q, alpha float64) *result.Estimate {
	n := len(all)
	e := single(stats.Quantile(all, q), n)
	effect := designEffect(rounds, e.Value, q, alpha)
	if tail(q) {
		// Few values lie beyond, too few to show how alike those of a round are: rounds
		// that differ in the middle are taken to differ in the tail as well.
		for _, p := range []float64{0.5, 0.9} {
			effect = max(effect, designEffect(rounds, stats.Quantile(all, p), p, alpha))
		}
	}
	e.N = max(1, int(float64(n)/effect))
	thin := make([]float64, e.N)
	for i := range thin {
		thin[i] = all[min(n-1, int((float64(i)+0.5)*float64(n)/float64(e.N)))]
	}
	if iv := stats.QuantileInterval(thin, q, alpha); iv.HasInterval() && len(rounds) >= leastRounds(q, alpha) {
		// Thinning moves order statistics by half a step; the estimate stays inside.
		e.Low, e.High = min(iv.Low, e.Value), max(iv.High, e.Value)
	}
	return e
}

// clusterMean is the mean of all with an interval from the means of rounds, which allows
// for their resemblance as designEffect does. Unlike a median it moves with rare stalls,
// which a job that waits for each commit pays for. Estimate.N is how many independent
// rounds these are worth.
func clusterMean(rounds [][]float64, alpha float64) *result.Estimate {
	x := column(rounds, stats.Mean)
	k, following := float64(len(x)), resemblance(x)
	e := single(stats.Mean(slices.Concat(rounds...)), max(1, int(k/following)))
	if len(x) >= stats.MinBlocks(alpha) {
		h := reach(k/following-1, alpha) * math.Sqrt(following*stats.Variance(x)/k)
		e.Low, e.High = max(0, e.Value-h), e.Value+h
	}
	return e
}

// thirds is the ratio of the last third's mean to the first's, by the logarithms of the
// means of rounds; nil where there are too few.
func thirds(rounds [][]float64, alpha float64) *result.Estimate {
	n := len(rounds) / 3
	if n < 2 {
		return nil
	}
	var rest []float64 // what is left of each without its third's mean
	logs := func(part [][]float64) (mean float64) {
		x := column(part, stats.Mean)
		for i := range x {
			x[i] = math.Log(x[i])
		}
		mean = stats.Mean(x)
		for _, v := range x {
			rest = append(rest, v-mean)
		}
		return mean
	}
	change := -logs(rounds[:n]) + logs(rounds[len(rounds)-n:])
	k, following := float64(n), resemblance(rest)
	e := single(math.Exp(change), max(1, int(k/following)))
	if n >= stats.MinBlocks(alpha) {
		variance := stats.Variance(rest) * (2*k - 1) / (2*k - 2) // two means were taken away
		h := reach(2*k/following-2, alpha) * math.Sqrt(following*variance*2/k)
		e.Low, e.High = math.Exp(change-h), math.Exp(change+h)
	}
	return e
}

// reach is Student's quantile.
func reach(df, alpha float64) float64 {
	return math.Sqrt2 * math.Erfinv(1-alpha) * math.Sqrt(student(df, alpha))
}

// tail reports whether a quantile has but few values beyond it.
func tail(q float64) bool { return q > 0.9 || q < 0.1 }

// leastRounds is how many rounds an interval for the q-quantile takes. Stalls that
// are all in a few rounds show as such only in many of them.
func leastRounds(q, alpha float64) int {
	if tail(q) {
		return 4 * stats.MinBlocks(alpha)
	}
	return stats.MinBlocks(alpha)
}

// designEffect is by how much the variance of the share of values at or below x
// exceeds that of independent values; at least 1. It has three factors:
//
//   - the variance of the rounds' shares over the binomial law's (Kish, Survey
//     Sampling, 1965, section 5.4; for quantiles, Woodruff, JASA 47, 1952);
//   - (1+r)/(1-r) for rounds that resemble those before them, r being the lag-1
//     autocorrelation of the shares (Bartlett, JRSS 98, 1935; that of a first-order
//     autoregression), which short series understate (Marriott and Pope,
//     Biometrika 41, 1954);
//   - that of Student's quantile over the normal one, squared, since the variance is
//     itself estimated from few rounds.
func designEffect(rounds [][]float64, x, q, alpha float64) float64 {
	k := float64(len(rounds))
	if k < 2 {
		return 1
	}
	shares := column(rounds, func(r []float64) float64 {
		below := 0.0
		for _, t := range r {
			if t <= x {
				below++
			}
		}
		return below / float64(len(r))
	})
	size := float64(len(slices.Concat(rounds...))) / k
	between := max(1, stats.Variance(shares)*size/(q*(1-q)))
	following := resemblance(shares)
	return between * following * student(k/following-1, alpha)
}

// resemblance is (1+r)/(1-r) of a series, at least 1.
func resemblance(x []float64) float64 {
	n, mean := float64(len(x)), stats.Mean(x)
	var lag, square float64
	for i, v := range x {
		square += (v - mean) * (v - mean)
		if i > 0 {
			lag += (v - mean) * (x[i-1] - mean)
		}
	}
	if n < 6 || square == 0 {
		return 1
	}
	// The expectation of lag/square falls short of r by about (1+4r)/n.
	r := min(max(0, (n*lag/square+1)/(n-4)), 0.95)
	return (1 + r) / (1 - r)
}

// student is the square of Student's quantile with df degrees of freedom over the
// normal one, by the first terms of the Cornish-Fisher series.
func student(df, alpha float64) float64 {
	df = max(df, 2)
	z := math.Sqrt2 * math.Erfinv(1-alpha)
	t := z + (z*z*z+z)/(4*df) + (5*math.Pow(z, 5)+16*z*z*z+3*z)/(96*df*df)
	return t * t / (z * z)
}

// thinned joins rounds that follow each other until they hardly resemble each
// other by what, but leaves enough of them for an interval.
func thinned(rounds [][]float64, what func([]float64) float64, alpha float64) [][]float64 {
	join := min(int(math.Ceil(resemblance(column(rounds, what)))), max(1, len(rounds)/(stats.MinBlocks(alpha)+2)))
	var out [][]float64
	for i := 0; i+join <= len(rounds); i += join {
		out = append(out, slices.Concat(rounds[i:i+join]...))
	}
	return out
}

// runner executes what a probe asks for: a worker process, or a fake with fixed timings.
type runner[Q, A any] interface {
	run(Q) (A, error)
	load(cpus []int) (map[int]proc.Load, bool)
	close()
}

// process is a runner that is a worker process.
type process[Q, A any] struct{ s *worker.Session }

func startWorker[Q, A any](job string) func(context.Context) (runner[Q, A], error) {
	return func(ctx context.Context) (runner[Q, A], error) {
		s, err := worker.Start(ctx, job, 2)
		if err != nil {
			return nil, err
		}
		return process[Q, A]{s}, nil
	}
}

func (p process[Q, A]) run(q Q) (a A, err error) {
	err = p.s.Call(q, &a)
	return a, err
}

func (p process[Q, A]) load(cpus []int) (map[int]proc.Load, bool) { return proc.Loads(cpus) }

func (p process[Q, A]) close() { p.s.Close() }

// disturbedShare is the share of a measurement's time that others may take, by
// pre-emption, by running on the CPU while it should be idle, or by steal,
// before the measurement counts as disturbed.
const disturbedShare = 0.02

// pace repeats the rounds of a probe.
type pace struct {
	now     func() time.Time
	began   time.Time // of the probe
	budget  time.Duration
	planned int // clean rounds that are enough; 0: as many as fit
	// that the planned rounds may take beyond the budget, as on a CPU that is shared
	over  time.Duration
	pause func(done int, each, left time.Duration) error // between two rounds; may be nil
}

// errEnough ends the rounds.
var errEnough = errors.New("no more rounds")

// run does a first round, and further ones as long as they fit and are needed.
// Repetitions of those that were disturbed have the budget only.
func (p pace) run(round func() (clean bool, err error)) error {
	var spent time.Duration // in rounds
	for done, clean := 0, 0; p.planned == 0 || clean < p.planned; done++ {
		if done > 0 {
			limit, each := p.began.Add(p.budget), spent/time.Duration(done)
			if done < p.planned {
				limit = limit.Add(p.over)
			}
			left := limit.Sub(p.now())
			if left < each {
				return nil
			}
			if p.pause != nil {
				if err := p.pause(done, each, left); err != nil {
					return err
				}
			}
		}
		began := p.now()
		ok, err := round()
		switch spent += p.now().Sub(began); {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		case ok:
			clean++
		}
	}
	return nil
}

// undisturbed returns the rounds that others did not disturb, if they are enough for an
// interval, and all otherwise. clean counts the former.
func undisturbed[T any](rounds []T, quiet func(T) bool, alpha float64) (use []T, clean int) {
	for _, r := range rounds {
		if quiet(r) {
			use = append(use, r)
		}
	}
	if clean = len(use); clean < stats.MinBlocks(alpha) {
		return rounds, clean
	}
	return use, clean
}

func column[T, F any](rounds []T, of func(T) F) []F {
	out := make([]F, len(rounds))
	for i, r := range rounds {
		out[i] = of(r)
	}
	return out
}

// blank returns a measurement of which nothing is known yet. which tells it from others
// of its kind.
func blank(kind result.Kind, which, title, unit string, labels result.Labels) result.Measurement {
	probe, _, _ := strings.Cut(string(kind), ".")
	return result.Measurement{Probe: probe, Kind: kind, Name: string(kind) + which, Title: title, Unit: unit,
		Evidence: result.Measured, NoiseFloor: math.NaN(), Labels: labels}
}

// ratio estimates x over base within rounds.
func ratio(x, base []float64, alpha float64) *result.Estimate {
	return new(stats.PairedRatio(x, base, alpha))
}

// floor is the noise floor of ratios: how far a condition differs from itself.
func floor(again, once []float64, alpha float64) float64 {
	return stats.Floor(stats.PairedRatio(again, once, alpha))
}

// single is an estimate without an interval.
func single(value float64, n int) *result.Estimate {
	return &result.Estimate{Value: value, Low: math.NaN(), High: math.NaN(), N: n}
}

// medianOf is the median with its distribution-free interval.
func medianOf(x []float64, alpha float64) *result.Estimate {
	return new(stats.QuantileInterval(x, 0.5, alpha))
}

func tooFew(n int, alpha float64) string {
	return fmt.Sprintf("%d rounds are too few for an interval; it takes %d", n, stats.MinBlocks(alpha))
}
