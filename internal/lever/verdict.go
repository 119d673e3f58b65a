package lever

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/result"
)

// VerdictLine answers in one or two plain sentences: is the platform costing
// us, what exactly, and what should be changed first?
func VerdictLine(role check.Role, levers []Lever) string {
	by := map[Verdict][]Lever{}
	for _, l := range levers {
		by[l.Verdict] = append(by[l.Verdict], l)
	}
	// In the table's order, not by bound: bounds are shares of different things.
	worth, whom := by[Worthwhile], roleWords[role]
	switch {
	case len(worth) > 0:
		first := worth[0]
		s := fmt.Sprintf("Yes, this platform measurably costs a %s something: %s (%s).", whom, first.Summary, Figure(first.Measurement))
		if more := titles(worth[1:]); more != "" {
			return s + fmt.Sprintf(" Start with the %s; also worthwhile: %s.", lowerFirst(first.Title), more)
		}
		return s + fmt.Sprintf(" Start with the %s.", lowerFirst(first.Title))
	case len(by[NotForRole]) > 0 && role == check.Development && powerOnly(by[NotForRole]):
		return "The power policy measurably costs short bursts of work, and for a development system that is the better bargain: it saves energy. " +
			orElse(by[Recommended], "Change nothing.")
	case len(by[Recommended]) > 0:
		s := "No cost beyond noise was measured in this run"
		if n := len(by[NoEffect]); n == 0 {
			s = "No cost could be established in this run"
		}
		return s + ", but settings differ from what sources recommend for a " + whom + ". " + orElse(by[Recommended], "")
	case len(by[Unresolved]) > 0:
		return fmt.Sprintf("This run cannot tell whether the platform costs a %s anything: not decided is %s. Nothing needs changing yet; %s.",
			whom, titles(by[Unresolved]), lowerFirst(firstNext(by[Unresolved])))
	case len(by[NoEffect])+len(by[Settled]) > 0:
		return fmt.Sprintf("No: as far as it could be measured and checked, this platform costs a %s nothing that matters. Change nothing.", whom)
	default:
		return "This host shows too little to tell: nothing could be measured and no check could look. Try again with more privileges, or on the machine underneath."
	}
}

// roleWords are the roles in a sentence.
var roleWords = map[check.Role]string{
	check.ProductionDB:  "production database server",
	check.ProductionApp: "production application server",
	check.Development:   "development system",
}

// titles lists levers in a sentence.
func titles(levers []Lever) string {
	var out []string
	for _, l := range levers {
		out = append(out, lowerFirst(l.Title))
	}
	return strings.Join(out, ", ")
}

func powerOnly(levers []Lever) bool {
	return slices.ContainsFunc(levers, func(l Lever) bool {
		return (l.Name == check.LeverFrequency || l.Name == check.LeverIdle) && l.Evidence == result.Measured
	})
}

// orElse says where to start among recommended levers.
func orElse(recommended []Lever, other string) string {
	if len(recommended) == 0 {
		return other
	}
	l := slices.MaxFunc(recommended, func(a, b Lever) int { return cmp.Compare(a.worst, b.worst) }) // the first of equals
	return sentence(fmt.Sprintf("look at the %s first: %s", lowerFirst(l.Title), l.Summary))
}

// firstNext says how to get an answer.
func firstNext(levers []Lever) string {
	for _, l := range levers {
		if strings.HasPrefix(l.Next, "hostlab assess") {
			return "assess again while the host is quieter"
		}
	}
	return "the levers below say how to find out"
}
