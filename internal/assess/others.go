package assess

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"

	"hostlab/internal/chain"
	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/thread"
	"hostlab/internal/waits"
)

// Other is a process on which a service that tells no sessions waits by a file: the one that reads its pipe, or that
// holds the lock of its file.
type Other struct {
	On     string `json:"on"`  // pipe, socket, or the path of a file
	PID    int    `json:"pid"` // 0: it does not show
	Name   string `json:"name"`
	Script string `json:"script,omitempty"`
	Own    bool   `json:"own,omitempty"` // it is one of the service's own
	// Starter has begun several such, one after another; 0: it was one.
	Starter     int     `json:"starter,omitempty"`
	StarterName string  `json:"starter_name,omitempty"`
	Stalls      bool    `json:"stalls,omitempty"`  // a write to it waits for its device
	Address     string  `json:"address,omitempty"` // of another host, which has the other end
	Seconds     float64 `json:"seconds"`           // that the service's threads waited
	Looks       int     `json:"looks"`             // that saw who holds a lock, of which Held saw this one; of a pipe both are 0
	Held        int     `json:"held"`
}

// longest is what threads waited for longest in some waits.
func (b *blocked) longest(is func(w waits.Wait) bool) (o Other) {
	if b.tally == nil {
		return o
	}
	all := map[string]float64{}
	for w, s := range b.tally.ByWait() {
		if w.On != "" && is(w) {
			all[w.On] += s
		}
	}
	for on, s := range all {
		if s > o.Seconds || s == o.Seconds && on < o.On {
			o.On, o.Seconds = on, s
		}
	}
	return o
}

func (o *Other) is(pid int, members []int) {
	p, err := proc.Read(pid)
	if pid <= 0 || err != nil {
		return
	}
	o.PID, o.Name, o.Script, o.Own = pid, p.Name, proc.Script(pid, p.Name), slices.Contains(members, pid)
}

// reader is who reads what the service's threads wait to send; nil: they do not.
func (b *blocked) reader(members []int) *Other {
	o := b.longest(b.pushes)
	if o.Seconds <= 0 {
		return nil
	}
	switch {
	case !strings.HasPrefix(o.On, "socket:"):
		o.is(proc.Reader(o.On), members)
	default:
		for id, looks := range b.tally.Looks {
			if looks[waits.Wait{Kind: waits.Push, On: o.On}] > 0 {
				var pid int
				pid, o.Address = proc.Peer(id.PID, o.On)
				o.is(pid, members)
				break
			}
		}
	}
	if o.On, _, _ = strings.Cut(o.On, ":"); strings.HasPrefix(o.On, "/") {
		o.On = "FIFO"
	}
	return &o
}

// pushes is a wait until another one takes what it is sent. A write to a file that a signal may end is one to a FIFO, or
// to who serves its file system.
func (b *blocked) pushes(w waits.Wait) bool {
	return w.Kind == waits.Push || w.Kind == waits.Write && !w.Blocked && strings.HasPrefix(w.On, "/") && !b.served(w.On)
}

// keeper is who holds the lock of a file that the service's threads wait for; nil: they wait for none.
func (b *blocked) keeper(members []int) *Other {
	o := b.longest(func(w waits.Wait) bool { return w.Kind == waits.Lock && strings.HasPrefix(w.On, "/") })
	if o.Seconds <= 0 {
		return nil
	}
	most := &held{}
	for p, h := range b.holders {
		if o.Looks += h.looks; h.looks > most.looks || h.looks == most.looks && h.pid < most.pid {
			most, o.Name, o.Starter = h, p.name, p.starter
		}
	}
	if o.PID, o.Held = most.pid, most.looks; most.several {
		by, _ := proc.Read(o.Starter)
		o.StarterName, o.Own = by.Name, slices.Contains(members, o.Starter)
		return &o
	}
	o.Starter = 0
	o.is(most.pid, members)
	return &o
}

// program is one that a process starts, perhaps again and again.
type program struct {
	name    string
	starter int
}

// held is by which processes of a program a lock was held: the last one, and at how many looks.
type held struct {
	pid, looks int
	several    bool
}

// fileLocks is for how long threads that work waited for locks of files, s. Nobody waits for one who has nothing to do.
func (b *blocked) fileLocks() (seconds float64) {
	for id, looks := range b.tally.Looks {
		if ran, watched := b.tally.Of(id); ran < awake*watched {
			continue
		}
		for w, s := range looks {
			if w.Kind == waits.Lock && strings.HasPrefix(w.On, "/") {
				seconds += s
			}
		}
	}
	return seconds
}

// lookAtHolders notes who holds locks of files that processes wait for.
func (b *blocked) lookAtHolders(list func() []int) {
	if time.Now().Before(b.next) {
		return
	}
	took := thread.Spent(func() { b.addHolders(list) })
	b.next = time.Now().Add(max(holdersEach, unreadPause*took))
}

func (b *blocked) addHolders(list func() []int) {
	all := proc.LockHolders()
	if len(all) == 0 {
		return
	}
	members := list()
	for waiter, holder := range all {
		if slices.Contains(members, waiter) {
			if b.holders == nil {
				b.holders = map[program]*held{}
			}
			p, _ := proc.Read(holder)
			of := program{p.Name, p.Parent}
			if b.holders[of] == nil {
				b.holders[of] = &held{pid: holder}
			}
			h := b.holders[of]
			h.looks, h.several, h.pid = h.looks+1, h.several || h.pid != holder, holder
		}
	}
}

// pushes says that it waits until another one takes what it sends.
func (m *Minute) pushes() []explain.Finding {
	o := m.Reader
	if o == nil || m.Report.Busy <= 0 {
		return nil
	}
	share := lever.Unit(o.Seconds / m.Report.Busy)
	return []explain.Finding{{Parameter: "reader of a " + o.On, Part: explain.OtherWaits, Number: o.Seconds, Unit: "s", N: -1,
		Explains: &share, AtMost: result.Finite(lever.Unit(m.share(explain.OtherWaits).High + m.share(explain.RunQueue).High)),
		Text: fmt.Sprintf("%s waits %s of its active time until %s takes what it writes to a %s", m.subject(), result.Share(share),
			cmp.Or(o.called(), screen.Clean(o.Address), "the other end"), o.On),
		Whole: true,
		Step:  "have that read faster" + o.next()}}
}

// queues says that another process holds the lock of a file.
func (m *Minute) queues() []explain.Finding {
	o := m.Keeper
	if o == nil || m.Report.Busy <= 0 || o.PID == 0 || o.Held < followed {
		return nil
	}
	locks := m.share(explain.Locks)
	share := min(locks.Value, lever.Unit(o.Seconds/m.Report.Busy))
	return []explain.Finding{{Parameter: "lock of a file", Part: explain.Locks, Number: o.Seconds, Unit: "s", N: int64(o.Looks),
		Explains: &share, AtMost: result.Finite(lever.Unit(max(share, locks.High) + m.share(explain.RunQueue).High)),
		Text: fmt.Sprintf("%s waits %s of its active time for the lock of %s, held by %s", m.subject(), result.Share(share),
			screen.Clean(o.On), o.called()),
		Whole: true, More: []string{fmt.Sprintf("that held it at %d of %d looks", o.Held, o.Looks)},
		Step: "have that hold it for less time" + o.next()}}
}

// enders is another program whose doing ends most waits for locks of a service that tells no sessions; nil: none does.
func (m *Minute) enders() *Other {
	if m.Connected || !m.follows(explain.Locks) {
		return nil
	}
	seconds, did, all, most := map[int]float64{}, map[int]chain.Kind{}, 0.0, 0
	for _, e := range m.Ends.Ends(explain.Locks) { // the longest first
		if !ofLocks(e) {
			continue
		}
		s := floats.Sum(m.Ends.Each(explain.Locks, func(x chain.End) bool { return x == e }))
		if all += s; m.owner(e.PID) == OfService || m.owner(e.PID) == OfNobody || e.Kind == chain.Ready {
			continue
		}
		did[e.PID] = cmp.Or(did[e.PID], e.Kind)
		if seconds[e.PID] += s; seconds[e.PID] > seconds[most] {
			most = e.PID
		}
	}
	share := seconds[most] / max(all, 1e-9)
	if share < half {
		return nil
	}
	o := &Other{On: ended[did[most]], Seconds: share * m.Report.Part(explain.Locks).Seconds}
	o.is(most, nil)
	return o
}

// ofLocks is an end of a wait for another thread's doing: one that waits for what a client sends has nothing to do.
func ofLocks(e chain.End) bool {
	return !e.Client && e.Kind != chain.Unseen && e.Kind != chain.Remote && e.Kind != chain.Circle
}

// ender says so.
func (m *Minute) ender() []explain.Finding {
	o := m.Ender
	if o == nil || o.PID == 0 || m.Report.Busy <= 0 || len(m.queues()) > 0 { // which says more
		return nil
	}
	locks, share := m.share(explain.Locks), lever.Unit(o.Seconds/m.Report.Busy)
	return []explain.Finding{{Parameter: "holder of a lock", Part: explain.Locks, Number: o.Seconds, Unit: "s", N: -1,
		Explains: &share, AtMost: result.Finite(lever.Unit(locks.High + m.share(explain.RunQueue).High)),
		Text: fmt.Sprintf("%s waits %s of its active time for locks until %s lets them go, which %s meanwhile", m.subject(),
			result.Share(share), o.called(), o.On),
		Whole: true, Step: "have that hold them for less time" + o.next()}}
}

// called names it; "": it does not show.
func (o *Other) called() string {
	if o.PID == 0 {
		return ""
	}
	if o.Starter != 0 {
		return fmt.Sprintf("%s (processes that %s, PID %d, starts)", screen.Clean(o.Name), screen.Clean(o.StarterName), o.Starter)
	}
	return called(Taker{Taker: proc.Taker{Name: o.Name, PID: o.PID, Processes: 1}, Script: o.Script})
}

// next is what shows what it does meanwhile, as a clause.
func (o *Other) next() string {
	if o.PID == 0 || o.Own {
		return ""
	}
	return ", and see what it does meanwhile: " + toAssess(cmp.Or(o.Starter, o.PID))
}
