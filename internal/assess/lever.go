package assess

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Verdict is what can be said of a lever for this service.
type Verdict string

// The verdicts.
const (
	Worthwhile Verdict = "worthwhile" // even the lower end of what is likely is beyond the margin
	Possible   Verdict = "possible"   // what is likely may be beyond it
	Negligible Verdict = "negligible" // at most, it gives less
	Settled    Verdict = "settled"    // checks alone know it, and it is as it should be
	NotHere    Verdict = "not_here"   // this host has no such hardware, or no knob for it
	Undecided  Verdict = "undecided"  // nothing bounds it
)

// Margin is the share of a service's time below which a lever does not matter.
const Margin = 0.05

// The levers on a service. Their names are in JSON.
const (
	Clock   = "clock"
	Idle    = "idle"
	SMT     = "smt"
	CPUs    = "cpus"
	Log     = "log"
	Data    = "data"
	Network = "network"
	Memory  = "memory"
)

var titles = map[string]string{
	Clock: "clock frequency", Idle: "idle states", SMT: "hyper-threading", CPUs: "more CPUs", Log: "log device",
	Data:    "data device",
	Network: "network", Memory: "memory",
}

// Lever is what could be changed, and what that could give the service. Shares are of its
// active time, 0 to 1; nil: unknown.
type Lever struct {
	Name     string          `json:"name"`
	Share    *float64        `json:"share"`  // that it touches
	Likely   *float64        `json:"likely"` // gain, by Assumes
	Low      *float64        `json:"likely_low"`
	AtMost   *float64        `json:"at_most"`
	Evidence result.Evidence `json:"evidence"` // "" where nothing was measured
	Verdict  Verdict         `json:"verdict"`
	Assumes  string          `json:"assumes,omitempty"`
	Reason   string          `json:"reason"` // what it rests on, or why it is unknown and what would show it
	Owner    string          `json:"owner,omitempty"`
	Command  string          `json:"command"`
	Try      string          `json:"try,omitempty"` // what shows on the service itself whether it is worth it
	// Experiment is what one has measured of it; nil: none was given.
	Experiment *Experiment `json:"experiment,omitempty"`
}

// Experiment is what one has measured of a lever.
type Experiment struct {
	Gain result.Estimate `json:"gain"` // a share of the time before; unknown where none measured it
	Note string          `json:"note"` // the experiment and the levels that it compared, or why Gain is unknown
}

// Title is its name for people.
func (l *Lever) Title() string { return Title(l.Name) }

// Title is a lever's name for people.
func Title(name string) string { return cmp.Or(titles[name], name) }

// gain sets what it could give: shares of active time, low to high.
func (l *Lever) gain(share, low, likely, high float64, assumes, reason string) {
	share, low, likely, high = unit(share), unit(low), unit(likely), unit(high)
	likely = min(likely, high)
	low = min(low, likely)
	l.Share, l.Low, l.Likely, l.AtMost, l.Evidence, l.Assumes, l.Reason = &share, &low, &likely, &high, result.Measured, assumes,
		reason
	switch {
	case high < Margin:
		l.Verdict = Negligible
	case low >= Margin:
		l.Verdict = Worthwhile
	default:
		l.Verdict = Possible
	}
}

// unseen is a lever that nobody saw, but which counters may bound.
func (m *Minute) unseen(l *Lever, share *float64, owner string) {
	b, known := m.Bounds[l.Name]
	if !known || m.Report.Busy <= 0 {
		l.unknown(share, owner, m.Unseen[l.Name])
		return
	}
	most := unit(b.Each * m.Report.Wall / m.Report.Busy)
	l.Share, l.AtMost, l.Evidence, l.Verdict, l.Reason = share, &most, b.Evidence, Possible, b.Source
	if most < Margin {
		l.Verdict = Negligible
	}
}

// unknown says why nothing bounds it. With an owner, it is not this host that decides.
func (l *Lever) unknown(share *float64, owner, reason string) {
	l.Share, l.Verdict, l.Owner, l.Reason = share, Undecided, owner, reason
	if owner != "" {
		l.Verdict = NotHere
	}
}

func unit(v float64) float64 { return min(max(v, 0), 1) }

// Levers are what could be changed for a service, the likeliest gain first, then the
// greatest that is possible, then what is unknown. Gains overlap: a faster clock shortens
// waits for locks too. So they do not add up.
func (m *Minute) Levers() []Lever {
	out := []Lever{m.clock(), m.idle(), m.smt(), m.cpus(), m.bound(Log, explain.LogDevice), m.bound(Data, explain.DataStorage),
		m.network(), m.memory()}
	if surely := m.Report.Busy - m.Report.Untold; m.Report.Untold > 0 { // of a shorter time each gain is a larger share
		for i := range out {
			if l := &out[i]; l.AtMost != nil && *l.AtMost > 0 {
				*l.AtMost = unit(*l.AtMost * m.Report.Busy / max(surely, 1e-9))
				if l.Verdict == Negligible && *l.AtMost >= Margin {
					l.Verdict = Possible
				}
			}
		}
	}
	if few := m.few(); few != "" {
		for i := range out {
			if l := &out[i]; l.Verdict == Worthwhile {
				l.Verdict, l.Reason = Possible, l.Reason+"; "+few
			}
		}
	}
	rank := func(l Lever) (known, likely, most float64) {
		switch {
		case l.AtMost == nil:
			return 1, 0, 0
		case l.Likely == nil:
			return 0, 0, -*l.AtMost
		}
		return 0, -*l.Likely, -*l.AtMost
	}
	slices.SortStableFunc(out, func(a, b Lever) int {
		ka, la, ma := rank(a)
		kb, lb, mb := rank(b)
		return cmp.Or(cmp.Compare(ka, kb), cmp.Compare(la, lb), cmp.Compare(ma, mb))
	})
	return out
}

// enough is how many samples with a session at work make a verdict: intervals have their variance from differences
// between stretches, and of fewer they say little (see explain.Method).
const enough = 20

// few says that fewer samples than enough show the service at work, and how long to watch it; "" where that is not so, or
// its time was counted.
func (m *Minute) few() string {
	n := m.Report.Seen
	if !m.Connected || n == nil || *n >= enough {
		return ""
	}
	said := "only " + screen.Count(*n, "sample") + " showed it at work"
	if *n == 0 {
		return "no sample showed it at work; watch it for longer with --for, or while it does more"
	}
	long := time.Duration(m.Report.Wall * enough / float64(*n) * float64(time.Second))
	return said + "; watch it with --for " + screen.Brief(long.Truncate(10*time.Second)+10*time.Second)
}

// share is a part as a share of active time, with its interval.
func (m *Minute) share(name explain.PartName) result.Estimate {
	e := m.Report.Part(name).Share
	if !e.Known() { // as a recording has none at all
		return result.Estimate{}
	}
	if m.Report.Busy > 0 {
		f := m.Report.Elapsed / m.Report.Busy
		e.Value, e.Low, e.High = unit(e.Value*f), unit(e.Low*f), unit(e.High*f)
	}
	return e
}

// clock: work on a CPU takes as much longer as the clock is slower than it could be. Waits
// for locks last as long as others work, and queues for CPUs shorten with what is in them.
func (m *Minute) clock() Lever {
	l := Lever{Name: Clock}
	cpu := m.share(explain.DatabaseCPU)
	if m.Clock == nil {
		m.unseen(&l, &cpu.Value, m.Owners[Clock])
		return l
	}
	locks, queue := m.share(explain.Locks), m.share(explain.RunQueue)
	c := m.Clock
	slow := func(f, most float64) float64 { return unit(1 - f/most) }
	waits := 1.0
	if m.Host.Busy != nil {
		waits = erlangC(m.Host.CPUs, *m.Host.Busy)
	}
	l.gain(cpu.Value, cpu.Low*slow(c.High, c.Highest), cpu.Value*slow(c.Mean, c.Highest),
		(cpu.High+locks.High+queue.High*waits)*slow(c.Low, c.Limit),
		"work speeds up in proportion to the clock",
		fmt.Sprintf("its threads ran at %s [%s, %s], and the highest clock is %s; n %d (%s)", result.Format(c.Mean, "Hz"),
			result.Format(c.Low, "Hz"), result.Format(c.High, "Hz"),
			result.Format(c.Limit, "Hz"), c.N, c.Source))
	l.Evidence = c.Evidence
	return l
}

// idle: who wakes on an idle CPU waits until that has left its idle state.
func (m *Minute) idle() Lever {
	l := Lever{Name: Idle}
	if m.Wakeups == nil {
		m.unseen(&l, nil, "")
		return l
	}
	w := m.Wakeups
	active := m.Report.Busy * w.Wall / max(m.Report.Wall, 1e-9)
	if active <= 0 {
		l.unknown(nil, "", "the service did nothing in that time")
		return l
	}
	// A wake-up on an idle CPU waits, too, while the hypervisor has given that CPU away, and no idle state shortens that.
	stolen, reason := 0.0, w.Source
	if m.Host.Steal != nil && *m.Host.Steal > 0 {
		stolen = *m.Host.Steal * float64(m.Host.CPUs) * w.Wall
	}
	if stolen > w.Avoidable/10 && w.Avoidable > 0 {
		reason += fmt.Sprintf("; the hypervisor took CPUs away for up to %s of that", result.Format(min(stolen, w.Seconds), "s"))
	}
	l.gain(w.Seconds/active, (w.Low-stolen)/active, (w.Avoidable-stolen)/active, w.Most/active,
		"shallow idle states make every wake-up as quick as the quickest tenth", reason)
	return l
}

// smt: what a sibling takes from a thread is at most half of its speed where both do the
// same; the probe measures it where there are siblings.
func (m *Minute) smt() Lever {
	l := Lever{Name: SMT}
	cpu := m.share(explain.DatabaseCPU)
	if m.Siblings == nil {
		m.unseen(&l, nil, m.Owners[SMT])
		if m.Alone {
			l.Verdict = NotHere
		}
		return l
	}
	s := m.Siblings
	l.gain(cpu.Value*s.Beside, cpu.Low*s.Beside*s.Likely, cpu.Value*s.Beside*s.Likely, cpu.High*s.Beside*s.AtMost, s.Assumes,
		s.Source)
	return l
}

// cpus: waits for a CPU, and what the hypervisor takes.
func (m *Minute) cpus() Lever {
	l := Lever{Name: CPUs}
	if m.Report.Part(explain.RunQueue).Source == "" {
		m.stalls(&l, "cpu", m.Unseen[CPUs])
		return l
	}
	if m.Report.Busy <= 0 {
		l.unknown(nil, "", "the service did nothing in that time")
		return l
	}
	q, cpu := m.share(explain.RunQueue), m.share(explain.DatabaseCPU)
	reason := "its threads were ready to run and had no CPU"
	f, stolen, known := 1.0, 0.0, 0.0
	if m.Host.Busy != nil {
		f, known = relief(m.Host.CPUs, *m.Host.Busy), 1
		reason += fmt.Sprintf("; the %d CPUs were %.0f %% busy", m.Host.CPUs, 100**m.Host.Busy)
	} else {
		reason += "; this host does not show how busy the CPUs were"
	}
	if m.Host.Steal != nil && *m.Host.Steal > 0 {
		stolen = *m.Host.Steal / (*m.Host.Steal + *m.Host.Busy)
	}
	if stolen > 0.001 {
		reason += fmt.Sprintf(", and steal was %.1f %% of the CPU time they asked for", 100*stolen)
	}
	// Waits that a quota makes are no lack of CPUs.
	throttled := 0.0
	if m.Throttled != nil && m.Report.Busy > 0 {
		throttled = unit(*m.Throttled / m.Report.Busy)
		reason += fmt.Sprintf("; its CPU quota throttled it for %s", result.Format(*m.Throttled, "s"))
	}
	l.gain(q.Value, (q.Low-throttled)*f*known, (q.Value-throttled)*f, q.High+cpu.High*stolen,
		"the CPUs are doubled, the load stays, and jobs arrive at random (M/M/c)", reason)
	return l
}

// bound is a lever on a part that the database names.
func (m *Minute) bound(name, of string) Lever {
	l := Lever{Name: name}
	i := slices.IndexFunc(m.Report.Bounds, func(b explain.Bound) bool { return b.Lever == of })
	switch {
	case i < 0:
		m.stalls(&l, "io", m.Unseen[name])
	case m.Report.Bounds[i].Reason != "":
		l.unknown(nil, "", m.Report.Bounds[i].Reason)
	default:
		b := m.Report.Bounds[i]
		p := m.share(b.Parts[0])
		low := b.Likely
		if whole := b.Share + m.Report.Part(b.Parts[0]).Within/m.Report.Busy; whole > 0 {
			low *= p.Low / whole
		}
		l.gain(b.Share, low, b.Likely, b.AtMost, "this part falls to zero, and waits for locks shrink with it",
			"measured from "+m.Report.Part(b.Parts[0]).Source)
	}
	return l
}

// network: requests of a transaction that each wait for a round trip.
func (m *Minute) network() Lever {
	l := Lever{Name: Network}
	if m.Local {
		l.gain(0, 0, 0, 0, "", "no round trips: its clients are on this host's socket")
		return l
	}
	if m.Trips == nil {
		l.unknown(nil, "", m.Unseen[Network])
		return l
	}
	if m.Report.Busy <= 0 {
		l.unknown(nil, "", "the service did nothing in that time")
		return l
	}
	t, app := m.Trips, m.Report.Part(explain.Application)
	far := t.Connections - t.Local
	all := "all " + screen.Count(t.Connections, "connection")
	if t.Connections == 1 {
		all = "its one connection"
	}
	switch {
	case t.Untold > 0:
		l.unknown(nil, "", "this kernel does not count requests of connections (Linux 4.6 does)")
		return l
	case t.Connections == 0 && t.Count == 0:
		l.gain(0, 0, 0, 0, "", "no round trips: no connection to its network port was seen")
		return l
	case far == 0 && t.Count == 0:
		l.gain(0, 0, 0, 0, "", "no round trips: "+all+" to its network port came from this host")
		return l
	case far > 0 && t.Brief > far/2:
		l.unknown(nil, "", fmt.Sprintf("%d of %d connections of other hosts ended before the next look, so that most of their round trips were not "+
			"counted; a pool of connections would spare them, too", t.Brief, far))
		return l
	}
	share, rest := m.share(explain.Application), m.share(explain.Unexplained).Value
	likely := min(t.Least.Seconds()/m.Report.Busy, share.Value)
	// Fewer requests also take less of the CPUs, and have their sessions wait for one less often.
	more := (app.Within + min(m.Report.Part(explain.DatabaseCPU).Seconds, float64(t.Count)*request)) / m.Report.Busy
	if t.Count == 0 {
		more = 0
	}
	most := t.Most.Seconds() / m.Report.Busy
	l.gain(min(most, share.Value+rest), min(likely, share.Low), likely, min(most, share.High+rest)+more,
		"no request waits for the network any more, and all requests are within transactions",
		fmt.Sprintf("%s on %s of other hosts", screen.Count(int(t.Count), "round trip"), screen.Count(far, "connection")))
	return l
}

// request is what one takes of a CPU beside its work, s, at most: receiving, parsing, answering.
const request = 100e-6

// memory: what the kernel reclaims and swaps stops threads. Page walks take a PMU to be seen, so
// that few stalls alone do not settle it.
func (m *Minute) memory() Lever {
	l := Lever{Name: Memory}
	some, most, said := m.stalled("memory")
	switch {
	case said == "":
		l.unknown(nil, m.Owners[Memory], m.Unseen[Memory])
	case some >= Margin:
		l.gain(most, 0, some, most, "one of its threads waited at a time", said+"; page walks are not included")
	default:
		l.unknown(&most, m.Owners[Memory], said+"; "+m.Unseen[Memory])
	}
	return l
}

// stalled is the share of its time that the service may have waited for a resource, if one of
// its threads at a time did, and if all did whenever some task waited. said is a clause; "" where
// the kernel does not tell.
func (m *Minute) stalled(of string) (some, most float64, said string) {
	var seconds float64
	known, threads := false, 1
	for _, r := range m.Readings {
		seconds, known = r.Stalled[of]
		threads = max(threads, r.Threads)
	}
	if !known || m.Report.Busy <= 0 {
		return 0, 0, ""
	}
	share := func(s float64) float64 { return s / (m.Report.Busy + s) }
	return share(seconds), share(seconds * float64(threads)),
		fmt.Sprintf("by PSI, some task was stalled on %s for %s in total", waitsFor[of], result.Format(seconds, "s"))
}

// stalls settles a lever where the kernel says that next to no task waited.
func (m *Minute) stalls(l *Lever, of, why string) {
	switch _, most, said := m.stalled(of); {
	case said == "":
		l.unknown(nil, "", why)
	case most < Margin:
		l.gain(most, 0, 0, most, "", said)
	default:
		l.unknown(&most, "", said+", and whether it was this service's is not known; "+why)
	}
}

// waitsFor are the resources of PSI, in a sentence.
var waitsFor = map[string]string{"cpu": "CPU", "io": "I/O", "memory": "memory (reclaim, swap)"}
