package experiment

import (
	"cmp"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Tests returns how many intervals the study's alpha is shared among at each look:
// one for each primary contrast in each primary response.
func (s *Study) Tests() int {
	contrasts, responses := 0, 0
	for _, c := range s.Contrasts {
		if c.Primary {
			contrasts++
		}
	}
	for _, r := range s.Responses {
		if r.Primary {
			responses++
		}
	}
	return contrasts * responses
}

// MinBlocks returns the fewest blocks that can give an interval at each of some
// looks.
func (s *Study) MinBlocks(looks []int) []int {
	least := make([]int, len(looks))
	for i, alpha := range s.Alphas(looks) {
		least[i] = 2 // in a split plot the paired t serves below what the signed ranks need
		if s.Design.Kind != result.SplitPlot {
			least[i] = stats.MinBlocks(alpha)
		}
	}
	return least
}

// dropLooks leaves out the first looks that can give no interval.
func (s *Study) dropLooks() {
	for len(s.Design.Looks) > 1 && s.Design.Looks[0] < s.MinBlocks(s.Design.Looks)[0] {
		s.Design.Looks = s.Design.Looks[1:]
	}
}

// Alphas returns the alpha of each primary interval at each of some looks.
func (s *Study) Alphas(looks []int) []float64 {
	return stats.LookAlphas(stats.Simultaneous(s.Design.Alpha, s.Tests(), 1), looks, s.Design.Kind == result.SplitPlot)
}

func (p *parser) designAt(key string) place { return p.at("design", 0, key) }

func (p *parser) design() {
	d, f := &p.s.Design, &p.f.Design
	d.Kind = result.RCBD
	whole := slices.IndexFunc(p.s.Factors, func(x Factor) bool { return x.Change.WholePlot() })
	switch {
	case p.live() || f.Kind == result.Switchback:
		d.Kind = result.Switchback
	case whole >= 0:
		d.Kind = result.SplitPlot
	}
	if d.Kind == result.RCBD {
		d.Dwell = dwell
	}
	if kind := cmp.Or(f.Kind, d.Kind); kind != d.Kind {
		if p.live() {
			p.add(p.designAt("kind"),
				"kind = %q, but workload %s watches a service that others use, which takes a switchback; take kind out",
				kind, p.desc.Name)
		} else if whole >= 0 {
			p.add(p.designAt("kind"),
				"kind = %q, but factor %s has change = %q, which makes it a split plot: runs of one boot are not "+
					"independent; take kind out",
				kind, p.s.Factors[whole].Name, p.s.Factors[whole].Change)
		} else if len(p.s.Factors) > 0 {
			p.add(p.designAt("kind"), "kind = %q, but no factor needs a reboot or a person; take kind out", kind)
		}
	}
	d.Repeats = 1
	if d.Kind == result.SplitPlot {
		d.Repeats = or(f.Repeats, defaultRepeats)
	} else if r := or(f.Repeats, 1); r != 1 {
		p.add(p.designAt("repeats"),
			"repeats = %d: they serve split plots only; more blocks tell more than more runs in a block: "+
				"raise looks", r)
	}
	if d.Kind == result.Switchback {
		p.switchback()
	} else if f.Load != "" {
		p.add(p.designAt("load"), "load belongs to a switchback; take it out")
	}
	p.looks()
	p.adjust()
	p.runs()
}

// movers are the settings that change how much CPU time others take: the clock, idle states and
// the number of CPUs, and those whose kernel threads are such others.
var movers = []string{"platform_profile", "governor", "epp", "epb", "boost", "max_perf_pct", "min_perf_pct", "max_freq",
	"min_freq",
	"cstate_latency", "pm_qos_resume_latency_us", "cpu_dma_latency", "cpu_online", "smt", "thp", "thp_defrag", "ksm"}

// adjust refuses to take out what is an effect of the level itself.
func (p *parser) adjust() {
	p.s.Design.Adjust = p.f.Design.Adjust
	if !p.s.Design.Adjust || len(p.s.Factors) == 0 {
		return
	}
	if p.s.Design.Kind != result.RCBD || len(p.s.Factors) > 1 {
		p.add(p.designAt("adjust"), "adjust = true serves one factor in complete blocks; take it out")
	}
	for _, x := range p.s.Factors {
		if x.Kind == KindEmulated || slices.Contains(movers, x.Setting) {
			p.add(p.designAt("adjust"),
				"adjust = true, but factor %s changes how much CPU time others take: that is part of its effect; "+
					"take adjust out", x.Name)
		}
	}
}

func (p *parser) looks() {
	d := &p.s.Design
	if b := p.over.Blocks; b > 0 {
		d.Looks = []int{b} // below MinBlocks too: a rehearsal gets a warning, no refusal
		return
	}
	given, at := p.f.Design.Looks, p.designAt("looks")
	if len(given) == 0 {
		switch d.Kind {
		case result.SplitPlot:
			d.Looks = slices.Clone(defaultPlotLooks)
		case result.Switchback:
			d.Looks = slices.Clone(defaultPairLooks)
		default:
			d.Looks = slices.Clone(defaultLooks)
		}
		p.s.dropLooks()
		return
	}
	rising := true
	for i, l := range given {
		if i > 0 && l <= given[i-1] {
			p.add(at, "looks have to rise: %d after %d", l, given[i-1])
			rising = false
		}
		d.Looks = append(d.Looks, l)
	}
	if !rising || len(p.s.Contrasts) == 0 || len(p.s.Responses) == 0 {
		return
	}
	for i, least := range p.s.MinBlocks(d.Looks) {
		if l := given[i]; l < least {
			p.add(at, "a look at %d %ss cannot decide: with %s and %s at alpha %v it takes %d; raise it or take it out",
				l, p.s.Design.Block(), screen.Count(p.s.Tests(), "primary comparison"), screen.Count(len(given), "look"),
				d.Alpha, least)
		}
	}
}

// cells refuses designs that nobody meant, before anything is expanded for them.
func (p *parser) cells() bool {
	cells, sizes := 1, []string{}
	for _, x := range p.s.Factors {
		cells = min(cells*max(1, len(x.Levels)), 1<<40)
		sizes = append(sizes, screen.Count(len(x.Levels), "level")+" of "+x.Name)
	}
	if cells > maxCells {
		if len(sizes) > 4 {
			sizes = []string{screen.Count(len(sizes), "factor")}
		}
		p.add(p.whole(), "too many cells: %s make %d, and a block has at most %d; drop factors or levels",
			strings.Join(sizes, " x "), cells, maxCells)
		return false
	}
	return true
}

// runs refuses plans that are too long.
func (p *parser) runs() {
	d := p.s.Design
	if len(p.list) > 0 || len(d.Looks) == 0 {
		return
	}
	if runs := p.s.RunsPerBlock() * d.Looks[len(d.Looks)-1]; runs > maxRuns {
		p.add(p.designAt("looks"), "too many runs: %d in all, and at most %d are planned", runs, maxRuns)
	}
}

// wholePlot reports whether a factor holds for a whole plot.
func wholePlot(f Factor) bool { return f.Change.WholePlot() }

func combinations(fs []Factor) int {
	n := 1
	for _, f := range fs {
		n *= max(1, len(f.Levels))
	}
	return n
}

// PlotsPerBlock returns the boots of a superblock, 1 for complete blocks.
func (s *Study) PlotsPerBlock() int {
	if s.Design.Kind != result.SplitPlot {
		return 1
	}
	return combinations(slices.DeleteFunc(slices.Clone(s.Factors), func(f Factor) bool { return !wholePlot(f) }))
}

// RunsPerBlock returns the runs of a block.
func (s *Study) RunsPerBlock() int {
	return combinations(s.Factors) * max(1, s.Design.Repeats)
}
