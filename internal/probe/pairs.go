package probe

import (
	"fmt"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

// nearest lists relations, those first of which a reader has to know.
var nearest = []Relation{Siblings, TimeShared, UnknownPair, Separate}

// Between says in one line whether some CPUs share a core with others, by what the probe of pairs found. "No" takes all
// pairs of them.
func Between(out Outcome, topo *host.Topology, some, others []int) string {
	if out.Skipped != "" {
		return "Shared core: not measured, " + out.Skipped + "."
	}
	var joined []PairResult
	for _, p := range out.Pairs {
		if slices.Contains(some, p.A) && slices.Contains(others, p.B) ||
			slices.Contains(some, p.B) && slices.Contains(others, p.A) {
			joined = append(joined, p)
		}
	}
	if len(joined) == 0 {
		return "Shared core: not measured on any of these pairs of CPUs."
	}
	slices.SortStableFunc(joined, func(a, b PairResult) int {
		return slices.Index(nearest, a.Relation) - slices.Index(nearest, b.Relation)
	})
	p, all := joined[0], len(some)*len(others)
	answer := map[Relation]string{Siblings: "yes", Separate: "no",
		TimeShared: "no, but one CPU of the host below runs both in turn"}[p.Relation]
	switch {
	case answer == "":
		answer = "undecided (" + p.Reason + ")"
	case p.Relation == Separate && len(joined) < all:
		answer = fmt.Sprintf("no on the %d of %s that were tried", len(joined), screen.Count(all, "pair"))
	}
	hidden := slices.ContainsFunc(topo.CPUs, func(c host.CPU) bool {
		return (c.ID == p.A || c.ID == p.B) && c.Siblings.State != host.StateOK
	})
	reported := Separate
	switch {
	case p.Reported:
		reported = Siblings
	case hidden:
		reported = UnknownPair
	}
	return fmt.Sprintf(
		"Shared core: %s. CPUs %d and %d: integer work takes %s as long on both as alone; a cache line takes %s; the system "+
			"reports: %s.", answer, p.A, p.B, p.SlowDown.Brief(), p.PingPong.Brief(), reported)
}
