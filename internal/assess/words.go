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

// does is what a service does in a part of its time, for a sentence: with its share, and of which time that is.
var does = map[explain.PartName]string{
	explain.DatabaseCPU: "computes for %s of %s", explain.RunQueue: "waits %s of %s for a CPU",
	explain.LogWait:     "waits %s of %s for the log",
	explain.DataReads:   "waits %s of %s for data reads",
	explain.Locks:       "waits %s of %s for locks",
	explain.Peers:       "waits %s of %s for other servers",
	explain.OtherWaits:  "spends %s of %s in other waits",
	explain.Application: "waits %s of %s for its clients",
	explain.Unexplained: "spends %s of %s in ways that nothing explains",
}

// hardly is how much of the time, of one session or thread, a service has to be active for its shares to
// mean much.
const hardly = 0.01

// seldomActive is the share from which nobody asks whether it was idle.
const seldomActive = 0.05

// An answer has so many sentences, of so many words, at most.
const (
	mostSentences = 3
	mostWords     = 25
)

// Verdict is the answer: where the time goes and why, what a change could give, and what to type.
func (m *Minute) Verdict(levers []lever.Lever) string {
	says := m.answer(levers)
	return lever.Sentences(says[:min(mostSentences, len(says))]...)
}

// answer are its sentences, the most important first.
func (m *Minute) answer(levers []lever.Lever) []string {
	untold := m.Report.Untold >= lever.Margin*m.Report.Busy
	parts := slices.DeleteFunc(m.Parts(), func(p Part) bool { return untold && p.Name == explain.Unexplained })
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(b.Share, a.Share) })
	if m.Report.Busy <= 0 || len(parts) == 0 {
		return m.nothing()
	}
	goes := m.goes(parts)
	who := cmp.Or(m.held(), m.ran(parts[0].Name))
	first := m.first(levers)
	set, leads := m.ofServer(estimated(first))
	if leads {
		f, _ := m.foremost(estimated(first))
		switch {
		case who != "":
		case untold:
			who = "if what its sessions tell is all of its time, " + goes.String()
		case f.Part != parts[0].Name || !f.Whole:
			who = goes.String()
		case goes.others != "": // it has said what most of the time goes to
			who = "besides: " + goes.others
		}
		return given(append(joined(set), who))
	}
	share := m.Report.Busy / m.Report.Wall
	only := "was active for only " + result.Format(m.Report.Busy, "s") + " of " + result.Format(m.Report.Wall, "s")
	if share >= hardly && share < seldomActive {
		seldom := course{who: goes.who, does: only + ", and " + goes.does, cause: goes.cause}
		if len(strings.Fields(seldom.String())) <= mostWords {
			goes = seldom
		}
	}
	says := []string{goes.String()}
	if untold {
		says = []string{fmt.Sprintf("how long %s was active is unknown, %s in %s: its sessions do not say whether they work",
			m.name(), m.active("s", 1), result.Format(m.Report.Wall, "s")), "if that is all of it, " + goes.String()}
	}
	if share < hardly {
		so := ", so that no lever saves much"
		if !m.Connected && m.Why != "" {
			so = "; whether its sessions wait, as for locks, does not show: name the server with --dsn"
		}
		says = append(says, "it "+only+so)
		return given(append(says, joined(set)...))
	}
	if m.blind() && m.Why != "" {
		says = append(says, "what its sessions wait for does not show: "+letIn)
		if share < 1 { // of one session: most of the time may be such waits
			return given(says)
		}
	}
	few := m.few()
	if first == nil {
		return given(slices.Concat(says, []string{few, who, goes.own, m.none(levers)}, joined(set)))
	}
	says = append(says, m.act(first)+": "+gives(first), few, m.step(first), goes.own)
	return given(append(append(says, joined(set)...), who))
}

// letIn is what shows the waits of a server that refused this user.
const letIn = "run hostlab as root, or let this user in"

// given are clauses that say something.
func given(clauses []string) []string {
	return slices.DeleteFunc(clauses, func(s string) bool { return s == "" })
}

// joined are clauses as sentences: a finding's are one where it is short enough.
func joined(clauses []string) []string {
	if n := len(clauses); n > 2 {
		if all := strings.Join(clauses[:n-1], "; "); len(strings.Fields(all)) <= mostWords {
			return []string{all, clauses[n-1]}
		}
		return []string{clauses[0], clauses[n-1]}
	}
	return clauses
}

// course is what most of a service's time goes to, in clauses.
type course struct {
	who, does string
	cause     string // what that waits for itself; "": it does not show
	others    string // parts, where the cause does not show
	own       string // why no platform shortens it; "": one may
}

func (c course) String() string {
	says := c.who + " " + c.does
	if c.cause != "" {
		says += ": " + c.cause
	}
	if c.others != "" {
		says += "; " + c.others
	}
	return says
}

// goes says what most of the time goes to.
func (m *Minute) goes(parts []Part) course {
	first, of := parts[0].Name, "its active time"
	if m.blind() {
		of = "the time that shows"
	}
	c := course{who: m.subject(), does: fmt.Sprintf(does[first], result.Share(parts[0].Share), of)}
	ended, own := m.behind(first)
	if len(ended) == 0 {
		var more []string
		for _, p := range parts[1:min(3, len(parts))] {
			if p.Share >= lever.Margin {
				more = append(more, p.Name.Title()+" "+result.Share(p.Share))
			}
		}
		c.others = strings.Join(more, ", ")
		return c
	}
	c.own, c.cause = own, whose[first]+" "+strings.Join(ended, ", ")
	if len(strings.Fields(c.String())) > mostWords {
		c.cause = whose[first] + " " + ended[0] // the largest says most
	}
	return c
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
		service.Cgroup: "control group ", service.Pod: "pod ", service.Container: "container "}[m.Service.Kind] + m.name()
}

// first is the lever that the answer names: the likeliest that could save enough, those before the others of which that
// is certain, unless one is likely to save more than they can; else one that could save much, though it is not likely
// to. nil: none could, as far as is known.
func (m *Minute) first(levers []lever.Lever) *lever.Lever {
	open := ofTime(levers, func(l *lever.Lever) bool { // no device gives more than a limit that holds
		return l.AtMost != nil && l.Open() && (m.worst() == nil || l.Name != lever.Log && l.Name != lever.Data)
	})
	const much = 0.1
	if m.Report.Busy < hardly*m.Report.Wall { // whatever it could save, nobody would notice
		return nil
	}
	best := ofTime(open, func(l *lever.Lever) bool {
		if l.Estimate == nil || *l.Estimate < lever.Margin {
			return false
		}
		// Without a bound, what is likely of other waits alone is a guess, and what few wake-ups showed, too.
		return l.Likely != nil || l.Bounded() || l.Name != lever.Idle && (l.Share == nil || *l.Share >= lever.Margin)
	})
	slices.SortStableFunc(best, func(a, b lever.Lever) int {
		return cmp.Compare(slices.Index(lever.Verdicts, a.Verdict), slices.Index(lever.Verdicts, b.Verdict))
	})
	best = append(best, ofTime(open, func(l *lever.Lever) bool { // nobody buys a device for which it does not wait
		return l.Bounded() && *l.AtMost > much && (l.Share == nil || *l.Share >= lever.Nothing)
	})...)
	if len(best) == 0 {
		return nil
	}
	first := &best[0]
	for i := range best {
		if l := &best[i]; l.Estimate != nil && *l.Estimate > *first.AtMost {
			first = l
		}
	}
	return first
}

// estimated is a lever whose gain has an estimate.
func estimated(l *lever.Lever) *lever.Lever {
	if l == nil || l.Estimate == nil {
		return nil
	}
	return l
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

// First is the setting of the server, or the lever, that the answer puts first; "": none.
func (m *Minute) First(levers []lever.Lever) string {
	first := m.first(levers)
	if f, leads := m.foremost(estimated(first)); leads {
		return f.Parameter
	}
	if first == nil {
		return ""
	}
	return first.Name
}

// act is what would be done with a lever, for a sentence.
func (m *Minute) act(l *lever.Lever) string {
	switch t, there := m.largest(); {
	case l.Name == lever.Neighbour && there:
		others := ""
		if m.several(t) {
			others = "other programs, most of all "
		}
		return fmt.Sprintf("move or limit %s%s, which took %.2g of %s%s", others, m.called(t), t.Seconds/max(m.Report.Wall, 1e-9),
			screen.Count(m.Host.CPUs, "CPU"), t.unless())
	case l.Name == lever.CPUs && m.Host.Bound():
		by := ""
		if len(m.Host.Sets) > 0 {
			by = " by its cpuset"
		}
		return fmt.Sprintf("let it use all CPUs, as it may use %d of %d%s", m.Host.Allowed, m.Host.CPUs, by)
	case (l.Name == lever.CPUs || l.Name == lever.Steal) && l.Next.Command == "" && l.Next.Note != "":
		return l.Next.Note
	case l.Name == lever.Quota && m.Quota != nil:
		return fmt.Sprintf("lift its CPU quota, which is %.3g CPUs", m.Quota.CPUs)
	case l.Name == lever.Limit && m.worst() != nil:
		s, limit, _ := m.worst().beyond()
		return fmt.Sprintf("raise the %s, which was exceeded for %s of %s", limit, result.Format(s, "s"),
			result.Format(m.Report.Wall, "s"))
	case l.Name == lever.Memory && m.short():
		return "raise its limit of memory, which is " + result.Format(m.Memory.Bytes, "B")
	}
	return change[l.Name]
}

// unless keeps a reader from slowing down the service's own clients, where this user may not see which those are.
func (t *Taker) unless() string {
	if t.Unsure {
		return ", unless it is a client"
	}
	return ""
}

// change names what would be done with a lever.
var change = map[string]string{
	lever.Clock: "let its CPUs run at a faster clock", lever.Idle: "use shallower idle states",
	lever.SMT: "give it cores of its own", lever.CPUs: "give it more CPUs",
	lever.Neighbour: "move or limit other programs", lever.Quota: "lift its CPU quota",
	lever.Limit: "raise the cloud's limit", lever.Steal: "take no CPUs from this guest",
	lever.Log:  "use a faster log device",
	lever.Data: "use faster data disks", lever.Network: "use fewer round trips", lever.Memory: "give it more memory",
}

// gives is what a lever could give, for a sentence.
func gives(l *lever.Lever) string {
	likely := l.Likely
	if likely == nil || *likely < lever.Nothing { // nobody is promised what is written as 0 %
		if !l.Bounded() {
			return "how much time that saves was not measured"
		}
		return "at most " + result.Share(*l.AtMost) + " less time"
	}
	s := "likely " + result.Share(*likely) + " less time"
	if most := result.Share(*l.AtMost); l.Bounded() && most != result.Share(*likely) {
		s += ", at most " + most
	}
	if l.Verdict == lever.Possible {
		s += " (not certain)"
	}
	return s
}

// step is what to type for the first lever.
func (m *Minute) step(l *lever.Lever) string {
	there := ""
	if m.Away() {
		there = "on its host, "
	}
	switch {
	case l.Next.Command == logCommand:
		return lever.Step(there+"to try log devices with a job of hostlab's own, in "+logTakes+": ", l.Next)
	case l.Next.Command == "" && l.Try != "":
		does := "to measure it here"
		if l.Name == lever.Data { // whose study varies the I/O scheduler: that gives something else than other disks
			does = "to try another I/O scheduler here"
		}
		return lever.Step(there+does+", in hours (or in 10 minutes with --quick): ", lever.Next{Command: l.Try})
	case l.Next.Command == "" && (l.Name == lever.Quota && len(m.Service.Containers) == 0 || l.Next.Note == m.act(l)): // that was said
		return ""
	}
	return lever.Step(there+"first: ", l.Next)
}

// none says that no lever could give much, as far as they were measured.
func (m *Minute) none(levers []lever.Lever) string {
	most, known := 0.0, false
	for _, l := range levers {
		if l.Of == lever.ActiveTime && l.Bounded() {
			most, known = max(most, *l.AtMost), true
		}
	}
	switch {
	case !known:
		return "no lever could be measured here"
	case most < lever.Margin:
		return "no lever that was measured here can save " + lever.Percent(lever.Margin) + " of active time"
	}
	return "what was measured here could save at most " + result.Share(most) + " of active time, and likely less"
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
