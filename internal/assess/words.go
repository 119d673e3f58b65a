package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// does is what a service does in a part of its time, for a sentence.
var does = map[explain.PartName]string{
	explain.DatabaseCPU: "computes for %s of its active time", explain.RunQueue: "waits %s of its active time for a CPU",
	explain.LogWait: "waits %s of its active time for the log", explain.DataReads: "waits %s of its active time for data reads",
	explain.Locks: "waits %s of its active time for locks", explain.OtherWaits: "spends %s of its active time in other waits",
	explain.Application: "waits %s of its active time for the application",
	explain.Unexplained: "spends %s of its active time in ways that nothing explains",
}

// hardly is how much of the time, of one session or thread, a service has to be active for its shares to
// mean much.
const hardly = 0.01

// Verdict is the answer in at most 60 words: where the time goes, what could be gained, and
// the first thing to type.
func (m *Minute) Verdict(levers []Lever) string {
	parts := m.Parts()
	untold := m.Report.Untold >= Margin*m.Report.Busy
	if untold {
		parts = slices.DeleteFunc(parts, func(p Part) bool { return p.Name == explain.Unexplained })
	}
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	if m.Report.Busy <= 0 || len(parts) == 0 {
		if m.Report.Hidden {
			return lever.Compose([]string{"unknown: this user saw no active session of " + m.subject() +
				", and may not see the sessions of other users",
				"the missing grants stand under \"Not seen\""}, nil, nil, nil)
		}
		if n := m.Report.Transactions; n > 0 && m.Connected {
			return lever.Compose([]string{fmt.Sprintf("%s did %s, but no sample caught one", m.subject(),
				screen.Count(int(n), "transaction")),
				"watch it for longer with --for, or while it does more"}, nil, nil, nil)
		}
		return lever.Compose([]string{m.subject() + " did nothing while it was watched", "watch it again while it works"}, nil,
			nil,
			nil)
	}
	var says []string
	answer := m.subject() + " " + fmt.Sprintf(does[parts[0].Name], result.Share(parts[0].Share))
	if untold {
		says = append(says, fmt.Sprintf("how long %s was active is unknown, %s in %s: its sessions do not say whether they work",
			m.name(), m.active("s", 1), result.Format(m.Report.Wall, "s")))
		answer = "if that is all of it, " + answer
	}
	var more []string
	for _, p := range parts[1:min(3, len(parts))] {
		if p.Share >= Margin {
			more = append(more, p.Name.Title()+" "+result.Share(p.Share))
		}
	}
	if more != nil {
		answer += "; " + strings.Join(more, ", ")
	}
	says = append(says, answer)
	if share := m.Report.Busy / m.Report.Wall; share < hardly { // a sentence of its own: both in one may be too long for any
		says = append(says, fmt.Sprintf("it was active for only %s of %s", result.Format(m.Report.Busy, "s"),
			result.Format(m.Report.Wall, "s")))
	}
	if t := m.Throttled; t != nil && *t >= Margin*m.Report.Busy { // no lever on the platform: who set it can raise it
		says = append(says, fmt.Sprintf("its CPU quota throttled it for %s in %s", result.Format(*t, "s"),
			result.Format(m.Report.Wall, "s")))
	}
	gain, first, rest := gains(levers)
	if few := m.few(); few != "" {
		rest = slices.Insert(rest, 0, few)
	}
	if m.Away() {
		for i := range first {
			first[i] = "on its host, " + first[i]
		}
	}
	return lever.Compose(append(says, gain), nil, first, rest)
}

// name is the service as it is called.
func (m *Minute) name() string { return cmp.Or(m.Service.Name, m.Report.Vendor) }

// subject is the service as a sentence begins with it.
func (m *Minute) subject() string {
	return map[service.Kind]string{service.Process: "process ", service.Unit: "unit ", service.Windows: "service ",
		service.Cgroup: "control group "}[m.Service.Kind] + m.name()
}

// gains says what levers could give: the most, what to type for it, and the others.
func gains(levers []Lever) (gain string, first, rest []string) {
	by := map[Verdict][]Lever{}
	for _, l := range levers {
		bounded := l.Verdict == Negligible && l.AtMost != nil
		if l.Likely == nil && !bounded && (l.Verdict == Worthwhile || l.Verdict == Possible || l.Verdict == Negligible) {
			continue // of checks, which know no share of the service's time
		}
		by[l.Verdict] = append(by[l.Verdict], l)
	}
	little, open := by[Negligible], by[Undecided]
	best := slices.Concat(by[Worthwhile], by[Possible])
	nothing := func(l Lever) bool { return *l.Likely < 0.0005 } // nobody is sent to gain what is written as 0 %
	unlikely := slices.DeleteFunc(slices.Clone(best), func(l Lever) bool { return !nothing(l) })
	best = slices.DeleteFunc(best, nothing)
	if len(best) > 0 {
		l := best[0]
		gain = fmt.Sprintf("%s could save %s of active time, %s", change[l.Name], result.Share(*l.Likely), most(*l.AtMost))
		if l.Verdict == Possible {
			gain += "; that is not certain"
		}
		switch n := len(strings.Fields(l.Command)); {
		case n == 0:
		case n <= 12 && !strings.Contains(l.Command, "\n"):
			first = append(first, `first: "`+l.Command+`"`)
		default:
			first = append(first, "first: the command stands under "+l.Title())
		}
		if l.Try != "" {
			first = append(first, `to prove it here: "`+l.Try+`"`)
		}
		// Others that may give as much would else be in no sentence.
		if more := slices.DeleteFunc(best[1:], func(l Lever) bool { return l.Verdict != Possible }); len(more) > 0 {
			rest = append(rest, "also possible: "+names(more))
		}
	} else {
		gain = "no lever could be measured here"
		switch {
		case len(unlikely) > 0:
			gain = "no lever is likely to save active time"
		case len(little) > 0:
			gain = "no lever that was measured here can save " + lever.Percent(Margin) + " of active time"
		}
	}
	for _, list := range []struct {
		word   string
		levers []Lever
	}{{"not excluded", unlikely}, {"negligible", little}} {
		all, each := 0.0, ""
		for _, l := range list.levers {
			all = max(all, *l.AtMost)
		}
		if len(list.levers) > 1 {
			each = " each"
		}
		if len(list.levers) > 0 {
			rest = append(rest, fmt.Sprintf("%s (%s%s): %s", list.word, most(all), each, names(list.levers)))
		}
	}
	if len(open) > 0 {
		rest = append(rest, "not known: "+names(open))
	}
	if away := slices.DeleteFunc(by[NotHere], func(l Lever) bool { return l.Owner == "" }); len(away) > 0 {
		rest = append(rest, "set by hypervisor or firmware: "+names(away))
	}
	return gain, first, rest
}

// change names what would be done with a lever.
var change = map[string]string{
	Clock: "a faster clock", Idle: "shallower idle states", SMT: "cores of its own", CPUs: "more CPUs",
	Log: "a faster log device", Data: "faster data disks",
	Network: "fewer round trips", Memory: "more memory",
}

func names(levers []Lever) string {
	var out []string
	for _, l := range levers {
		out = append(out, l.Title())
	}
	return strings.Join(out, ", ")
}

// each is a part of a transaction where those are known, else of a second.
func (m *Minute) each(seconds float64) string {
	if n := m.Report.Transactions; n > 0 {
		return result.Format(seconds/float64(n), "s")
	}
	if m.Report.Wall <= 0 {
		return "unknown"
	}
	return result.Format(seconds/m.Report.Wall, "s")
}

// most writes an upper limit, which is not below a tenth of a per cent.
func most(v float64) string { return "at most " + result.Share(max(v, 0.001)) }
