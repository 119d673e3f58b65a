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
	explain.LogWait:     "waits %s of its active time for the log",
	explain.DataReads:   "waits %s of its active time for data reads",
	explain.Locks:       "waits %s of its active time for locks",
	explain.Peers:       "waits %s of its active time for other servers",
	explain.OtherWaits:  "spends %s of its active time in other waits",
	explain.Application: "waits %s of its active time for the application",
	explain.Unexplained: "spends %s of its active time in ways that nothing explains",
}

// hardly is how much of the time, of one session or thread, a service has to be active for its shares to
// mean much.
const hardly = 0.01

// Verdict is the answer: where the time goes, what could be gained, the first thing to type, and what is open.
func (m *Minute) Verdict(levers []lever.Lever) string {
	untold := m.Report.Untold >= lever.Margin*m.Report.Busy
	parts := slices.DeleteFunc(m.Parts(), func(p Part) bool { return untold && p.Name == explain.Unexplained })
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	if m.Report.Busy <= 0 || len(parts) == 0 {
		return lever.Sentences(m.nothing()...)
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
		if p.Share >= lever.Margin {
			more = append(more, p.Name.Title()+" "+result.Share(p.Share))
		}
	}
	if more != nil {
		answer += "; " + strings.Join(more, ", ")
	}
	says = append(says, answer, m.behind(parts[0].Name))
	if share := m.Report.Busy / m.Report.Wall; share < hardly { // a sentence of its own: both in one are too long
		says = append(says, fmt.Sprintf("it was active for only %s of %s", result.Format(m.Report.Busy, "s"),
			result.Format(m.Report.Wall, "s")))
	}
	gains, server := m.gains(levers)
	return lever.Sentences(slices.Concat(server, says, []string{m.ran(parts[0].Name), m.held()}, gains)...)
}

// nothing says why no time is shown.
func (m *Minute) nothing() []string {
	switch n := m.Report.Transactions; {
	case m.Report.Hidden:
		return []string{"unknown: this user saw no active session of " + m.subject() +
			", and may not see the sessions of other users", "the missing grants stand under \"Not seen\""}
	case n > 0 && m.Connected:
		return []string{fmt.Sprintf("%s did %s, but no sample caught one", m.subject(), screen.Count(int(n), "transaction")),
			"watch it for longer with --for, or while it does more"}
	}
	return []string{m.subject() + " did nothing while it was watched", "watch it again while it works"}
}

// name is the service as it is called.
func (m *Minute) name() string { return cmp.Or(m.Service.Name, m.Report.Vendor) }

// subject is the service as a sentence begins with it.
func (m *Minute) subject() string {
	return map[service.Kind]string{service.Process: "process ", service.Unit: "unit ", service.Windows: "service ",
		service.Cgroup: "control group "}[m.Service.Kind] + m.name()
}

// gains says what levers could give: the most, what to type for it, and what is open. Those of checks and probes
// alone know no share of the service's time.
// server is a setting of the service itself that comes before them.
func (m *Minute) gains(levers []lever.Lever) (says, server []string) {
	only := func(keep func(*lever.Lever) bool) []lever.Lever { return ofTime(levers, keep) }
	best, unlikely := m.recommended(levers)
	little := only(func(l *lever.Lever) bool { return l.Verdict == lever.Negligible && l.AtMost != nil })
	var first *lever.Lever
	if len(best) > 0 {
		first = &best[0]
	}
	set, leads := m.ofServer(first)
	if leads {
		server, set = set, nil
	}
	switch {
	case leads && first != nil:
		says = []string{"on the platform, " + m.best(*first)[0]}
	case first != nil:
		says = append(m.best(*first), set...)
	case len(unlikely) > 0:
		says = []string{"no lever is likely to save active time"}
	case len(little) > 0:
		says = []string{"no lever that was measured here can save " + lever.Percent(lever.Margin) + " of active time"}
	default:
		says = []string{"no lever could be measured here"}
	}
	if first == nil {
		says = append(says, set...)
	}
	says = append(says, m.few())
	for _, v := range []lever.Verdict{lever.Worthwhile, lever.Possible} { // others that may give as much
		var more []lever.Lever
		for _, l := range best[min(1, len(best)):] {
			if l.Verdict == v {
				more = append(more, l)
			}
		}
		if more != nil {
			says = append(says, "also "+string(v)+": "+names(more))
		}
	}
	if len(unlikely) > 0 {
		all := 0.0
		for _, l := range unlikely {
			all = max(all, *l.AtMost)
		}
		says = append(says, fmt.Sprintf("not excluded, %s: %s", lever.Most(all), names(unlikely)))
	}
	if unknown := only(func(l *lever.Lever) bool { return l.Verdict == lever.Unknown }); len(unknown) > 0 {
		says = append(says, "not known: "+names(unknown))
	}
	return says, server
}

// ofTime are levers of which the share of the service's time is known.
func ofTime(levers []lever.Lever, keep func(*lever.Lever) bool) (out []lever.Lever) {
	for i := range levers {
		if l := &levers[i]; l.Of == lever.ActiveTime && keep(l) {
			out = append(out, *l)
		}
	}
	return out
}

// recommended are the levers that may save something, those first of which that is certain, and those that are not likely to.
func (m *Minute) recommended(levers []lever.Lever) (best, unlikely []lever.Lever) {
	open := func(l *lever.Lever) bool {
		return l.Likely != nil && (l.Verdict == lever.Worthwhile || l.Verdict == lever.Possible)
	}
	nothing := func(l *lever.Lever) bool { return *l.Likely < 0.0005 } // nobody is sent to gain what is written as 0 %
	best = ofTime(levers, func(l *lever.Lever) bool { return open(l) && !nothing(l) })
	slices.SortStableFunc(best, func(a, b lever.Lever) int {
		return cmp.Compare(slices.Index(lever.Verdicts, a.Verdict), slices.Index(lever.Verdicts, b.Verdict))
	})
	return best, ofTime(levers, func(l *lever.Lever) bool { return open(l) && nothing(l) })
}

// First is the setting of the server, or the lever, that the answer puts first; "": none.
func (m *Minute) First(levers []lever.Lever) string {
	best, _ := m.recommended(levers)
	var first *lever.Lever
	if len(best) > 0 {
		first = &best[0]
	}
	if f, leads := m.foremost(first); leads {
		return f.Parameter
	}
	if first == nil {
		return ""
	}
	return first.Name
}

// best says what the first lever could give, and what to type for it.
func (m *Minute) best(l lever.Lever) []string {
	does := change[l.Name]
	if t, there := m.largest(); there && l.Name == lever.Neighbour {
		does = "without other programs (most: " + m.took(t) + "), it"
	}
	gain := fmt.Sprintf("%s could save %s of active time, %s", does, result.Share(*l.Likely), lever.Most(*l.AtMost))
	if l.Verdict == lever.Possible {
		gain += "; that is not certain"
	}
	there := ""
	if m.Away() {
		there = "on its host, "
	}
	says := []string{gain, lever.Step(there+"first: ", l.Next, l.Name)}
	if l.Try != "" {
		says = append(says, there+`to prove it here: run "`+l.Try+`"`)
	}
	return says
}

// change names what would be done with a lever.
var change = map[string]string{
	lever.Clock: "a faster clock", lever.Idle: "shallower idle states", lever.SMT: "cores of its own", lever.CPUs: "more CPUs",
	lever.Quota: "a higher CPU quota", lever.Steal: "CPUs that the hypervisor leaves to this guest",
	lever.Log: "a faster log device", lever.Data: "faster data disks",
	lever.Network: "fewer round trips", lever.Memory: "more memory",
}

func names(levers []lever.Lever) string {
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
