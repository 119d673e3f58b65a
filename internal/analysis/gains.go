package analysis

import (
	"cmp"
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Gain is what one level of a factor takes off the time of a job against another.
type Gain struct {
	Factor, From, To string // To is the faster level by estimate, if any is
	At               string // levels of the other factors, or "all runs"
	Response         string // that is a time
	// of the time at From; N are blocks; of 95 %, or more where the experiment has more to decide
	Share result.Estimate
	Least int // blocks that an interval takes, and the verdicts of the experiment too
}

// Decided reports whether a gain has a finite interval.
func (g *Gain) Decided() bool {
	return g.Share.N > 0 && !math.IsInf(g.Share.Low-g.Share.High, 0) && g.Share.Contains(g.Share.Value)
}

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
				p.Gain.Evidence = result.Measured
				if s.emulated(p.To) || s.emulated(p.From) {
					p.Gain.Evidence = result.Emulated
				}
				out = append(out, Gain{Factor: s.Factor.Name, From: p.From, To: p.To, At: row.Name,
					Response: s.Duration.Name, Share: p.Gain, Least: max(least, stats.MinBlocks(NominalAlpha))})
			}
		}
		return out
	}
	for _, e := range a.Effects {
		f := x.Factor(e.Contrast.Factors[0])
		if len(e.Contrast.Factors) > 1 || f == nil || e.Response.Unit != "s" || e.Response.Compare != result.Ratio {
			continue
		}
		g := Gain{Factor: f.Name, From: f.Baseline, To: e.Contrast.Levels[0], Share: e.Negated(),
			At: cmp.Or(result.LevelsText(x.Factors, e.Contrast.At), allRuns), Response: e.Response.Name,
			Least: max(least, stats.MinBlocks(e.Alpha))}
		if e.Value > 0 { // the baseline is the faster one: seen from the other
			g.From, g.To, g.Share = g.To, g.From, e.Map(func(v float64) float64 { return v / (1 + v) })
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
