package analysis

import (
	"math"
	"slices"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Gain is what one level of a factor takes off the time of a job against another.
type Gain struct {
	Factor, From, To string         // To is the faster level by estimate, if any is
	At               string         // levels of the other factors, or "all runs"
	Response         string         // that is a time
	Share            stats.Interval // of the time at From; N are blocks; of 95 %, or more where the experiment has more to decide
	Evidence         result.Evidence
	Least            int // blocks that an interval takes, and the verdicts of the experiment too
}

// Decided reports whether a gain has an interval.
func (g *Gain) Decided() bool { return finite(g.Share) }

// Gains are those of an experiment's times, of each level against its baseline, in the
// order of the record. An experiment of log devices has them for each size, others
// for each contrast of the study with one factor. Too few blocks give no interval: see
// Gain.Decided.
func (a *Analysis) Gains() (out []Gain) {
	x, least := a.Experiment, a.least()
	if x.Section == "log" {
		s := NewLogDevice(x, a.Counted())
		for _, row := range s.Rows {
			for _, p := range row.Pairs {
				if p.From != s.Factor.Baseline {
					continue
				}
				g := Gain{Factor: s.Factor.Name, From: p.From, To: p.To, At: row.Name,
					Response: s.Duration.Name, Share: p.Gain, Evidence: result.Measured, Least: max(least, stats.MinBlocks(NominalAlpha))}
				if s.Emulated(p.To) || s.Emulated(p.From) {
					g.Evidence = result.Emulated
				}
				out = append(out, g)
			}
		}
		return out
	}
	for _, e := range a.Effects {
		f := slices.IndexFunc(x.Factors, func(f result.Factor) bool { return f.Name == e.Contrast.Factors[0] })
		iv := stats.Interval{Estimate: e.Value, Low: e.Low, High: e.High, N: e.N}
		if len(e.Contrast.Factors) > 1 || f < 0 || e.Response.Unit != "s" || e.Response.Compare != result.Ratio || e.Verdict == VoidVerdict {
			continue
		}
		g := Gain{Factor: x.Factors[f].Name, From: x.Factors[f].Baseline, To: e.Contrast.Levels[0],
			At: levelsAt(x, e.Contrast), Response: e.Response.Name, Evidence: e.Evidence, Share: negated(iv), Least: max(least, stats.MinBlocks(e.Alpha))}
		if iv.Estimate > 0 { // the baseline is the faster one: seen from the other
			g.From, g.To = g.To, g.From
			off := func(change float64) float64 { return change / (1 + change) }
			g.Share = stats.Interval{Estimate: off(iv.Estimate), Low: off(iv.Low), High: off(iv.High), N: iv.N}
		}
		out = append(out, g)
	}
	return out
}

// least is how many blocks the primary effects without an interval take: what the report
// advises, so that a repeated experiment gives a verdict besides a gain.
func (a *Analysis) least() (n int) {
	for i := range a.Effects {
		if e := &a.Effects[i]; e.Primary() && (math.IsNaN(e.Low) || math.IsNaN(e.High)) {
			n = max(n, e.Need)
		}
	}
	return n
}

func finite(iv stats.Interval) bool {
	for _, v := range []float64{iv.Estimate, iv.Low, iv.High} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return iv.N > 0
}

// levelsAt are the levels at which a contrast holds other factors.
func levelsAt(x *result.Experiment, c result.Contrast) (text string) {
	for _, f := range x.Factors {
		if l, ok := c.At[f.Name]; ok {
			if text != "" {
				text += ", "
			}
			text += f.Name + " " + l
		}
	}
	if text == "" {
		return "all runs"
	}
	return text
}
