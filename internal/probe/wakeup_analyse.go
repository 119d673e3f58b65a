package probe

import (
	"fmt"
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// measurements turns rounds into ratios with intervals, clocks and latencies.
func (r *wakeRun) measurements(alpha float64) []result.Measurement {
	var out []result.Measurement
	for _, t := range r.targets {
		for _, kernel := range r.plan.Kernels {
			for _, slice := range kernel.Slices {
				out = append(out, r.ratio(t, wakeKey{t.CPU, kernel.Name, slice}, alpha))
			}
		}
		for _, slice := range r.plan.slices(kernelMixed) {
			out = append(out, r.cold(t, slice, alpha))
		}
		out = append(out, r.clocks(t, alpha)...)
		out = append(out, r.latencies(t, alpha)...)
	}
	return out
}

var kernelWords = map[string]string{kernelALU: "arithmetic",
	kernelMixed: "arithmetic and loads from three quarters of the L2 cache"}

// ratio is the wake-up penalty of one kind of slice on one CPU.
func (r *wakeRun) ratio(t wakeTarget, key wakeKey, alpha float64) result.Measurement {
	kind := WakeALU
	if key.Kernel == kernelMixed {
		kind = WakeMixed
	}
	m := t.measurement(kind, key.name(), "ratio", key.Kernel,
		fmt.Sprintf("%.0f ms of %s after 100 ms asleep, against awake", key.Slice*1000, kernelWords[key.Kernel]))
	m.Labels.Slice = key.Slice
	r.measure(&m, alpha, func(u usedRounds) {
		awake := u.seconds(key, busy)
		m.Estimate, m.NoiseFloor = ratio(u.seconds(key, afterSleep), awake, alpha),
			floor(u.seconds(key, busyAgain), awake, alpha)
	}, key)
	r.ramping(&m, key, alpha)
	return m
}

// measure takes an estimate from the rounds that count for some comparisons on one CPU.
func (r *wakeRun) measure(m *result.Measurement, alpha float64, estimate func(usedRounds), keys ...wakeKey) {
	u := r.usable(alpha, keys...)
	if len(u.use) > 0 {
		estimate(u)
	}
	if !m.Known() {
		m.Reason = r.whyNone(keys[0].CPU)
		return
	}
	u.describe(m, alpha)
}

// cold is what mixed loses after a sleep beyond what arithmetic loses: what is not
// clock, but caches above all. It is estimated within rounds, both together.
func (r *wakeRun) cold(t wakeTarget, slice, alpha float64) result.Measurement {
	alu, mixed := wakeKey{t.CPU, kernelALU, slice}, wakeKey{t.CPU, kernelMixed, slice}
	m := t.measurement(WakeCold, mixed.name(), "ratio", "cold",
		fmt.Sprintf("a burst of %.0f ms that reads three quarters of the L2 cache, "+
			"after 100 ms asleep, against awake, beyond what arithmetic loses", slice*1000))
	m.Labels.Slice = slice
	r.measure(&m, alpha, func(u usedRounds) {
		over := func(cond wakeCond) (loss, base, lost []float64) {
			a, x := u.seconds(alu, cond), u.seconds(mixed, cond)
			a0, x0 := u.seconds(alu, busy), u.seconds(mixed, busy)
			for i := range x {
				x[i], a[i] = x[i]/x0[i], a[i]/a0[i]
				lost = append(lost, (x[i]-a[i])*x0[i])
			}
			return x, a, lost
		}
		x, a, lost := over(afterSleep)
		m.Estimate = ratio(x, a, alpha)
		xx, aa, _ := over(busyAgain)
		m.NoiseFloor = floor(xx, aa, alpha)
		m.Labels.Loss = stats.Median(lost)
	}, alu, mixed)
	r.ramping(&m, mixed, alpha)
	return m
}

// describe says in labels and warnings which rounds count.
func (u usedRounds) describe(m *result.Measurement, alpha float64) {
	m.Labels.Clean, m.Labels.Rounds, m.Labels.Awake = new(u.clean), u.of, u.awake
	switch left := u.of - len(u.use); {
	case u.awake > 0:
		m.Warnings = append(m.Warnings, fmt.Sprintf("others had the CPU in %d of %d pauses, which count", u.awake, u.of))
	case left > 0:
		m.Warnings = append(m.Warnings, fmt.Sprintf("%d more rounds, in which others took part of the CPU, are left out",
			left))
	}
	if !m.Estimate.HasInterval() {
		m.Warnings = append(m.Warnings, tooFew(len(u.use), alpha))
	}
}

// stillRising is the gain in speed within a busy stretch from which on its clock
// is not settled. The ratio's noise floor does not serve: a rising clock raises it.
const stillRising = 1.02

// ramping marks a ratio whose busy reference was still getting faster: a governor
// that takes long hides part of what a pause costs.
func (r *wakeRun) ramping(m *result.Measurement, key wakeKey, alpha float64) {
	climbs := r.climbs[wakeKey{CPU: key.CPU, Kernel: key.Kernel}]
	logs := make([]float64, len(climbs))
	for i, c := range climbs {
		logs[i] = math.Log(c)
	}
	iv := stats.HodgesLehmann(logs, alpha)
	if !m.Known() {
		return
	}
	if up := math.Exp(iv.Low); up > stillRising {
		m.Labels.Ramping = true
		m.Warnings = append(m.Warnings,
			fmt.Sprintf("the CPU still got faster while busy, by %.0f %% within a stretch: the ratio is too low",
				100*(math.Exp(iv.Value)-1)))
	}
}

// clocks are the additions per second when busy and right after sleeping. The
// first is over the longest slices, the second over the shortest.
func (r *wakeRun) clocks(t wakeTarget, alpha float64) []result.Measurement {
	all := r.plan.slices(kernelALU)
	kinds := []struct {
		kind        result.Kind
		name, title string
		slice       float64
		cond        wakeCond
	}{
		{ClockBusy, "busy", "additions per second, about the core clock, within a busy stretch", slices.Max(all), busy},
		{ClockSlept, "after-sleep", "additions per second, about the core clock, right after 100 ms asleep", slices.Min(all),
			afterSleep},
	}
	var out []result.Measurement
	for _, k := range kinds {
		m := t.measurement(k.kind, t.name(), "Hz", "frequency", k.title)
		m.Labels.Slice, m.Labels.Condition = k.slice, k.name
		key := wakeKey{t.CPU, kernelALU, k.slice}
		r.measure(&m, alpha, func(u usedRounds) {
			hz := column(u.use, func(round wakeSamples) float64 {
				return float64(round[key].Sample[k.cond].N) / round[key].Sample[k.cond].Seconds()
			})
			m.Estimate = medianOf(hz, alpha)
		}, key)
		out = append(out, m)
	}
	return out
}

// leastTail is how many wake-ups a 99th percentile takes.
const leastTail = 100

// latencies are how late threads came back from their sleep, and, as the control,
// how late threads that watched the clock instead saw the same time.
func (r *wakeRun) latencies(t wakeTarget, alpha float64) []result.Measurement {
	var idle, all, spun [][]float64
	slept, of := 0, 0
	for _, p := range r.pauses[t.CPU] {
		idle = appendSome(idle, p.late)
		all = appendSome(all, slices.Concat(p.late, p.awake))
		spun = appendSome(spun, p.spun)
		slept += len(p.late)
		of += len(p.late) + len(p.awake)
	}
	awake := 0
	if len(idle) < stats.MinBlocks(alpha) && slept < of {
		idle, awake = all, of-slept
	}
	one := func(kind result.Kind, title string, rounds [][]float64, q float64, least int) result.Measurement {
		m := t.measurement(kind, t.name(), "s", "latency", title)
		x := slices.Sorted(slices.Values(slices.Concat(rounds...)))
		switch {
		case len(x) == 0 && r.gone[t.CPU] == "" && len(r.rounds) > 0:
			m.Reason = "this system does not wake threads to the microsecond"
		case len(x) == 0:
			m.Reason = r.whyNone(t.CPU)
		case len(x) < least:
			m.Reason = fmt.Sprintf("%d wake-ups fitted into the time; a 99th percentile takes %d", len(x), least)
		case q == 0.5:
			// Wake-ups of one round may be alike; rounds lie seconds apart.
			m.Estimate = medianOf(column(rounds, stats.Median), alpha)
		default:
			m.Estimate = single(stats.Quantile(x, q), len(x))
			m.Warnings = append(m.Warnings, fmt.Sprintf("no interval: %d wake-ups are too few for one", len(x)))
		}
		if m.Known() {
			m.Labels.Wakeups = len(x)
		}
		return m
	}
	out := []result.Measurement{
		one(LateMedian, "lateness of a wake-up after 100 ms of sleep, median", idle, 0.5, 1),
		one(LateTail, "lateness of a wake-up after 100 ms of sleep, 99th percentile", idle, 0.99, leastTail),
		one(LateControl, "lateness of a thread that spins on the clock instead of sleeping, median", spun,
			0.5, 1),
	}
	if awake > 0 {
		for i := range out[:2] {
			out[i].Labels.Awake = awake
			out[i].Warnings = append(out[i].Warnings, fmt.Sprintf("others had the CPU in %d of %d pauses, which count", awake,
				of))
		}
	}
	return out
}

func appendSome(rounds [][]float64, x []float64) [][]float64 {
	if len(x) == 0 {
		return rounds
	}
	return append(rounds, x)
}

func (r *wakeRun) whyNone(cpu int) string {
	if why := r.gone[cpu]; why != "" {
		return why
	}
	return "no round was completed in the time allowed"
}

func (t wakeTarget) measurement(kind result.Kind, which, unit, kernel, title string) result.Measurement {
	l := result.Labels{CPU: new(t.CPU), Class: t.Class, Kernel: kernel}
	if t.Socket >= 0 {
		l.Socket = new(t.Socket)
	}
	return blank(kind, which, title, unit, l)
}

// name tells a target's measurements from those of others.
func (t wakeTarget) name() string { return fmt.Sprintf(".cpu%d", t.CPU) }
