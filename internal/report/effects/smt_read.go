package effects

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/analysis/smt"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// newSMT reads the cells of a record of the workload scanlock: one factor has the
// level "none" and levels such as "scan-half-l2@sibling", what runs beside the lock
// thread and where.
func newSMT(a *analysis.Analysis, runs []result.Run) extra {
	x := a.Experiment
	s := &smtSection{x: x, absent: map[string]string{}}
	rounds, ok := smt.Read(x, runs)
	in, _ := smt.FromRuns(x, runs)
	switch {
	case !ok:
		s.judged = smt.Verdict{Decision: smt.Inconclusive, Obstacle: smt.NotInStudy, Reason: `No verdict: the record has no level "none", the lock thread alone, to compare with.`}
		return s
	case len(runs) == 0:
		s.judged = smt.Verdict{Decision: smt.Inconclusive, Obstacle: smt.FewRounds, Reason: "No verdict yet: no block is complete."}
	default:
		in.Void = voided(a)
		s.judged = smt.Judge(in)
	}
	alpha := cmp.Or(in.Alpha, analysis.NominalAlpha)
	for i := range x.Responses {
		switch r := &x.Responses[i]; r.Name {
		case smt.LockRate:
			s.lockRate = r
		case "other_rate":
			s.scanRate = r
		}
	}
	if s.lockRate == nil || len(x.Factors) == 0 {
		return s
	}
	for _, absent := range x.Absent {
		if _, _, place, ok := smtLevel(absent.Level); ok && s.absent[place] == "" && absent.Factor == rounds.Factor.Name {
			s.absent[place] = absent.Reason
		}
	}
	for name, text := range x.Context {
		if title, ok := smtCaches[name]; ok && smt.Size(text) > 0 {
			s.caches = append(s.caches, smtCache{title, smt.Size(text)})
		}
	}
	slices.SortFunc(s.caches, func(a, b smtCache) int { return cmp.Or(cmp.Compare(a.bytes, b.bytes), cmp.Compare(a.name, b.name)) })
	s.readCells(rounds, alpha)
	return s
}

// voided is why the analysis is void for the verdict, by the A/A of the lock rate, of
// which the verdict is made, or of what the study decides by; "" where it is not.
func voided(a *analysis.Analysis) string {
	for i := range a.AA {
		if aa := &a.AA[i]; aa.Void && (aa.Response.Primary || aa.Response.Name == smt.LockRate) {
			return cmp.Or(aa.Reason, "The baseline differs from its own hidden duplicate.")
		}
	}
	return ""
}

// smtCaches are the sizes in a record's context that the sweep marks.
var smtCaches = map[string]string{"l1": "L1", "l1d": "L1", "l2": "L2", "llc": "LLC"}

// smtLevel takes a level apart: "scan-half-l2@sibling" is a scan of half of L2 on the
// sibling.
func smtLevel(level string) (antagonist, size, place string, ok bool) {
	what, place, ok := strings.Cut(level, "@")
	antagonist, size, _ = strings.Cut(what, "-")
	return antagonist, size, place, ok
}

// readCells makes a cell of every level, with what each response was.
func (s *smtSection) readCells(rounds *smt.Rounds, alpha float64) {
	x := s.x
	read := func(level string) smtCell {
		c := smtCell{medians: map[string]float64{}, marked: rounds.Marked(level)}
		for i := range x.Responses {
			r := &x.Responses[i]
			if v := slices.DeleteFunc(rounds.Means(level, r, false), math.IsNaN); len(v) > 0 {
				c.medians[r.Name] = stats.Median(v)
				if r.Compare != result.Difference {
					c.medians[r.Name] = math.Exp(c.medians[r.Name])
				}
			}
		}
		return c
	}
	s.alone = read(smt.Alone)
	alone := rounds.Logs(smt.Alone, smt.LockRate, false)
	for _, level := range rounds.Factor.Levels {
		antagonist, size, place, ok := smtLevel(level)
		if !ok && level != rotation {
			continue
		}
		c := read(level)
		if level == rotation {
			c.antagonist, c.place, c.size = "scan", rotation, smt.Size(x.Context["scan"])
			c.ratio = smt.Ratio(rounds.Logs(level, smt.LockRate, false), alone, alpha)
			s.rotating = &c
			continue
		}
		c.antagonist, c.place, c.sizeName = antagonist, place, size
		c.main = antagonist == "scan" && (size == "" || size == "2xl2" && !slices.Contains(rounds.Factor.Levels, "scan@"+place))
		if antagonist == "scan" {
			key := "scan"
			if size != "" {
				key += "_" + strings.ReplaceAll(size, "-", "_")
			}
			c.size = smt.Size(x.Context[key])
		}
		c.ratio = smt.Ratio(rounds.Logs(level, smt.LockRate, false), alone, alpha)
		s.cells = append(s.cells, c)
	}
	for _, t := range smtTitles {
		for _, r := range x.Responses {
			if r.Name == t.name {
				r.Title = t.title
				s.others = append(s.others, r)
			}
		}
	}
	s.rotation = smt.Estimate(rounds.Logs(rotation, "seed_share", false), alpha)
	slices.SortStableFunc(s.cells, func(a, b smtCell) int {
		return cmp.Or(cmp.Compare(antagonistRank(a.antagonist), antagonistRank(b.antagonist)), cmp.Compare(a.size, b.size))
	})
}

// antagonistRank puts what scans first, and what only shares issue slots behind it.
func antagonistRank(name string) int {
	order := []string{"scan", "alu", "fma", "pause", "own", "lock"}
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	return len(order)
}
