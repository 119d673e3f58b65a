package effects

import (
	"cmp"
	"maps"
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
func newSMT(a *analysis.Analysis, runs []result.Run) *smtSection {
	x := a.Experiment
	s := &smtSection{Name: "smt", x: x, absent: map[string]string{}, Caches: map[string]int64{}, Cited: []smt.Citation{smt.Cited}}
	rounds, ok := smt.Read(x, runs)
	in, _ := smt.FromRuns(x, runs)
	switch {
	case !ok:
		s.Verdict = smt.Verdict{Decision: smt.Inconclusive, Obstacle: smt.NotInStudy,
			Reason: `No verdict: the record has no level "none", the lock thread alone, to compare with.`}
	case len(runs) == 0:
		s.Verdict = smt.Verdict{Decision: smt.Inconclusive, Obstacle: smt.FewRounds, Reason: "No verdict yet: no block is complete."}
	default:
		s.Verdict = smt.Judge(in)
	}
	if ok {
		s.read(rounds, cmp.Or(in.Alpha, analysis.NominalAlpha))
	}
	s.Advice = s.advice()
	return s
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

// read makes a cell of every level, with what each response was, and what the machine has.
func (s *smtSection) read(rounds *smt.Rounds, alpha float64) {
	x := s.x
	for i := range x.Responses {
		switch r := &x.Responses[i]; r.Name {
		case smt.LockRate:
			s.lockRate = r
		case "other_rate":
			s.scanRate = r
		}
	}
	if s.lockRate == nil {
		return
	}
	for _, absent := range x.Absent {
		if _, _, place, ok := smtLevel(absent.Level); ok && s.absent[place] == "" && absent.Factor == rounds.Factor.Name {
			s.absent[place] = absent.Reason
		}
	}
	for _, name := range slices.Sorted(maps.Keys(smtCaches)) {
		if bytes := smt.Size(x.Context[name]); bytes > 0 {
			s.Caches[smtCaches[name]] = bytes
		}
	}
	read := func(level string) smtCell {
		c := smtCell{Medians: map[string]float64{}, Marked: rounds.Marked(level)}
		for i := range x.Responses {
			r := &x.Responses[i]
			if v := slices.DeleteFunc(rounds.Means(level, r), math.IsNaN); len(v) > 0 {
				c.Medians[r.Name] = stats.Median(v)
				if r.Compare != result.Difference {
					c.Medians[r.Name] = math.Exp(c.Medians[r.Name])
				}
			}
		}
		return c
	}
	s.Alone = read(smt.Alone)
	alone := rounds.Logs(smt.Alone, smt.LockRate)
	for _, level := range rounds.Factor.Levels {
		antagonist, size, place, ok := smtLevel(level)
		if !ok && level != rotation {
			continue
		}
		c := read(level)
		if level == rotation {
			c.Antagonist, c.Place, c.Size = "scan", rotation, smt.Size(x.Context["scan"])
			c.Ratio = smt.Ratio(rounds.Logs(level, smt.LockRate), alone, alpha)
			s.Rotating = &c
			continue
		}
		c.Antagonist, c.Place, c.sizeName = antagonist, place, size
		c.main = antagonist == "scan" && (size == "" || size == "2xl2" && !slices.Contains(rounds.Factor.Levels, "scan@"+place))
		if antagonist == "scan" {
			key := "scan"
			if size != "" {
				key += "_" + strings.ReplaceAll(size, "-", "_")
			}
			c.Size = smt.Size(x.Context[key])
		}
		c.Ratio = smt.Ratio(rounds.Logs(level, smt.LockRate), alone, alpha)
		s.Cells = append(s.Cells, c)
	}
	for _, t := range smtTitles {
		for _, r := range x.Responses {
			if r.Name == t.name {
				r.Title = t.title
				s.others = append(s.others, r)
			}
		}
	}
	s.Rotation = smt.Estimate(rounds.Logs(rotation, siblingShare(x)), alpha)
	slices.SortStableFunc(s.Cells, func(a, b smtCell) int {
		return cmp.Or(cmp.Compare(antagonistRank(a.Antagonist), antagonistRank(b.Antagonist)), cmp.Compare(a.Size, b.Size))
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

// siblingShare is the response that has what the scanner's sibling gets; records of the first
// versions have it by another name.
func siblingShare(x *result.Experiment) string {
	if slices.ContainsFunc(x.Responses, func(r result.Response) bool { return r.Name == "seed_share" }) {
		return "seed_share"
	}
	return "sibling_share"
}
