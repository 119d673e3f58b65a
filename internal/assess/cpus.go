package assess

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/service"
)

// blame says whose doing the service's waits for a CPU were, as shares of them that end without it. Its own quota comes
// first: a service that its limit stops has no neighbour to blame.
type blame struct{ quota, neighbour, own float64 }

func (m *Minute) blame(q queueing) (b blame) {
	queue := m.Report.Part(explain.RunQueue).Seconds
	b.quota, b.neighbour, b.own = q.spared()
	if m.follows(explain.RunQueue) { // few sessions wait for others alone, which the queue does not know as its customers
		others := m.Ends.Share(explain.RunQueue, func(e chain.End) bool { return m.owner(e.PID) == OfOthers }).Value
		if others *= 1 - b.quota; others > b.neighbour {
			b.neighbour, b.own = others, min(b.own, 1-b.quota-others)
		}
		// Who is seldom on the CPU for which it waits has made others wait there, with at most all that it used.
		b.neighbour = min(b.neighbour, others+2*q.others/q.cpus)
	}
	if m.Throttled != nil && queue > 0 && lever.Unit(*m.Throttled/queue) > b.quota { // all its threads stop together
		b.quota = lever.Unit(*m.Throttled / queue)
		rest := (1 - b.quota) / max(b.neighbour+b.own, 1)
		b.neighbour, b.own = b.neighbour*rest, b.own*rest
	}
	return b
}

// ofCPUs are the levers on waits for a CPU: more CPUs, the neighbour that took them, the service's own quota, and the
// hypervisor. All could end all such waits, and what waits behind them; what each likely gives is by whose doing they
// were.
func (m *Minute) ofCPUs() []lever.Lever {
	cpus, neighbour, quota, steal := lever.Lever{Name: lever.CPUs}, lever.Lever{Name: lever.Neighbour},
		lever.Lever{Name: lever.Quota},
		lever.Lever{Name: lever.Steal}
	all := []*lever.Lever{&cpus, &neighbour, &quota}
	switch {
	case m.Report.Part(explain.RunQueue).Source == "":
		for _, l := range all {
			m.stalls(l, "cpu", m.Unseen[lever.CPUs])
		}
	case m.Report.Busy <= 0:
		for _, l := range all {
			unknown(l, nil, idleService)
		}
	default:
		q := m.queue()
		b := m.blame(q)
		m.moreCPUs(&cpus, q, b.own)
		m.move(&neighbour, q, b.neighbour)
		m.raise(&quota, q, b.quota)
	}
	m.stolen(&steal)
	for _, l := range append(all, &steal) { // no step for what gives nothing
		if l.Verdict != lever.Worthwhile && l.Verdict != lever.Possible {
			l.Next = lever.Next{}
		}
	}
	return []lever.Lever{cpus, neighbour, quota, steal}
}

const idleService = "the service did nothing in that time"

// queued sets a lever on waits for a CPU, of which a share goes away, and at most another, and which saves no more than
// free of active time. The work itself becomes faster, too: by no more than it waited, as caches fill in less time than
// another's turn takes.
func (m *Minute) queued(l *lever.Lever, q queueing, share, most, free float64, assumes, text string) {
	saves := m.saving(explain.RunQueue)
	high := saves.AtMost*most + min(q.cooled*m.share(explain.DatabaseCPU).High, m.share(explain.RunQueue).High*most)
	if m.Counted { // else it and its clients may have used fewer CPUs than all did
		high = min(high, max(saves.Likely*share, free))
	}
	gain(l, saves.Share, saves.Low*share, saves.Likely*share, high, assumes, text)
}

func (m *Minute) moreCPUs(l *lever.Lever, q queueing, own float64) {
	reason := "its threads were ready to run and had no CPU"
	if m.Host.Busy != nil {
		reason += fmt.Sprintf("; the %d CPUs were %.0f %% busy", m.Host.CPUs, 100**m.Host.Busy)
	} else {
		reason += "; this host does not show how busy the CPUs were"
	}
	enough := math.Inf(1) // nobody says how many more
	if m.Host.Bound() {
		enough = float64(m.Host.CPUs)
	}
	m.queued(l, q, own, 1, q.most(enough), "the CPUs are doubled, and as many sessions work", reason)
	switch {
	case m.Host.Bound():
		l.Evidence[0].Text += fmt.Sprintf("; it may use only %d of the %d CPUs", m.Host.Allowed, m.Host.CPUs)
		if n := len(m.Host.Sets); n > 0 {
			l.Evidence[0].Text += ", by its cpuset in " + m.Host.Sets[n-1]
		}
		l.Next = m.widen()
	case m.Host.CPUs > 0:
		l.Next = lever.Next{Note: fmt.Sprintf("give it more than %s, or let fewer clients work at once",
			screen.Count(m.Host.CPUs, "CPU"))}
	}
}

// widen is what to type so that a service may use all CPUs.
func (m *Minute) widen() lever.Next {
	next := lever.Next{Note: "it was started for some CPUs alone: see CPUAffinity= and AllowedCPUs= of its unit, cpuset and taskset"}
	switch {
	case len(m.Host.Sets) > 0 && len(m.Service.Containers) == 0: // within which no affinity gives it others
		next = lever.Next{Command: fmt.Sprintf("echo 0-%d | sudo tee", m.Host.CPUs-1),
			Note: "its cpuset has all CPUs until its unit sets it anew (AllowedCPUs=)"}
		for _, file := range m.Host.Sets {
			next.Command += " " + screen.Word(file)
		}
	case len(m.Host.Sets) > 0:
		next.Note = "a cpuset keeps it from the others: see cpuset-cpus of its container, or its pod's manager of CPUs (kubelet)"
	case m.Service.PID != 0 && m.Service.Kind == service.Process:
		next = lever.Next{Command: fmt.Sprintf("sudo taskset --all-tasks --cpu-list --pid 0-%d %d", m.Host.CPUs-1,
			m.Service.PID),
			Note: "it may use all CPUs until it is started anew"}
	}
	return next
}

// move is the lever on the programs that had the CPUs.
func (m *Minute) move(l *lever.Lever, q queueing, share float64) {
	if !m.Counted {
		unknown(l, nil, "other processes do not show here")
		return
	}
	t, there := m.largest()
	text, unnamed := "", m.unnamed()
	switch {
	case there:
		text = "most went to " + m.took(t) + m.next()
		l.Next = limit(t)
	case unnamed == 0:
		gain(l, 0, 0, 0, 0, "", "no other program used a CPU for long")
		return
	default:
		share = 0
	}
	if unnamed > 0 {
		text = strings.TrimPrefix(fmt.Sprintf("%s; programs that are not listed, as those that have ended, took %.2g of %s",
			text, unnamed/max(m.Report.Wall, 1e-9), screen.Count(m.Host.CPUs, "CPU")), "; ")
	}
	most := 1.0
	if saves := m.saving(explain.RunQueue); saves.AtMost > 0 {
		share = min(share, m.taken(0)/max(saves.Likely, 1e-9))
		most = min(1, m.taken(unnamed)/saves.AtMost)
	}
	all, _ := q.all()
	m.queued(l, q, share, most, q.most(all), "other programs run elsewhere, and as many sessions work", text)
	if t.Unsure { // the service needs its clients
		l.Evidence[0].Text += "; only root sees whether it is a client of the service"
		if l.Verdict == lever.Worthwhile {
			l.Verdict = lever.Possible
		}
	}
}

// next names the programs behind the largest.
func (m *Minute) next() (says string) {
	for _, t := range m.others()[1:min(3, len(m.others()))] {
		if t.Seconds >= notable*m.Report.Wall {
			says += "; then " + m.took(t)
		}
	}
	return says
}

// several reports that a program took less than two thirds of what all others took.
func (m *Minute) several(t Taker) bool {
	all := 0.0
	for _, o := range m.others() {
		all += o.Seconds
	}
	return t.Seconds < all*2/3
}

// unnamed is the CPU time of others that no listed program took, s: those that ended meanwhile, and whose parents did.
// 0: too little to matter.
func (m *Minute) unnamed() float64 {
	rest, known := m.unlisted(0)
	if !known || rest < lever.Margin*float64(m.Host.CPUs)*m.Report.Wall {
		return 0
	}
	return rest
}

// unlisted is the CPU time of others that no listed program took but a process's, s; 0: that of none.
func (m *Minute) unlisted(but int) (rest float64, known bool) {
	if m.Host.Foreign == nil {
		return 0, false
	}
	rest = *m.Host.Foreign * float64(m.Host.CPUs) * m.Report.Wall
	for _, t := range m.Takers {
		if but == 0 || t.PID != but {
			rest -= t.Seconds
		}
	}
	return rest, true
}

// taken is the most that others may have kept the service waiting for by what they took, as a share of active time: a
// second on a CPU keeps each of its threads waiting for a second. unnamed is what nobody listed took, s.
func (m *Minute) taken(unnamed float64) float64 {
	threads := max(1, m.Report.Peak)
	if !m.Connected {
		threads = max(threads, m.mostThreads())
	}
	seconds := max(notable*m.Report.Wall, unnamed) // of those that are not listed
	for _, t := range m.others() {
		seconds += t.Seconds
	}
	return lever.Unit(seconds * float64(threads) / max(m.Report.Busy, 1e-9))
}

// notable is the share of one CPU from which a program is named.
const notable = 0.02

// others are the programs that took CPU time from the service. Its clients on this host work for it, and so do the
// servers that it asks, and threads of the kernel, which nobody can move.
func (m *Minute) others() (list []Taker) {
	for _, t := range m.Takers {
		if !t.Kernel && !m.client(t, t.PID) && !m.asks(t) {
			list = append(list, t)
		}
	}
	return list
}

// client reports that a program's process is a client of the service, as the windows saw. A service that always has
// work waits for none, so that they see few: of one that tells no sessions, those that have a connection to it are, too.
func (m *Minute) client(t Taker, pid int) bool {
	return m.Ends != nil && m.Ends.Clients[pid] || t.Client && (m.Ends == nil || !m.Connected)
}

// adopted limits what is booked with process 1: who has lost its parent brings along what it used before it was
// watched. It took no more than nobody else did.
func (m *Minute) adopted() {
	rest, known := m.unlisted(1)
	if !known {
		return
	}
	for i := range m.Takers {
		if t := &m.Takers[i]; t.PID == 1 {
			t.Seconds = max(0, min(t.Seconds, rest))
		}
	}
	slices.SortStableFunc(m.Takers, func(a, b Taker) int { return cmp.Compare(b.Seconds, a.Seconds) })
}

// largest is the program that took most CPU time from the service.
func (m *Minute) largest() (t Taker, there bool) {
	if all := m.others(); len(all) > 0 && all[0].Seconds >= notable*m.Report.Wall {
		return all[0], true
	}
	return t, false
}

// took names a program, and says what it took.
func (m *Minute) took(t Taker) string {
	return fmt.Sprintf("%s, %.2g of %s", m.called(t), t.Seconds/max(m.Report.Wall, 1e-9), screen.Count(m.Host.CPUs, "CPU"))
}

// raise is the lever on the service's own limit.
func (m *Minute) raise(l *lever.Lever, q queueing, share float64) {
	switch {
	case m.Throttled == nil && m.Service.NoGroup:
		unknown(l, nil,
			"its control group does not show here, so that a quota of its CPU time would not either; root on its host sees it")
	case m.Throttled == nil && m.Service.Here():
		gain(l, 0, 0, 0, 0, "", "no quota limits its CPU time")
	case m.Throttled == nil:
		unknown(l, nil, "whether a quota limits its CPU time does not show here")
	case *m.Throttled == 0:
		gain(l, 0, 0, 0, 0, "", "its CPU quota never stopped it"+m.limits())
	default:
		most := 1.0
		// all its threads may wait where the quota stops one CPU
		if queue := m.Report.Part(explain.RunQueue).Seconds; queue > 0 {
			most = lever.Unit(*m.Throttled * float64(m.mostThreads()) / queue)
		}
		all, _ := q.all()
		stood := *m.Throttled / max(m.Report.Wall, 1e-9) // of the time, on any of its CPUs
		if q.quota < all {
			stood = min(stood, 1-q.quota/all)
		}
		free := min(q.most(all), q.going(stood))
		share = min(share, free/max(m.saving(explain.RunQueue).Likely, 1e-9))
		m.queued(l, q, share, most, free, "no quota stops it any more",
			fmt.Sprintf("its CPU quota stopped its threads for %s in %s, all added up%s",
				result.Format(*m.Throttled, "s"), result.Format(m.Report.Wall, "s"), m.limits()))
		l.Next = lever.Next{Note: "raise it"}
		if q := m.Quota; q != nil {
			l.Next = m.raised(lever.Next{Command: q.Twice(),
				Note: fmt.Sprintf("twice as much as now, which is %.3g CPUs", q.CPUs)},
				q.File, "cpu", fmt.Sprintf("--cpus %.3g", 2*q.CPUs))
		}
	}
}

// limits says how large the quota is and where it stands.
func (m *Minute) limits() string {
	if m.Quota == nil {
		return ""
	}
	return fmt.Sprintf("; it is %.3g CPUs, in %s", m.Quota.CPUs, m.Quota.File)
}

// stolen is the lever on what the hypervisor gives to others.
func (m *Minute) stolen(l *lever.Lever) {
	h := m.Host
	switch {
	case h.Steal == nil || h.Busy == nil:
		unknown(l, nil, "this host does not show what its hypervisor takes")
		return
	case m.Report.Busy <= 0:
		unknown(l, nil, idleService)
		return
	}
	cpu, f := m.share(explain.DatabaseCPU), 0.0
	if asked := *h.Steal + *h.Busy; asked > 0 {
		f = *h.Steal / asked
	}
	most := cpu.High * f
	// What it takes keeps each thread waiting that is ready then.
	threads := max(m.mostThreads(), m.Report.Peak)
	most += min(m.saving(explain.RunQueue).AtMost,
		*h.Steal*float64(h.CPUs)*m.Report.Wall*float64(threads)/m.Report.Busy)
	gain(l, cpu.Value*f, cpu.Low*f, cpu.Value*f, most, "the hypervisor takes nothing any more",
		fmt.Sprintf("steal was %.1f %% of the CPU time that this guest asked for", 100*f))
	l.Next = lever.Next{Note: "ask the owner of the hypervisor for CPUs of its own"}
	if h.Credits {
		l.Evidence[0].Text += "; this type of instance has its CPUs for as long as it has credits, which no guest sees"
		l.Next = lever.Next{Note: "look at CPUCreditBalance in CloudWatch. If it reached 0, choose unlimited credits or a " +
			"type without credits"}
	}
}
