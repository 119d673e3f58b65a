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

// VerdictLine answers in one to four plain sentences: is the platform costing us
// (yes, no cost was found, or it cannot be told and why), what exactly, what
// should be changed first, and what was not decided. levers come from Join.
func VerdictLine(role check.Role, levers []Lever) string {
	v := &verdict{role: role, whom: roleWords[role], levers: levers, by: map[Verdict][]Lever{}}
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
	var out []string
	for _, s := range []string{v.answer(), v.commit(), v.first(), v.open()} {
		if s != "" {
			out = append(out, sentence(s))
		}
	}
	return strings.Join(out, " ")
}

// roleWords are the roles in a sentence.
var roleWords = map[check.Role]string{
	check.ProductionDB:  "production database server",
	check.ProductionApp: "production application server",
	check.Development:   "development system",
}

type verdict struct {
	role   check.Role
	whom   string
	levers []Lever
	by     map[Verdict][]Lever
	worth  []Lever // worthwhile, the largest measured effect first
	loose  []Lever // with a cost that no lever is known to take away, likewise
}

// answer says whether the platform costs something, and what.
func (v *verdict) answer() string {
	// What nobody here can set is no open question, unless another run may answer it.
	measured := v.filter(func(l Lever) bool {
		return known(l.Measurement) && l.Verdict != NotForRole && (l.Verdict != NotHere || l.Disturbed != "")
	})
	effects := v.filter(func(l Lever) bool { return l.Verdict == NoEffect })
	power := v.filter(func(l Lever) bool { return l.Verdict == NotForRole && (l.Cost || l.held != "") })
	held := v.filter(func(l Lever) bool { return l.held != "" && l.Verdict != NotForRole && l.Bound != nil })
	switch {
	case len(v.worth) > 0:
		// What a synthetic scan takes from synthetic locks, a workload may never lose.
		if slices.ContainsFunc(v.worth, func(l Lever) bool { return !synthetic(l) }) {
			return fmt.Sprintf("Yes, this platform measurably costs a %s something: %s", v.whom, says(append(v.worth, v.loose...)))
		}
		return fmt.Sprintf("This platform could cost a %s something: %s", v.whom, says(append(v.worth, v.loose...)))
	case len(power) > 0:
		return fmt.Sprintf("Yes, the power policy costs short bursts of work something, and for a %s that is the better bargain, since it saves energy: %s", v.whom, says(power))
	case len(held) > 0: // no ratio of a CPU with itself shows it
		s := fmt.Sprintf("This platform could cost a %s something: %s, which may take up to %s of %s (computed, not measured)", v.whom, held[0].held, Percent(*held[0].Bound), held[0].BoundOf)
		if more := says(v.loose); more != "" {
			s += "; measured, with a cause that is not known: " + more
		}
		return s
	case len(v.loose) > 0 && len(v.loose) == len(v.filter(func(l Lever) bool { return l.Cost && l.Verdict == NotHere })):
		return "A cost was measured that no setting of this host takes away: " + says(v.loose)
	case len(v.loose) > 0:
		return "A cost was measured, but its cause is not known: " + says(v.loose)
	case len(effects) > 0 && len(effects) == len(measured):
		s := "No cost was found in what could be measured: " + titles(effects)
		if len(v.by[Recommended]) == 0 {
			s += "; and no check finds anything to change"
		}
		return s
	}
	if len(measured) == 0 {
		measured = v.filter(func(l Lever) bool { return known(l.Measurement) && l.Verdict == NotHere })
	}
	s := fmt.Sprintf("It cannot be told whether this platform costs a %s anything, because %s", v.whom, v.reason(measured))
	if len(effects) > 0 {
		s += "; no cost was found in: " + titles(effects)
	}
	return s
}

// reason says why nothing can be told.
func (v *verdict) reason(measured []Lever) string {
	for _, l := range measured {
		if l.Disturbed != "" {
			return "this host was busy: " + l.Disturbed
		}
	}
	if len(measured) > 0 {
		for _, l := range measured {
			if l.why != "" {
				return fmt.Sprintf("nothing measured decides it (%s: %s)", lowerFirst(l.Title), l.why)
			}
		}
		return "nothing measured decides it"
	}
	var why, blind []string
	for _, l := range v.levers {
		if l.why != "" {
			why = append(why, lowerFirst(l.Title)+": "+l.why)
		}
		blind = append(blind, l.blind...)
	}
	s := "nothing could be measured"
	if len(why) > 0 {
		s += " (" + strings.Join(why[:min(len(why), 2)], "; ")
		if len(why) > 2 {
			s += fmt.Sprintf("; and %d more", len(why)-2)
		}
		s += ")"
	}
	if len(blind) > 0 {
		s += "; the checks " + strings.Join(blind, ", ") + " could not look"
	}
	return s
}

// commit is the time of a commit: what it costs a job only the job's log waits
// tell, but it belongs to the answer.
func (v *verdict) commit() string {
	for _, l := range v.levers {
		if l.Name == check.LeverLog {
			return l.says
		}
	}
	return ""
}

// longest is how many characters of a command fit into a sentence.
const longest = 70

// first says what to change first: the largest measured effect, else the worst
// finding, else how to get an answer.
func (v *verdict) first() string {
	if len(v.worth) > 0 {
		return "First: " + step(v.worth[0].Next, v.worth[0].Title)
	}
	if rec := v.by[Recommended]; len(rec) > 0 {
		l := slices.MaxFunc(rec, func(a, b Lever) int { return cmp.Compare(rank(a.todo[0].Severity), rank(b.todo[0].Severity)) }) // the first of equals
		f := l.todo[0]
		what := fmt.Sprintf("%s, %s (advised, its gain was not measured)", f.ID, lowerFirst(f.Title))
		return "First: " + what + ": " + step(remedy(l.todo), l.Title)
	}
	if len(v.by[NotForRole]) > 0 && v.role == check.Development {
		return "Change nothing"
	}
	if len(v.loose) > 0 {
		return "First: " + step(v.loose[0].Next, v.loose[0].Title)
	}
	for _, l := range v.levers {
		switch {
		case l.Disturbed != "":
			return "No change can be recommended from this run; first assess again while the host is quieter"
		case l.Verdict == Unresolved:
			return "No change can be recommended from this run; the levers below say how to find out"
		}
	}
	if len(v.by[NoEffect]) > 0 || len(v.by[Settled]) > 0 {
		return "Change nothing"
	}
	return "No change can be recommended from this run"
}

// step puts a lever's next step into a sentence.
func step(next, title string) string {
	if note, ok := strings.CutPrefix(next, "# "); ok {
		return note
	}
	command, note, _ := strings.Cut(next, "   # ")
	if strings.Contains(command, "\n") || utf8.RuneCountInString(command) > longest {
		return "the command stands under " + title
	}
	if note != "" {
		note = " (" + note + ")"
	}
	return `run "` + command + `"` + note
}

// open says what was not decided, and what is set elsewhere.
func (v *verdict) open() string {
	var parts []string
	if u := v.by[Unresolved]; len(u) > 0 {
		parts = append(parts, "not decided: "+titles(u))
	}
	by := map[string][]Lever{}
	for _, l := range v.by[NotHere] {
		by[l.SetBy] = append(by[l.SetBy], l)
	}
	for _, who := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, "not set here but by "+who+": "+titles(by[who]))
	}
	settings := 0
	for _, l := range v.by[Recommended] {
		settings += len(l.todo)
	}
	if len(v.worth) == 0 {
		settings-- // the first was named
	}
	if settings > 0 {
		parts = append(parts, "not measured: what "+plural(settings, "more setting", "more settings")+" that sources advise against cost"+map[bool]string{true: "s"}[settings == 1])
	}
	return strings.Join(parts, "; ")
}

func (v *verdict) filter(keep func(Lever) bool) []Lever {
	return slices.DeleteFunc(slices.Clone(v.levers), func(l Lever) bool { return !keep(l) })
}

// synthetic levers are measured with work that no database does as such.
func synthetic(l Lever) bool { return l.Name == check.LeverSMT || l.Name == check.LeverDegree }

// says lists what was measured, or else what holds the clock down.
func says(levers []Lever) string {
	var out []string
	for _, l := range levers {
		if s := cmp.Or(l.says, l.held); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, "; ")
}

// titles lists levers in a sentence.
func titles(levers []Lever) string {
	var out []string
	for _, l := range levers {
		out = append(out, lowerFirst(l.Title))
	}
	return strings.Join(out, ", ")
}
