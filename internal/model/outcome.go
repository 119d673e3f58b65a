package model

import (
	"fmt"
	"math"

	"hostlab/internal/result"
)

var responses = []ResponseInfo{
	{StepTime, "step time, mean", "s", "lower"},
	{StepTimeP50, "step time, median", "s", "lower"},
	{StepTimeP95, "step time, 95th percentile", "s", "lower"},
	{StepTimeP99, "step time, 99th percentile", "s", "lower"},
	{CPUSeconds, "CPU seconds per step", "s", "lower"},
	{Throughput, "throughput", "1/s", "higher"},
	{Utilisation, "utilisation of all CPUs", "", ""},
	{Performance, "processor performance while busy, share of nominal", "", "higher"},
	{JoulesPerStep, "energy per step", "J", "lower"},
	{Watts, "power", "W", "lower"},
	{RampTime, "time to the highest frequency", "s", "lower"},
}

// Responses lists all responses with their units, in the order to print.
func Responses() []ResponseInfo { return append([]ResponseInfo(nil), responses...) }

func outcome(r *run, o Options) Outcome {
	out := Outcome{Policy: r.c.Policy.String(), Load: math.NaN(), Responses: map[Response]result.Estimate{},
		samples: map[Response][]float64{}, Events: r.events}
	if r.c.Workload.Open() {
		out.Load = r.c.Load
	}
	for _, info := range responses {
		if x := samples(r.reps, info.Name); len(x) == len(r.reps) {
			out.samples[info.Name] = x
			out.Responses[info.Name] = estimate(x, o.Level, info.Unit)
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
		out.Horizon += p.horizon / float64(len(r.reps))
	}
	if r.scale > 1 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%.4g of %.4g CPU seconds of each job were simulated and scaled up", r.c.Workload.Work/r.scale, r.c.Workload.Work))
	}
	if p := r.plan; p.warmUp < p.settle {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the simulation was cut to the events allowed: %d steps before the measurement instead of the %d that queues and policies may take to forget their start, so the figures may still hold the start; allow more events", p.warmUp, p.settle))
	}
	if w := halfWidth(out.Responses[StepTime]); o.Steps == 0 && w > 2*o.Precision && r.c.Workload.Kind != Batch && r.c.Workload.Kind != Query {
		out.Warnings = append(out.Warnings, fmt.Sprintf("step time is known to +-%.1f %% only; allow more events or replications", w*100))
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
