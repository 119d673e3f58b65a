package lever

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/check"
	"hostlab/internal/screen"
)

// verdict is what a headline is made of.
type verdict struct {
	role   check.Role
	drafts []*draft
	worth  []*draft // measured costs that a lever here takes away, the largest first
	loose  []*draft // those that none is known to take away, likewise
}

// mostWords is how many a sentence has at most.
const mostWords = 25

// headline says whether the platform costs something, how much, and what to type first: a sentence each.
func headline(role check.Role, drafts []*draft) string {
	v := &verdict{role: role, drafts: drafts}
	v.worth = v.filter(func(d *draft) bool { return d.reason == Costs })
	v.loose = v.filter(func(d *draft) bool {
		return d.cost && (d.reason.open() || d.reason == Recommended || d.reason == Elsewhere)
	})
	for _, list := range [][]*draft{v.worth, v.loose} {
		slices.SortStableFunc(list, func(a, b *draft) int { return cmp.Compare(b.effect, a.effect) })
	}
	says := append(v.answer(), v.commit()...)
	first := slices.DeleteFunc(v.first(), func(s string) bool { return s == "" })
	if all := strings.Join(first, ": "); len(strings.Fields(all)) <= mostWords {
		first = []string{all}
	}
	return Sentences(append(says[:min(3-len(first), len(says))], first...)...)
}

func (v *verdict) filter(keep func(*draft) bool) (out []*draft) {
	for _, d := range v.drafts {
		if keep(d) {
			out = append(out, d)
		}
	}
	return out
}

func (v *verdict) of(r Reason) []*draft {
	return v.filter(func(d *draft) bool { return d.reason == r })
}

// answer says whether the platform costs something, then how much, or why that is not known.
func (v *verdict) answer() []string {
	whom := v.role.Noun()
	// What nobody here can set is no open question, unless another run may answer it.
	measured := v.filter(func(d *draft) bool {
		return known(d.measurement) && d.reason != OtherRole && (d.reason != Elsewhere || d.disturbed != "")
	})
	effects := v.of(NoEffect)
	power := v.filter(func(d *draft) bool { return d.reason == OtherRole && (d.cost || d.held != "") })
	held := v.filter(func(d *draft) bool { return d.held != "" && d.reason != OtherRole && d.bound.AtMost != nil })
	switch {
	// What a synthetic scan takes from synthetic locks, a workload may never lose.
	case slices.ContainsFunc(v.worth, func(d *draft) bool { return !synthetic(d) }):
		return says("yes, this platform measurably slows a "+whom, slices.Concat(v.worth, v.loose))
	case len(v.worth) > 0:
		return says("this platform could slow a "+whom, slices.Concat(v.worth, v.loose))
	case len(power) > 0:
		return says("yes, the power policy slows short bursts of work, and a "+whom+" should save the energy", power)
	case len(held) > 0: // no ratio of a CPU with itself shows it
		return []string{fmt.Sprintf("this platform could slow a %s: %s", whom, held[0].held),
			fmt.Sprintf("it may cost short bursts up to %s (computed, not measured)", Percent(*held[0].bound.AtMost))}
	case len(v.loose) > 0 && !slices.ContainsFunc(v.loose, func(d *draft) bool { return d.reason != Elsewhere }):
		return says("a cost was measured that no setting of this host removes", v.loose)
	case len(v.loose) > 0:
		return says("a cost was measured; its cause is not known", v.loose)
	case len(effects) > 0 && len(effects) == len(measured):
		out := []string{"no cost was found in what was measured: " + names(effects)}
		if len(v.of(Recommended)) == 0 {
			out = append(out, "no check found anything to change")
		}
		return out
	}
	if len(measured) == 0 {
		measured = v.filter(func(d *draft) bool { return known(d.measurement) && d.reason == Elsewhere })
	}
	out := []string{"inconclusive: no platform cost was shown or excluded", v.why(measured)}
	var blind []string
	for _, d := range v.drafts {
		blind = append(blind, d.blind...)
	}
	if len(measured) == 0 && len(blind) > 0 {
		out[1] += "; " + screen.Plural(len(blind), "check", "checks") + " could not look, as " + blind[0]
	}
	return out
}

// why says why the measurements decide nothing.
func (v *verdict) why(measured []*draft) string {
	if len(measured) == 0 {
		return "nothing was measured"
	}
	if slices.ContainsFunc(measured, func(d *draft) bool { return d.disturbed != "" }) {
		return sentences[Spoilt]
	}
	for _, d := range measured {
		if s := sentences[cmp.Or(d.doubt, d.reason)]; s != "" {
			return s
		}
	}
	return "the measurements are too uncertain"
}

// commit is the time of a commit: what it costs a job only the job's log waits
// say, but it belongs to the answer.
func (v *verdict) commit() []string {
	for _, d := range v.drafts {
		if d.name == Log && d.says != "" {
			return []string{d.says}
		}
	}
	return nil
}

// longest is how many characters of a command fit into a sentence.
const longest = 90

// first says what to change first: the largest measured effect, else the worst
// finding, else how to get an answer.
func (v *verdict) first() []string {
	recommended := v.of(Recommended)
	switch {
	case len(v.worth) > 0:
		return []string{Step("first: ", v.worth[0].next)}
	case len(recommended) > 0: // the first of equals
		d := slices.MaxFunc(recommended, func(a, b *draft) int { return cmp.Compare(a.todo[0].Severity, b.todo[0].Severity) })
		f := d.todo[0]
		return []string{fmt.Sprintf("first change %s, %s; its gain was not measured", f.ID, lowerFirst(f.Title)),
			Step("", remedy(d.todo))}
	case len(v.of(OtherRole)) > 0 && v.role == check.Development:
		return []string{"change nothing"}
	case len(v.loose) > 0:
		return []string{Step("first: ", v.loose[0].next)}
	case len(v.filter(func(d *draft) bool { return d.disturbed != "" })) > 0:
		return []string{"change nothing yet: assess again on a quieter host"}
	case len(v.filter(func(d *draft) bool { return d.reason.open() })) > 0:
		return []string{"change nothing yet: the levers below say how to decide"}
	case len(v.of(NoEffect)) > 0 || len(v.of(Settled)) > 0:
		return []string{"change nothing"}
	}
	return []string{"this run recommends no change"}
}

// Step puts a lever's next step into a sentence; "" where it has none.
func Step(lead string, next Next) string {
	switch {
	case next.Command == "" && next.Note == "":
		return ""
	case next.Command == "":
		return lead + next.Note
	case strings.Contains(next.Command, "\n") || utf8.RuneCountInString(next.Command) > longest:
		return lead + `see "` + nextTitle + `"`
	}
	return lead + `run "` + next.Command + `"`
}

// synthetic levers are measured with work that no database does as such.
func synthetic(d *draft) bool { return d.name == SMT || d.name == Degree }

// says follows an answer by what was measured of the first lever, or else what holds the clock down.
func says(answer string, levers []*draft) []string {
	for _, d := range levers {
		if s := cmp.Or(d.says, d.held); s != "" {
			return []string{answer, s}
		}
	}
	return []string{answer}
}

// names lists levers in a sentence.
func names(drafts []*draft) string {
	var out []string
	for _, d := range drafts {
		out = append(out, Title(d.name))
	}
	return strings.Join(out, ", ")
}

// Sentences makes sentences of clauses that are not empty.
func Sentences(clauses ...string) string {
	var out []string
	for _, c := range clauses {
		if c != "" {
			out = append(out, Sentence(c))
		}
	}
	return strings.Join(out, " ")
}
