package assess

import (
	"fmt"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/explain/postgres"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// gain sets what a lever could give: shares of active time, low to high.
func gain(l *lever.Lever, share, low, likely, high float64, assumes, text string) {
	l.Gains(share, low, likely, high)
	l.Assumes = assumes
	l.Add(lever.Evidence{Source: lever.OfMinute, Kind: result.Measured, Text: text})
}

// unknown says why nothing bounds a lever.
func unknown(l *lever.Lever, share *float64, text string) {
	l.Unseen(share)
	l.Add(lever.Evidence{Source: lever.OfMinute, Text: text})
}

// unseen is a lever that nobody saw, but which counters may bound.
func (m *Minute) unseen(l *lever.Lever, share *float64) {
	b, bounded := m.Bounds[l.Name]
	if !bounded || m.Report.Busy <= 0 {
		unknown(l, share, m.Unseen[l.Name])
		return
	}
	l.Limit(share, b.Each*m.Report.Wall/m.Report.Busy)
	l.Add(lever.Evidence{Source: lever.OfMinute, Kind: b.Evidence, Text: b.Source})
}

// Levers are what could be changed for a service, the likeliest gain first, then the
// greatest that is possible, then what is unknown. Gains overlap: a faster clock shortens
// waits for locks too. So they do not add up.
func (m *Minute) Levers() []lever.Lever {
	out := []lever.Lever{m.clock(), m.idle(), m.smt()}
	out = append(append(out, m.ofCPUs()...), m.bound(lever.Log, explain.LogWait), m.bound(lever.Data, explain.DataReads),
		m.network(), m.memory())
	if l := m.limit(); l != nil {
		out = append(out, *l)
	}
	if surely := m.Report.Busy - m.Report.Untold; m.Report.Untold > 0 { // of a shorter time each gain is a larger share
		for i := range out {
			if l := &out[i]; l.AtMost != nil && *l.AtMost > 0 {
				*l.AtMost = lever.Unit(*l.AtMost * m.Report.Busy / max(surely, 1e-9))
				if l.Verdict == lever.Negligible && *l.AtMost >= lever.Margin {
					l.Verdict = lever.Possible
				}
			}
		}
	}
	few := m.few()
	// whatever it could save, nobody would notice
	if share := m.atWork(); few == "" && share < hardly {
		few = "it was active for only " + result.Share(share) + " of the time"
	}
	if few != "" {
		for i := range out {
			if l := &out[i]; l.Verdict == lever.Worthwhile {
				l.Verdict, l.Reason = lever.Possible, lever.FewSamples
				l.Evidence[0].Text += "; " + few
			}
		}
	}
	for i := range out { // what is likely is not known, and nothing bounds it
		if l := &out[i]; l.Verdict == lever.Worthwhile && l.Likely == nil && !l.Bounded() {
			l.Verdict = lever.Possible
		}
	}
	lever.Order(out)
	m.limitFirst(out)
	return out
}

// enough is how many samples with a session at work make a verdict: intervals have their variance from differences
// between stretches, and of fewer they say little (see explain.Method).
const enough = 20

// few says that fewer samples than enough found the service at work, and how long to watch it; "" where that is not so,
// or its time was counted.
func (m *Minute) few() string {
	n := m.Report.Seen
	if !m.Connected || n == nil || *n >= enough {
		return ""
	}
	if *n == 0 {
		return "no sample found it at work: watch it for longer with --for, or while it does more"
	}
	long := time.Duration(m.Report.Wall * enough / float64(*n) * float64(time.Second))
	return "only " + screen.Count(*n, "sample") + " found it at work, too few for a verdict: watch it with --for " +
		screen.Brief(long.Truncate(10*time.Second)+10*time.Second)
}

// atWork is how many of its sessions or threads were active at once, in the mean.
func (m *Minute) atWork() float64 { return m.Report.Busy / max(m.Report.Wall, 1e-9) }

// share is a part as a share of active time, with its interval.
func (m *Minute) share(name explain.PartName) result.Estimate {
	e := m.Report.Part(name).Share
	if !e.Known() { // as a recording has none at all
		return result.Estimate{}
	}
	if m.Report.Busy > 0 {
		f := m.Report.Elapsed / m.Report.Busy
		e.Value, e.Low, e.High = lever.Unit(e.Value*f), lever.Unit(e.Low*f), lever.Unit(e.High*f)
	}
	return e
}

// clock: work on a CPU takes as much longer as the clock is slower than it could be. Waits
// for locks last as long as others work, and queues for CPUs shorten with what is in them.
func (m *Minute) clock() lever.Lever {
	l := lever.Lever{Name: lever.Clock}
	cpu := m.share(explain.DatabaseCPU)
	if m.Clock == nil {
		m.unseen(&l, &cpu.Value)
		return l
	}
	queue, saves := m.share(explain.RunQueue), m.saving(explain.DatabaseCPU)
	c := m.Clock
	slow := func(f, most float64) float64 { return lever.Unit(1 - f/most) }
	waits := 1.0
	if m.Host.Busy != nil {
		waits = erlangC(m.Host.CPUs, *m.Host.Busy)
	}
	gain(&l, cpu.Value, saves.Low*slow(c.High, c.Highest), saves.Likely*slow(c.Mean, c.Highest),
		(saves.AtMost+queue.High*waits)*slow(c.Low, c.Limit),
		"work speeds up in proportion to the clock",
		fmt.Sprintf("its threads ran at %s [%s, %s], and the highest clock is %s; n %d (%s)", result.Format(c.Mean, "Hz"),
			result.Format(c.Low, "Hz"), result.Format(c.High, "Hz"),
			result.Format(c.Limit, "Hz"), c.N, c.Source))
	l.Evidence[0].Kind = c.Evidence
	return l
}

// idle: who wakes on an idle CPU waits until that has left its idle state.
func (m *Minute) idle() lever.Lever {
	l := lever.Lever{Name: lever.Idle}
	if m.Wakeups == nil {
		m.unseen(&l, nil)
		return l
	}
	w := m.Wakeups
	active := m.Report.Busy * w.Wall / max(m.Report.Wall, 1e-9)
	if active <= 0 {
		unknown(&l, nil, "the service did nothing in that time")
		return l
	}
	// A wake-up on an idle CPU waits, too, while the hypervisor has given that CPU away, and no idle state shortens that.
	stolen, reason := 0.0, w.Source
	if m.Host.Steal != nil && *m.Host.Steal > 0 {
		stolen = *m.Host.Steal * float64(m.Host.CPUs) * w.Wall
	}
	if stolen > w.Avoidable/10 && w.Avoidable > 0 {
		reason += fmt.Sprintf("; the hypervisor took CPUs away for up to %s of that",
			result.Format(min(stolen, w.Seconds), "s"))
	}
	gain(&l, w.Seconds/active, (w.Low-stolen)/active, (w.Avoidable-stolen)/active, w.Most/active,
		"shallow idle states make every wake-up as quick as the quickest tenth", reason)
	if m.Host.Guest && l.Verdict == lever.Worthwhile { // most of it is the hypervisor's, which has to run the CPU again
		l.Verdict = lever.Possible
		l.Evidence[0].Text += "; in a guest, how much of that is idle states is not known"
	}
	return l
}

// smt: what a sibling takes from a thread is at most half of its speed where both do the
// same; the probe measures it where there are siblings.
func (m *Minute) smt() lever.Lever {
	l := lever.Lever{Name: lever.SMT}
	cpu := m.share(explain.DatabaseCPU)
	if m.Siblings == nil {
		m.unseen(&l, nil)
		if m.Alone {
			l.Verdict, l.Reason = lever.NotHere, lever.NoSiblings
		}
		return l
	}
	s := m.Siblings
	gain(&l, cpu.Value*s.Beside, cpu.Low*s.Beside*s.Likely, cpu.Value*s.Beside*s.Likely, cpu.High*s.Beside*s.AtMost,
		s.Assumes,
		s.Source)
	return l
}

// bound is a lever on a part that the database names.
func (m *Minute) bound(name string, of explain.PartName) lever.Lever {
	l := lever.Lever{Name: name}
	whole := m.Report.Part(of)
	switch {
	case whole.Source == "":
		m.stalls(&l, "io", m.Unseen[name])
	case m.Report.Busy <= 0 && m.Report.Hidden:
		unknown(&l, nil, "no active session was seen")
	case m.Report.Busy <= 0:
		unknown(&l, nil, "nothing ran")
	default:
		saves := m.saving(of)
		source := "measured from " + whole.Source
		if of == explain.DataReads && m.short() {
			saves.Low, saves.Likely = 0, 0
			source += "; it reads again what its limit of memory makes it forget"
		}
		if v := m.worst(); v != nil {
			s, limit, _ := v.beyond()
			f := 1 - min(1, s/max(m.Report.Wall, 1e-9))
			saves.Low, saves.Likely = saves.Low*f, saves.Likely*f
			source += "; while the " + limit + " holds, no faster device gives more"
		}
		gain(&l, saves.Share, saves.Low, saves.Likely, saves.AtMost,
			"this part takes no time, nor the CPU time that it brings along, and lock waits shrink with it",
			source)
	}
	return l
}

// network: requests of a transaction that each wait for a round trip.
func (m *Minute) network() lever.Lever {
	l := lever.Lever{Name: lever.Network}
	if m.Local {
		gain(&l, 0, 0, 0, 0, "", "no round trips: its clients are on this host's socket")
		return l
	}
	if m.Trips == nil {
		unknown(&l, nil, m.Unseen[lever.Network])
		return l
	}
	if m.Report.Busy <= 0 {
		unknown(&l, nil, "the service did nothing in that time")
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
		unknown(&l, nil, "this kernel does not count requests of connections (Linux 4.6 does)")
		return l
	case t.Connections == 0 && t.Count == 0:
		gain(&l, 0, 0, 0, 0, "", "no round trips: no connection to its network port was seen")
		return l
	case far == 0 && t.Count == 0:
		gain(&l, 0, 0, 0, 0, "", "no round trips: "+all+" to its network port came from this host")
		return l
	case far > 0 && t.Brief > far/2:
		unknown(&l, nil,
			fmt.Sprintf(
				"%d of %d connections of other hosts ended before the next look, so that most of their round trips were not "+
					"counted; a pool of connections would spare them, too", t.Brief, far))
		return l
	}
	share, rest := m.share(explain.Application), m.share(explain.Unexplained).Value
	likely := min(t.Least.Seconds()/m.Report.Busy, share.Value)
	// Fewer requests also take less of the lever.CPUs, and have their sessions wait for one less often.
	more := (app.Within + min(m.Report.Part(explain.DatabaseCPU).Seconds, float64(t.Count)*request)) / m.Report.Busy
	if t.Count == 0 {
		more = 0
	}
	most := t.Most.Seconds() / m.Report.Busy
	gain(&l, min(most, share.Value+rest), min(likely, share.Low), likely, min(most, share.High+rest)+more,
		"no request waits for the network any more, and all requests are within transactions",
		fmt.Sprintf("%s on %s of other hosts", screen.Count(int(t.Count), "round trip"), screen.Count(far, "connection")))
	return l
}

// request is what one takes of a CPU beside its work, s, at most: receiving, parsing, answering.
const request = 100e-6

// memory: what the kernel reclaims and swaps stops threads. Page walks take a PMU to be seen, so
// that few stalls alone do not settle it.
func (m *Minute) memory() lever.Lever {
	l := lever.Lever{Name: lever.Memory}
	some, most, said := m.stalled("memory")
	switch {
	case m.short():
		reads, other, cpu := m.share(explain.DataReads), m.share(explain.OtherWaits), m.share(explain.DatabaseCPU)
		if m.Connected { // a database tells which other waits they are, and pages are none: they show in no wait of its own
			other = m.share(explain.Unexplained)
			other.Low, other.Value = 0, min(other.Value, some)
			for _, e := range m.Report.Events {
				if e.Name == postgres.Unnamed+postgres.Page {
					seconds := e.Seconds / max(m.Report.Busy, 1e-9)
					other.Value, other.High = lever.Unit(other.Value+seconds), lever.Unit(other.High+seconds)
				}
			}
		}
		gain(&l, reads.Value+other.Value, reads.Low+other.Low, reads.Value+other.Value,
			reads.High+other.High+cpu.High+m.share(explain.Unexplained).Value, "what it reads again stays in memory",
			fmt.Sprintf("its processes reached their limit of memory %.0f times; it is %s, in %s", m.Memory.Hits,
				result.Format(m.Memory.Bytes, "B"), m.Memory.File))
		l.Next = m.raised(lever.Next{Command: m.Memory.Twice(), Note: "twice as much as now"},
			m.Memory.File, "memory", fmt.Sprintf("--memory %.0f", 2*m.Memory.Bytes))
	case said == "":
		unknown(&l, nil, m.Unseen[lever.Memory])
	case some >= lever.Margin:
		gain(&l, most, 0, some, most, "one of its threads waited at a time", said+"; page walks are not included")
	default:
		unknown(&l, &most, said+"; "+m.Unseen[lever.Memory])
	}
	return l
}

// short reports that the service reached a limit of its memory.
func (m *Minute) short() bool { return m.Memory != nil && m.Memory.Hits >= 1 }

// stalled is the share of its time that the service may have waited for a resource, if one of
// its threads at a time did, and if all did whenever some task waited. said is a clause; "" where
// the kernel does not tell.
func (m *Minute) stalled(of string) (some, most float64, said string) {
	var seconds float64
	known := false
	if n := len(m.Readings); n > 0 {
		seconds, known = m.Readings[n-1].Stalled[of]
	}
	if !known || m.Report.Busy <= 0 {
		return 0, 0, ""
	}
	share := func(s float64) float64 { return s / (m.Report.Busy + s) }
	return share(seconds), share(seconds * float64(m.mostThreads())),
		fmt.Sprintf("by PSI, some task was stalled on %s for %s in total", waitsFor[of], result.Format(seconds, "s"))
}

// mostThreads are the most that the service was seen to have, at least one.
func (m *Minute) mostThreads() int {
	most := 1
	for _, r := range m.Readings {
		most = max(most, r.Threads)
	}
	return most
}

// stalls settles a lever where the kernel says that next to no task waited.
func (m *Minute) stalls(l *lever.Lever, of, why string) {
	switch _, most, said := m.stalled(of); {
	case said == "":
		unknown(l, nil, why)
	case most < lever.Margin:
		gain(l, most, 0, 0, most, "", said)
	default:
		unknown(l, &most, said+", and whether it was this service's is not known; "+why)
	}
}

// waitsFor are the resources of PSI, in a sentence.
var waitsFor = map[string]string{"cpu": "CPU", "io": "I/O", "memory": "memory (reclaim, swap)"}
