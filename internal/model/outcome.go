package model

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// responses are all responses with their units, "" for a share of 1, in the order to print.
var responses = []struct {
	Response
	unit string
}{
	{StepTime, "s"}, {StepTimeP50, "s"}, {StepTimeP95, "s"}, {StepTimeP99, "s"}, {CPUSeconds, "s"},
	{Throughput, "1/s"}, {Utilisation, ""}, {Performance, ""}, {JoulesPerStep, "J"}, {Watts, "W"}, {RampTime, "s"},
}

// Responses lists all responses, in the order to print.
func Responses() (list []Response) {
	for _, r := range responses {
		list = append(list, r.Response)
	}
	return list
}

func outcome(r *run, o Options) Outcome {
	out := Outcome{Policy: r.c.Policy.String(), Bound: r.c.Policy.bound, Load: math.NaN(),
		Responses: map[Response]result.Estimate{},
		samples:   map[Response][]float64{}, Events: r.events}
	if r.c.Workload.Open() {
		out.Load = r.c.Load
	}
	if r.err != nil {
		out.Refused = r.err.Error()
		if u, ok := errors.AsType[*UnstableError](r.err); ok {
			out.Refused = u.Short()
		}
		return out
	}
	warn := func(c Caution, by float64, format string, args ...any) {
		out.Warnings = append(out.Warnings, Warning{c, by, fmt.Sprintf(format, args...)})
	}
	for _, info := range responses {
		if x := samples(r.reps, info.Response); len(x) == len(r.reps) {
			out.samples[info.Response] = x
			out.Responses[info.Response] = estimate(x, o.Level, info.unit)
		}
	}
	if ramp, err := Ramp(r.c.Machine, r.c.Policy); err == nil {
		out.Responses[RampTime] = ramp
	}
	h := newHardware(r.c.Machine, r.g, r.c.Workload.MemoryShare)
	for i, hz := range h.hz {
		out.PStates = append(out.PStates, Residency{Name: fmt.Sprintf("%.0f MHz", hz/1e6), Hz: hz,
			Share: shareOf(r.reps, func(p replicate) []float64 { return p.points }, i, o)})
	}
	for i := range h.exit {
		name := "polling"
		if i < len(r.c.Machine.IdleStates) {
			name = r.c.Machine.IdleStates[i].Name
		}
		out.IdleStates = append(out.IdleStates, Residency{Name: name,
			Share: shareOf(r.reps, func(p replicate) []float64 { return p.idle }, i, o)})
	}
	for _, p := range r.reps {
		out.Steps += p.steps
	}
	if r.scale > 1 {
		warn(ScaledUp, r.scale, "%.4g of %.4g CPU seconds of each job were simulated and scaled up",
			r.c.Workload.Work/r.scale,
			r.c.Workload.Work)
	}
	if p := r.plan; p.warmUp < p.settle {
		warn(CutShort, float64(p.settle),
			"the simulation was cut to the events allowed: %d steps before the measurement instead of the %d that queues and policies "+
				"may take to forget their start, so the figures may still contain the start", p.warmUp, p.settle)
	}
	if w := halfWidth(out.Responses[StepTime]); o.Steps == 0 && w > 2*o.Precision && r.c.Workload.Kind != Batch &&
		r.c.Workload.Kind != Query {
		warn(Wide, w, "step time is known only to ±%.1f %%; more --replications narrow it", w*100)
	}
	return out
}

func shareOf(reps []replicate, get func(replicate) []float64, i int, o Options) result.Estimate {
	var x []float64
	for _, p := range reps {
		if s := get(p); s != nil {
			x = append(x, s[i])
		}
	}
	return estimate(x, o.Level, "")
}

// estimate is the mean of independent replications with its t-interval.
func estimate(x []float64, level float64, unit string) result.Estimate {
	e := stats.PairedT(x, 1-level)
	e.Unit = unit
	return e
}

// pairedRatio is the geometric mean of a/b over paired replications with the
// t-interval of the log ratio. Pairs with a value that is not positive are left
// out, and N says how many were left.
func pairedRatio(a, b []float64, level float64) result.Estimate {
	var d []float64
	for i := range min(len(a), len(b)) {
		if l := math.Log(a[i] / b[i]); !math.IsNaN(l) && !math.IsInf(l, 0) {
			d = append(d, l)
		}
	}
	return estimate(d, level, "ratio").Map(math.Exp)
}

// halfWidth is relative to the mean; infinite without an interval.
func halfWidth(e result.Estimate) float64 {
	if e.N < 2 || e.Value == 0 || !e.HasInterval() {
		return math.Inf(1)
	}
	return (e.High - e.Low) / 2 / math.Abs(e.Value)
}

// subBits is the number of bits that a bucket keeps below the leading one.
const subBits = 8

// buckets covers all positive int64.
const buckets = (63 - subBits + 1) << subBits

// RelativeError bounds the error of Histogram's quantiles: half of the widest bucket's relative
// width of 2^-8.
const RelativeError = 1.0 / (1 << (subBits + 1))

// Histogram counts times in buckets of at most 0.4 % relative width, so that
// quantiles of any number of values need the same 57 kB. Times below 512 ns are
// exact; others err by at most RelativeError.
type Histogram struct {
	counts []uint32
	n      uint64
	sum    float64
}

func NewHistogram() *Histogram { return &Histogram{counts: make([]uint32, buckets)} }

// Record counts a time; negative ones count as 0.
func (h *Histogram) Record(t Time) {
	h.n++
	h.sum += float64(t)
	h.counts[bucket(t)]++
}

// Mean is the exact mean in seconds, NaN without values.
func (h *Histogram) Mean() float64 { return h.sum / float64(h.n) / 1e9 }

// Quantile returns the q-quantile in seconds: the middle of the bucket that holds
// the value of rank ceil(q n). NaN without values.
func (h *Histogram) Quantile(q float64) float64 {
	if h.n == 0 {
		return math.NaN()
	}
	rank := uint64(max(1, math.Ceil(q*float64(h.n))))
	var seen uint64
	for i, c := range h.counts {
		if seen += uint64(c); seen >= rank {
			return middle(i) / 1e9
		}
	}
	return math.NaN()
}

func bucket(t Time) int {
	if t < 0 {
		t = 0
	}
	shift := max(0, bits.Len64(uint64(t))-1-subBits)
	return shift<<subBits + int(uint64(t)>>shift)
}

// middle is the middle of bucket i in nanoseconds.
func middle(i int) float64 {
	if i < 2<<subBits {
		return float64(i)
	}
	shift := i>>subBits - 1
	low := uint64(i-shift<<subBits) << shift
	return float64(low) + (float64(uint64(1)<<shift)-1)/2
}
