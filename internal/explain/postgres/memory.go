package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/thread"
	"hostlab/internal/waits"
)

// memory shows what sessions do by the memory of the server's processes, so that no statement runs for it.
type memory struct {
	words    words
	events   events
	own      int
	backends map[int]*backend
	pids     []int        // of all
	serving  int          // of those, for clients
	begins   bool         // one of them has no word yet
	all      *waits.Group // those that have a word
	active   *waits.Group // and are looked at each time
	listed   time.Time
	churned  time.Time // when one of them was new
	shown    map[uint32]wait
	halted   map[halt]string // since the last list
	ends     waits.Ends
	anew     bool          // the next look is the first
	missed   time.Duration // for which looks saw nothing before it
	listing  time.Duration // CPU time that lists took

	moments []waits.Moment // since processes were listed last
	shots   []explain.Snapshot
}

// words is what it needs of waits.Words.
type words interface {
	Children() ([]int, error)
	Follow(pids []int)
	FindTransactions(pids []int, major int) error
	Group(pids []int) *waits.Group
	Look(g *waits.Group) []waits.Seen
	Looks(g *waits.Group, ask func(pid int) bool, until time.Time, mean time.Duration, anew bool) ([]waits.Moment, error)
	CPU() time.Duration
	Missed() waits.Missed
	Title(pid int) (title string, cut bool)
	Close()
}

// wait is how a session shows.
type wait struct {
	part  explain.PartName
	event string
}

// backend is a process of the server.
type backend struct {
	kind   kind
	leader int64
	// still is set where a session was idle and has not run between the last two counts, and shows idle now and then: such
	// are many.
	still, passed bool // passed: it is passed over in looks, of many
	last          waits.Seen
}

type kind int

const (
	unknown kind = iota // it has no title yet
	client
	worker // of a parallel query
	background
)

// churns is for how long processes are listed for each look after one has begun, as where clients reconnect.
const churns = time.Second

// few processes are all looked at each time: that takes no longer than to know which of them are idle.
const few = 100

// lateBy is the part of the time between two lists by which one may come late where all is handed over then.
const lateBy = 8

// relist is how often processes are listed else, and where there are many, idle ones looked at. Of hundreds this takes longer than many
// looks.
func (m *memory) relist(mean time.Duration) time.Duration {
	if len(m.pids) <= few {
		return min(12*mean, time.Second) // mean is 20 ms, and 80 ms in a ring
	}
	return time.Second
}

// openMemory finds out whether a server's memory tells what its sessions do. Its error is a clause.
func openMemory(postmaster, own, major int) (*memory, error) {
	e := eventsOf(major)
	if len(e) == 0 {
		return nil, fmt.Errorf("hostlab knows the numbers of waits of PostgreSQL 13 to 18, and not of %d", major)
	}
	w, err := waits.OpenWords(postmaster)
	if err != nil {
		return nil, err
	}
	m := newMemory(w, e, own)
	return m, m.try(major)
}

func newMemory(w words, e events, own int) *memory {
	return &memory{words: w, events: e, own: own, backends: map[int]*backend{}, shown: map[uint32]wait{}, halted: map[halt]string{}, ends: waits.Ends{}}
}

// try looks once at all. Our own session has to show as one.
func (m *memory) try(major int) error {
	pids, err := m.words.Children()
	if err != nil {
		return fmt.Errorf("this kernel does not list a process' children: %w", err)
	}
	m.words.Follow(pids)
	if err := m.words.FindTransactions(pids, major); err != nil {
		return err
	}
	if err := m.list(time.Now()); err != nil {
		return err
	}
	if b := m.backends[m.own]; b == nil || b.kind != client {
		return errors.New("the titles of its processes do not tell which of them serve clients")
	}
	return nil
}

// agree compares what its memory says with what the server says of the same processes. Most of those that wait do so
// all the while.
func (m *memory) agree(ask func() ([]explain.Row, error)) error {
	all := func() map[int]waits.Seen {
		out := map[int]waits.Seen{}
		for _, x := range m.words.Look(m.all) {
			out[x.PID] = x
		}
		return out
	}
	before := all()
	rows, err := ask()
	if err != nil {
		return err
	}
	after, same, other := all(), 0, 0
	for _, r := range rows {
		x := after[int(r.Int(0))]
		if x.Word == 0 || x != before[x.PID] {
			continue
		}
		kind, event := m.events.name(x.Word)
		state := r.Text(3)
		idle := state == "idle" && !x.Xact || state == "idle in transaction" && x.Xact
		if kind == r.Text(1) && event == r.Text(2) &&
			(idle || !strings.HasPrefix(state, "idle") || strings.HasSuffix(state, "(aborted)")) {
			same++
		} else {
			other++
		}
	}
	if other > same {
		return errors.New("this build tells its waits in another way than PostgreSQL does")
	}
	return nil
}

// watch looks again and again until a time.
func (m *memory) watch(ctx context.Context, until time.Time, mean time.Duration) ([]explain.Snapshot, error) {
	m.shots = nil
	for now := time.Now(); ctx.Err() == nil && now.Before(until); now = time.Now() {
		pause := m.relist(mean)
		if now.Sub(m.churned) < churns {
			pause = mean
		}
		if now.Sub(m.listed) >= pause {
			m.flush()
			if err := m.counted(func() error { return m.list(now) }); err != nil {
				return nil, err
			}
		}
		next := m.listed.Add(pause)
		if until.Before(next.Add(pause / lateBy)) { // one wake-up less
			next = until
		}
		moments, err := m.words.Looks(m.active, m.asks, next, mean, m.anew)
		if err != nil {
			return nil, err
		}
		m.moments, m.anew = append(m.moments, moments...), false
	}
	m.flush()
	return m.shots, nil
}

// counted counts the CPU time of what it does.
func (m *memory) counted(do func() error) error {
	var err error
	m.listing += thread.Spent(func() { err = do() })
	return err
}

// cpu is what looks and lists took.
func (m *memory) cpu() time.Duration { return m.listing + m.words.CPU() }

// asks reports whether a process that waits may be ready to run and matter.
func (m *memory) asks(pid int) bool {
	b := m.backends[pid]
	return b.kind != background && !b.still && pid != m.own
}

// list finds processes that have begun or ended, and idle sessions that do something.
func (m *memory) list(now time.Time) error {
	m.listed = now
	if !m.churning() { // else each look is a list
		clear(m.halted)
	}
	pids, err := m.words.Children()
	if err != nil {
		return err
	}
	if m.all == nil || m.begins || !slices.Equal(pids, m.pids) {
		m.know(pids)
	}
	seen := m.words.Look(m.all)
	if len(seen) == 0 {
		return errors.New("its memory is not where it was")
	}
	changed, active, served := m.active == nil, make([]int, 0, len(seen)), 0
	for _, x := range seen {
		b := m.backends[x.PID]
		if b.kind == client || b.kind == worker {
			served++
		}
		first := b.last.PID == 0
		b.last = x
		b.still = b.still || first && b.kind == client && b.idle()
		b.still = b.still && b.idle()
		passed := b.still && len(seen) > few
		changed = changed || passed != b.passed
		if b.passed = passed; !passed {
			active = append(active, x.PID)
		}
	}
	if changed {
		m.active = m.words.Group(active)
	}
	m.begins = served < m.serving
	return nil
}

// know takes the processes that there are now. One that has begun has a title at first, then a word.
func (m *memory) know(pids []int) {
	m.words.Follow(pids)
	m.serving = 0
	backends := make(map[int]*backend, len(pids))
	for _, pid := range pids {
		b := m.backends[pid]
		if b == nil || b.kind == unknown {
			if b == nil {
				m.churned = m.listed
			}
			b = &backend{}
			b.kind, b.leader = kindOf(m.words.Title(pid))
		}
		backends[pid] = b
		if b.kind != background {
			m.serving++
		}
	}
	m.pids, m.backends = pids, backends
	m.all, m.active = m.words.Group(pids), nil
}

// idle reports that it waits for its client outside of a transaction, or in one that has failed.
func (b *backend) idle() bool { return b.last.Word == clientRead && !b.last.Xact }

// churning reports that processes begin.
func (m *memory) churning() bool { return time.Since(m.churned) < churns }

// begin forgets when the last look was.
func (m *memory) begin() { m.anew, m.missed = true, m.words.Missed().Time }

// flush makes snapshots of looks.
func (m *memory) flush() {
	still := explain.Session{Part: explain.Idle, Event: idle.event}
	for pid, b := range m.backends {
		if b.passed && pid != m.own {
			still.Times++
		}
	}
	for _, l := range m.moments {
		shot := explain.Snapshot{Seconds: l.Seconds, Sessions: make([]explain.Session, 0, len(l.Seen)+1)}
		if still.Times > 0 {
			shot.Sessions = append(shot.Sessions, still)
		}
		for _, x := range l.Seen {
			if s, shows := m.session(x); shows {
				shot.Sessions = append(shot.Sessions, s)
			}
		}
		m.shots = append(m.shots, shot)
	}
	m.moments = m.moments[:0]
}

// session is what a process does. Of the server's own, only what the log makes wait shows, as in the view.
func (m *memory) session(x waits.Seen) (s explain.Session, shows bool) {
	b := m.backends[x.PID]
	b.last = x
	w := m.wait(x)
	s = explain.Session{ID: int64(x.PID), Part: w.part, Event: w.event}
	switch b.kind {
	case client:
		return s, x.PID != m.own
	case worker:
		s.Leader, s.Background = b.leader, true
		return s, b.leader != 0
	case background:
		s.Background = true
		_, event, _ := strings.Cut(w.event, ":")
		return s, len(event) > 2 && strings.EqualFold(event[:3], "wal")
	}
	return s, false
}

// idle is how a session shows that waits for its client between transactions.
var idle = wait{explain.Idle, "Client:ClientRead"}

// wait is how a session shows.
func (m *memory) wait(x waits.Seen) (w wait) {
	switch {
	case x.Runs:
		x.Word = 0
	case x.Word == clientRead && !x.Xact:
		return idle
	case x.Word == 0: // it names no wait, and waits
		return wait{explain.OtherWaits, Unnamed + m.halts(x)}
	}
	w, known := m.shown[x.Word]
	if !known {
		kind, event := "", ""
		if x.Word != 0 {
			kind, event = m.events.name(x.Word)
		}
		w.part, w.event = Classify("active", kind, event)
		m.shown[x.Word] = w
	}
	return w
}

// Unnamed begins events that the server has no name for: what the kernel tells follows (waits.Ends.Halts), as a page of
// memory or a sleep.
const (
	Unnamed = "no event:"
	Page    = "a page of memory"
	asleep  = Unnamed + "a sleep"
)

// halt is a process in a call.
type halt struct {
	pid  int
	call waits.Call
}

// halts says what a process waits for in the kernel, as of the first look that saw it there since the last list.
func (m *memory) halts(x waits.Seen) string {
	at := halt{x.PID, x.In}
	text, known := m.halted[at]
	if !known {
		_ = m.counted(func() error { text = m.ends.Halts(x.PID, x.In); return nil })
		m.halted[at] = text
	}
	return text
}

// settle takes from counters which sessions have not run since they were read last.
func (m *memory) settle(moved func(pid int64) bool) {
	for pid, b := range m.backends {
		b.still = b.kind == client && b.idle() && !moved(int64(pid))
	}
}

func (m *memory) processes() (clients, others []int64) {
	for pid, b := range m.backends {
		if b.kind == client && pid != m.own {
			clients = append(clients, int64(pid))
		} else {
			others = append(others, int64(pid))
		}
	}
	return clients, others
}

// kindOf is what kind of process a title tells of: a session has its user, its database and where its client is
// (ps_status.c, BackendInitialize in postmaster.c); a server may have a name before that (cluster_name). The server's
// own have short ones.
func kindOf(title string, cut bool) (k kind, leader int64) {
	text, ours := strings.CutPrefix(title, "postgres: ")
	if !ours {
		return unknown, 0
	}
	if strings.HasPrefix(text, "walsender ") || strings.Contains(text, ": walsender ") {
		return background, 0
	}
	for f := range strings.FieldsSeq(text) {
		open := strings.IndexByte(f, '(')
		port, _ := strconv.ParseUint(strings.TrimSuffix(f[open+1:], ")"), 10, 16)
		if cut || f == "[local]" || open > 0 && strings.HasSuffix(f, ")") && port > 0 {
			return client, 0
		}
	}
	if _, of, found := strings.Cut(text, "parallel worker for PID "); found {
		leader, _ = strconv.ParseInt(strings.TrimSpace(of), 10, 64)
		return worker, leader
	}
	return background, 0
}
