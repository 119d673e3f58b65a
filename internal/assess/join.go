package assess

import (
	"cmp"
	"slices"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/lever"
)

// subjects are the levers of a service by those that checks and probes speak of.
var subjects = map[string]string{check.Frequency: Clock, check.Idle: Idle, check.SMT: SMT, check.Log: Log, check.Degree: CPUs,
	check.Memory: Memory}

// commands show more of a lever than a setting would: who takes the CPUs, what another log
// device gives.
var commands = map[string]string{CPUs: "hostlab watch", Log: "hostlab run log-device"}

// Join gives the levers of a service what checks and probes know: who has the knob, and what
// to type.
func Join(m *Minute, probed []lever.Lever) []Lever {
	if m.Away() {
		probed = nil
	}
	for _, l := range probed {
		if name := subjects[l.Name]; name != "" && l.SetBy != "" {
			m.Owners[name] = l.SetBy
		}
	}
	out := m.Levers()
	for _, l := range probed {
		for i := range out {
			if out[i].Name == subjects[l.Name] {
				out[i].Command = l.Next.Command
			}
		}
	}
	for i := range out {
		if study, is := strings.CutPrefix(commands[out[i].Name], "hostlab run "); !is || m.CannotTry[study] == "" {
			out[i].Command = cmp.Or(commands[out[i].Name], out[i].Command)
		}
	}
	for _, l := range OfProbes(probed) {
		if _, named := subjects[l.Name]; !named && !slices.ContainsFunc(out, func(x Lever) bool { return x.Name == l.Name }) {
			out = append(out, l)
		}
	}
	tryFirst(m, out)
	return out
}

// words are the verdicts of probes and checks as those on a service.
var words = map[lever.Verdict]Verdict{
	lever.Worthwhile: Worthwhile, lever.Recommended: Possible, lever.NoEffect: Negligible, lever.Settled: Settled,
	lever.NotForRole: Negligible, lever.Unresolved: Undecided, lever.Untestable: NotHere, lever.NotHere: NotHere,
}

// OfProbes are levers as far as probes and checks know them: none is a share of a service's
// time.
func OfProbes(probed []lever.Lever) []Lever {
	out := []Lever{}
	for _, l := range probed {
		name := subjects[l.Name]
		if name == "" {
			name = l.Name
		}
		verdict := words[l.Verdict]
		if verdict == Undecided && l.Bound != nil {
			verdict = Possible
		}
		if verdict == Negligible && l.Bound == nil { // no number says that it is little
			verdict = Settled
		}
		out = append(out, Lever{Name: name, AtMost: l.Bound, Evidence: l.Evidence, Verdict: verdict, Reason: l.Summary,
			Owner: l.SetBy, Command: l.Next.Command})
	}
	return out
}
