package lever

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"hostlab/internal/check"
)

// The lengths of a verdict, in words.
const (
	mostWords     = 60
	sentenceWords = 25
)

// VerdictLine says whether the platform costs something, then how much, what to type first
// and what was not decided: sentences of at most 25 words, 60 in all. levers come from Join.
func VerdictLine(role check.Role, levers []Lever) string {
	v := &verdict{role: role, levers: levers, by: map[Verdict][]Lever{}}
	for _, l := range levers {
		v.by[l.Verdict] = append(v.by[l.Verdict], l)
		if l.Cost && (l.Verdict == Unresolved || l.Verdict == Recommended || l.Verdict == NotHere) {
			v.loose = append(v.loose, l)
		}
	}
	largest := func(a, b Lever) int { return cmp.Compare(b.effect, a.effect) }
	v.worth = slices.Clone(v.by[Worthwhile])
	slices.SortStableFunc(v.worth, largest)
	slices.SortStableFunc(v.loose, largest)
	return Compose(v.answer(), v.commit(), v.first(), v.open())
}

// Compose joins clauses as sentences of at most 25 words, 60 in all, as far as there is room for
// them: the first two of the answer, then what to type, then the rest.
func Compose(answer, commit, first, open []string) string {
	room := mostWords
	var parts [4][]string
	take := func(part int, sentences ...string) {
		for _, s := range sentences {
			s = Sentence(s)
			if n := len(strings.Fields(s)); n <= min(room, sentenceWords) {
				parts[part], room = append(parts[part], s), room-n
			}
		}
	}
	must := min(2, len(answer))
	take(0, answer[:must]...)
	take(2, first...)
	take(0, answer[must:]...)
	take(1, commit...)
	take(3, open...)
	return strings.Join(slices.Concat(parts[:]...), " ")
}

type verdict struct {
	role   check.Role
	levers []Lever
	by     map[Verdict][]Lever
	worth  []Lever // worthwhile, the largest measured effect first
	loose  []Lever // with a cost that no lever is known to take away, likewise
}

// answer says whether the platform costs something, then how much.
func (v *verdict) answer() []string {
	whom := v.role.Noun()
	// What nobody here can set is no open question, unless another run may answer it.
	measured := v.filter(func(l Lever) bool {
		return known(l.Measurement) && l.Verdict != NotForRole && (l.Verdict != NotHere || l.Disturbed != "")
	})
	effects := v.filter(func(l Lever) bool { return l.Verdict == NoEffect })
	power := v.filter(func(l Lever) bool { return l.Verdict == NotForRole && (l.Cost || l.held != "") })
	held := v.filter(func(l Lever) bool { return l.held != "" && l.Verdict != NotForRole && l.Bound != nil })
	switch {
	// What a synthetic scan takes from synthetic locks, a workload may never lose.
	case slices.ContainsFunc(v.worth, func(l Lever) bool { return !synthetic(l) }):
		return says("Yes, this platform measurably slows a "+whom, append(v.worth, v.loose...))
	case len(v.worth) > 0:
		return says("This platform could slow a "+whom, append(v.worth, v.loose...))
	case len(power) > 0:
		return says("Yes, the power policy slows short bursts of work, and a "+whom+" should save the energy", power)
	case len(held) > 0: // no ratio of a CPU with itself shows it
		most := fmt.Sprintf("It may cost short bursts up to %s (computed, not measured)", Percent(*held[0].Bound))
		return says(fmt.Sprintf("This platform could slow a %s: %s", whom, held[0].held), v.loose, most)
	case len(v.loose) > 0 && len(v.loose) == len(v.filter(func(l Lever) bool { return l.Cost && l.Verdict == NotHere })):
		return says("A cost was measured that no setting of this host removes", v.loose)
	case len(v.loose) > 0:
		return says("A cost was measured; its cause is not known", v.loose)
	case len(effects) > 0 && len(effects) == len(measured):
		out := []string{"No cost was found in what was measured: " + titles(effects)}
		if len(v.by[Recommended]) == 0 {
			out = append(out, "No check found anything to change")
		}
		return out
	}
	if len(measured) == 0 {
		measured = v.filter(func(l Lever) bool { return known(l.Measurement) && l.Verdict == NotHere })
	}
	out := append([]string{"Inconclusive: no platform cost was shown or excluded"}, v.reason(measured)...)
	if len(effects) > 0 {
		out = append(out, "No cost was found in: "+titles(effects))
	}
	return out
}

// reason says why the measurements decide nothing.
func (v *verdict) reason(measured []Lever) []string {
	for _, l := range measured {
		if l.Disturbed != "" {
			return []string{orShort("This host was busy: "+l.Disturbed, "This host was busy during the measurements")}
		}
	}
	if len(measured) > 0 {
		for _, l := range measured {
			if l.why != "" {
				return []string{orShort(l.Title+": "+l.why, "The measurements are too uncertain")}
			}
		}
		return []string{"The measurements are too uncertain"}
	}
	const none = "Nothing was measured"
	out := []string{none}
	var blind []string
	for _, l := range v.levers {
		if l.why != "" && out[0] == none {
			out[0] = orShort(fmt.Sprintf("%s (%s: %s)", none, lowerFirst(l.Title), l.why), none)
		}
		blind = append(blind, l.blind...)
	}
	if len(blind) > 0 {
		out = append(out, "Checks that could not look: "+strings.Join(blind, ", "))
	}
	return out
}

// orShort returns a sentence, or another where it is too long.
func orShort(s, short string) string {
	if len(strings.Fields(s)) > sentenceWords {
		return short
	}
	return s
}

// commit is the time of a commit: what it costs a job only the job's log waits
// say, but it belongs to the answer.
func (v *verdict) commit() []string {
	for _, l := range v.levers {
		if l.Name == check.Log && l.says != "" {
			return []string{l.says}
		}
	}
	return nil
}

// longest is how many characters of a command fit into a sentence.
const longest = 70

// first says what to change first: the largest measured effect, else the worst
// finding, else how to get an answer.
func (v *verdict) first() []string {
	if len(v.worth) > 0 {
		return step("First: ", v.worth[0].Next, v.worth[0].Title)
	}
	if rec := v.by[Recommended]; len(rec) > 0 {
		// the first of equals
		l := slices.MaxFunc(rec, func(a, b Lever) int { return cmp.Compare(a.todo[0].Severity, b.todo[0].Severity) })
		f := l.todo[0]
		return append([]string{fmt.Sprintf("First change %s, %s; its gain was not measured", f.ID, lowerFirst(f.Title))},
			step("", remedy(l.todo), l.Title)...)
	}
	if len(v.by[NotForRole]) > 0 && v.role == check.Development {
		return []string{"Change nothing"}
	}
	if len(v.loose) > 0 {
		return step("First: ", v.loose[0].Next, v.loose[0].Title)
	}
	for _, l := range v.levers {
		switch {
		case l.Disturbed != "":
			return []string{"Change nothing yet: assess again on a quieter host"}
		case l.Verdict == Unresolved:
			return []string{"Change nothing yet: the levers below say how to decide"}
		}
	}
	if len(v.by[NoEffect]) > 0 || len(v.by[Settled]) > 0 {
		return []string{"Change nothing"}
	}
	return []string{"This run recommends no change"}
}

// step puts a lever's next step into a sentence.
func step(lead string, next Next, title string) []string {
	switch note := next.Note; {
	case next.Command == "":
		return []string{lead + note}
	case strings.Contains(next.Command, "\n") || utf8.RuneCountInString(next.Command) > longest:
		return []string{lead + "the command stands under " + title}
	case note != "":
		return []string{orShort(lead+`run "`+next.Command+`" (`+note+")", lead+`run "`+next.Command+`"`)}
	}
	return []string{lead + `run "` + next.Command + `"`}
}

// open says what was not decided, and what is set elsewhere.
func (v *verdict) open() []string {
	var parts []string
	if u := v.by[Unresolved]; len(u) > 0 {
		parts = append(parts, "Not decided: "+titles(u))
	}
	by := map[string][]Lever{}
	for _, l := range v.by[NotHere] {
		by[l.SetBy] = append(by[l.SetBy], l)
	}
	for _, who := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, who+" sets: "+titles(by[who]))
	}
	settings := 0
	for _, l := range v.by[Recommended] {
		settings += len(l.todo)
	}
	if len(v.worth) == 0 {
		settings-- // the first was named
	}
	switch {
	case settings == 1:
		parts = append(parts, "1 other setting differs from recommendations; its cost was not measured")
	case settings > 1:
		parts = append(parts, fmt.Sprintf("%d other settings differ from recommendations; their cost was not measured", settings))
	}
	return parts
}

func (v *verdict) filter(keep func(Lever) bool) []Lever {
	return slices.DeleteFunc(slices.Clone(v.levers), func(l Lever) bool { return !keep(l) })
}

// synthetic levers are measured with work that no database does as such.
func synthetic(l Lever) bool { return l.Name == check.SMT || l.Name == check.Degree }

// says follows an answer by further sentences and by what was measured of levers, or else
// what holds the clock down.
func says(answer string, levers []Lever, more ...string) []string {
	out := append([]string{answer}, more...)
	for _, l := range levers {
		if s := cmp.Or(l.says, l.held); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// titles lists levers in a sentence.
func titles(levers []Lever) string {
	var out []string
	for _, l := range levers {
		out = append(out, lowerFirst(l.Title))
	}
	return strings.Join(out, ", ")
}
