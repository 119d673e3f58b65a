package predict

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hostlab/internal/model"
)

// Sentence is the answer in a sentence or two: what the first policy would cost
// this workload, and from which load on it does not matter.
func (a *Answer) Sentence() string {
	c := a.Comparisons[0]
	p := a.Policies[0]
	rows := rowsOf(c, p)
	base := a.Baseline.Name
	who := p.Title + " (" + p.String() + ")"
	if len(rows) == 0 {
		return who + " is the baseline itself."
	}
	if len(rows) == 2 {
		low, high := rows[1].Ratio[model.StepTime], rows[0].Ratio[model.StepTime]
		if high.N == 0 {
			return fmt.Sprintf("%s can only be bounded, since the hardware chooses: at its lowest frequency it cannot carry this workload%s, and at its highest the workload would take %s the step time, against %s.",
				who, at(c), times(low), base)
		}
		return fmt.Sprintf("%s can only be bounded, since the hardware chooses: this workload would take between %s and %s the step time%s, against %s.",
			who, times(low), times(high), at(c), base)
	}
	r := rows[0]
	if len(r.Responses) == 0 {
		return fmt.Sprintf("%s cannot carry this workload%s: its queue would grow without end.", who, at(c))
	}
	step, cpu := r.Ratio[model.StepTime], r.Ratio[Headline]
	out := fmt.Sprintf("%s would cost this workload %s step time %s and %s CPU seconds %s%s, against %s (simulated, n = %d)",
		who, times(step), interval(step), times(cpu), interval(cpu), at(c), base, step.N)
	if cpu.Low <= 1.02 && cpu.High >= 0.98 && step.Low <= 1.02 && step.High >= 0.98 {
		out = fmt.Sprintf("%s would cost this workload next to nothing%s: %s step time %s and %s CPU seconds %s, against %s (simulated, n = %d)",
			who, at(c), times(step), interval(step), times(cpu), interval(cpu), base, step.N)
	}
	for _, v := range a.Vanishing {
		if v.Policy == p.String() {
			return out + "; " + a.vanishes(v) + "."
		}
	}
	return out + "."
}

// vanishes says where an effect ends. The load at which it does lies between the
// last one at which the interval is above the limit, and the first from which on all
// that were tried have it below.
func (a *Answer) vanishes(v model.Vanishing) string {
	limit := fmt.Sprintf("%.0f %%", (Limit-1)*100)
	last := math.NaN() // the highest load at which there is an effect
	for _, p := range v.Points {
		if p.Ratio.N > 0 && p.Ratio.Low > Limit && !(p.Load <= last) && !(v.Found && p.Load >= v.Load) {
			last = p.Load
		}
	}
	switch {
	case v.Everywhere:
		return "the effect on CPU seconds is below " + limit + " at every load tried"
	case v.Found:
		out := fmt.Sprintf("the effect on CPU seconds is surely below %s from %s load on", limit, percent(v.Load))
		if !math.IsNaN(last) {
			out += fmt.Sprintf(", and surely above it up to %s", percent(last))
		}
		return out
	}
	carried := math.NaN()
	try := func(load float64, e model.Estimate) {
		if e.N > 0 && e.High >= Limit && !(load <= carried) {
			carried = load
		}
	}
	for _, p := range v.Points {
		try(p.Load, p.Ratio)
	}
	for _, c := range a.Comparisons {
		for _, r := range c.Rows {
			if r.Policy == v.Policy {
				try(c.Baseline.Load, r.Ratio[Headline])
			}
		}
	}
	if math.IsNaN(carried) {
		return "it carries no load that was tried"
	}
	return "the effect does not vanish up to " + percent(carried) + " load, the highest that was tried and that it carries"
}

// depends names what the answer depends on most.
func (a *Answer) depends() string {
	if len(a.Sensitivity) == 0 {
		return ""
	}
	i := a.Sensitivity[0]
	if i.Range < 0.01 {
		return "None of the unknown parameters moves the answer by more than 0.01."
	}
	var parts []string
	for _, s := range i.Settings {
		parts = append(parts, settingText(s)+" at "+s.Value)
	}
	subject := "It"
	if p := a.focus(); p.Name != a.Policies[0].Name {
		subject = "The answer for " + p.String()
	}
	return fmt.Sprintf("%s depends most on %s (%s): CPU seconds %s.", subject, i.Parameter, i.Source, strings.Join(parts, ", "))
}

func settingText(s model.Setting) string {
	if s.Ratio.N == 0 {
		return "no ratio"
	}
	return times(s.Ratio)
}

// at names the load of a comparison; closed workloads have none.
func at(c model.Comparison) string {
	if math.IsNaN(c.Baseline.Load) {
		return ""
	}
	return " at " + percent(c.Baseline.Load) + " load"
}

// rowsOf are a policy's rows: none for the baseline, two where it is bounded.
func rowsOf(c model.Comparison, p model.Policy) (out []model.Row) {
	for _, r := range c.Rows {
		if r.Policy == p.String() {
			out = append(out, r)
		}
	}
	return out
}

// label names a row; a bounded policy's two rows differ by the end.
func label(r model.Row) string {
	switch r.Bound {
	case model.AtLowestHertz:
		return r.Policy + " lowest"
	case model.AtTopHertz:
		return r.Policy + " highest"
	}
	return r.Policy
}

// percent writes a share with a tenth of a per cent, or with as many digits as it
// needs to differ from nothing and from all.
func percent(share float64) string {
	digits := 1
	if edge := min(share, 1-share); edge > 0 && edge < 0.0005 {
		digits = int(math.Ceil(-math.Log10(edge))) - 1
	}
	text := strconv.FormatFloat(share*100, 'f', min(digits, 12), 64)
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

func times(e model.Estimate) string {
	if e.N == 0 || math.IsNaN(e.Mean) {
		return "unknown"
	}
	return strconv.FormatFloat(e.Mean, 'f', 2, 64) + "x"
}

// interval is that of a ratio; one of no width comes from a policy that treats all
// work alike.
func interval(e model.Estimate) string {
	if math.IsNaN(e.Low) || e.N == 0 {
		return "[no interval]"
	}
	return fmt.Sprintf("[%.2f, %.2f]", e.Low, e.High)
}

// plusMinus is a ratio with half of its interval's width.
func plusMinus(e model.Estimate) string {
	if e.N == 0 || math.IsNaN(e.Mean) {
		return "-"
	}
	return fmt.Sprintf("%.2f+-%.2f", e.Mean, (e.High-e.Low)/2)
}

// reason is why a row has no figures.
func reason(r model.Row) string {
	for _, w := range r.Warnings {
		if i := strings.Index(w, ": the queue"); i > 0 {
			return "cannot carry it: " + w[:i]
		}
	}
	return "cannot carry it: " + first(r.Warnings, "no figures")
}
