package postgres

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/thread"
	"hostlab/internal/waits"
)

// memory shows what sessions do by the memory of the server's processes, so that no statement runs: what each waits for by its word,
// and what state a session is in that waits for its client by its title.
type memory struct {
	words    words
	events   events
	own      int
	backends map[int]*backend
	listed   time.Time
	churned  time.Time // when one of them was new
	got      map[int]uint32
	again    map[int]uint32
	shown    map[uint32]wait
	cpu      time.Duration // that looks took
}

// words is what it needs of waits.Words.
type words interface {
	Children() ([]int, error)
	Follow(pids []int)
	Read(into map[int]uint32)
	Title(pid int) (title string, whole bool)
	Runs(pid int) bool
	Close()
}

// wait is how a session at work shows.
type wait struct {
	part  explain.PartName
	event string
}

// backend is a process of the server.
type backend struct {
	kind   kind
	leader int64
	state  wait // of a client that waits for its client
	still  bool // it has not run since, as the kernel counts
}

type kind int

const (
	unknown kind = iota // it has no title yet
	client
	worker // of a parallel query
	background
)

// relist is how often processes are listed, which takes longer than a look at them. After one has begun they are listed for each look
// for a while, as where clients reconnect.
const (
	relist = 100 * time.Millisecond
	churns = time.Second
)

// openMemory finds out whether a server's memory tells what its sessions do. Its error is a clause.
func openMemory(postmaster, own, major int) (*memory, error) {
	events := eventsOf(major)
	if len(events) == 0 {
		return nil, fmt.Errorf("hostlab knows the numbers of waits of PostgreSQL 14 to 18, and not of %d", major)
	}
	w, err := waits.OpenWords(postmaster)
	if err != nil {
		return nil, err
	}
	m := newMemory(w, events, own)
	return m, m.try()
}

func newMemory(w words, e events, own int) *memory {
	return &memory{words: w, events: e, own: own, backends: map[int]*backend{}, got: map[int]uint32{}, again: map[int]uint32{}, shown: map[uint32]wait{}}
}

// try looks once. Our own session, which waits for us, has to tell that it is idle, as others will.
func (m *memory) try() error {
	if _, err := m.look(); err != nil {
		return err
	}
	switch title, whole := m.words.Title(m.own); {
	case !whole:
		return errors.New("its processes have no room for their titles, by which idle sessions show: start it with a longer command line or environment")
	case stateOf(title) != "idle":
		return errors.New("the titles of its processes do not tell which sessions are idle: an administrator can set update_process_title to on, " +
			"without a restart")
	}
	return nil
}

// agree compares what words say with what the server says of the same processes. Most of those that wait do so all the while.
func (m *memory) agree(ask func() ([]explain.Row, error)) error {
	before := map[int]uint32{}
	m.words.Read(before)
	rows, err := ask()
	if err != nil {
		return err
	}
	m.words.Read(m.got)
	same, other := 0, 0
	for _, r := range rows {
		pid := int(r.Int(0))
		word, known := m.got[pid]
		if !known || word == 0 || word != before[pid] || r.Null(2) {
			continue
		}
		if kind, event := m.events.name(word); kind == r.Text(1) && event == r.Text(2) {
			same++
		} else {
			other++
		}
	}
	if other > same {
		return errors.New("this build numbers waits in another way than PostgreSQL does")
	}
	return nil
}

// look is a snapshot of all sessions.
func (m *memory) look() (shot explain.Snapshot, err error) {
	runtime.LockOSThread() // whose CPU time is counted
	defer runtime.UnlockOSThread()
	began, _ := thread.CPUTime()
	defer func() {
		now, _ := thread.CPUTime()
		m.cpu += now - began
	}()
	if now := time.Now(); now.Sub(m.listed) >= relist || now.Sub(m.churned) < churns {
		m.listed = now
		if err := m.list(); err != nil {
			return shot, err
		}
	}
	m.words.Read(m.got)
	if len(m.got) == 0 {
		return shot, errors.New("its memory is not where it was")
	}
	m.run()
	shot.Sessions = make([]explain.Session, 0, len(m.backends))
	for pid, b := range m.backends {
		word, known := m.got[pid]
		if !known || pid == m.own {
			continue // it has just begun
		}
		if x, shows := m.session(pid, b, word); shows {
			shot.Sessions = append(shot.Sessions, x)
		}
	}
	return shot, nil
}

// run takes for running what is ready to run and still has the word of its last wait: it needs a CPU to change that. Then all words are
// those of after that look, as what began to run or to wait meanwhile would else be taken for running both times.
func (m *memory) run() {
	var ready []int
	for pid, word := range m.got {
		if b := m.backends[pid]; word != 0 && b != nil && b.kind != background && !b.still && pid != m.own && m.words.Runs(pid) {
			ready = append(ready, pid)
		}
	}
	if len(ready) == 0 {
		return
	}
	m.got, m.again = m.again, m.got
	m.words.Read(m.got)
	for _, pid := range ready {
		if word, known := m.got[pid]; known && word == m.again[pid] {
			m.got[pid] = 0
		}
	}
}

// list finds processes that have begun or ended.
func (m *memory) list() error {
	pids, err := m.words.Children()
	if err != nil {
		return fmt.Errorf("this kernel does not list a process' children: %w", err)
	}
	changed := len(pids) != len(m.backends)
	for _, pid := range pids {
		b := m.backends[pid]
		_, told := m.got[pid]
		changed = changed || b == nil || b.kind == unknown || b.kind != background && !told
	}
	if !changed {
		return nil
	}
	m.words.Follow(pids)
	all := make(map[int]*backend, len(pids))
	for _, pid := range pids {
		b := m.backends[pid]
		if b == nil || b.kind == unknown {
			title, _ := m.words.Title(pid)
			b, m.churned = &backend{}, m.listed
			b.kind, b.leader = kindOf(title)
		}
		all[pid] = b
	}
	m.backends = all
	return nil
}

// session is what a process does. Of the server's own, only what the log makes wait shows, as in the view.
func (m *memory) session(pid int, b *backend, word uint32) (x explain.Session, shows bool) {
	if b.kind == unknown {
		return x, false
	}
	w := m.wait(word)
	switch {
	case b.kind == background:
		_, event, _ := strings.Cut(w.event, ":")
		return explain.Session{ID: int64(pid), Part: w.part, Event: w.event, Background: true}, len(event) > 2 && strings.EqualFold(event[:3], "wal")
	case b.kind == client && word == clientRead:
		if !b.still || b.state.event == "" {
			title, whole := m.words.Title(pid)
			if title == "" {
				return x, false // it has just ended
			}
			state := "" // which tells nothing
			if whole {
				state = stateOf(title)
			}
			b.state.part, b.state.event = Classify(state, "Client", "ClientRead")
		}
		w = b.state
	default:
		b.still = false
	}
	return explain.Session{ID: int64(pid), Part: w.part, Event: w.event, Leader: b.leader, Background: b.kind == worker}, true
}

// wait is how a session shows that is at work.
func (m *memory) wait(word uint32) (w wait) {
	w, known := m.shown[word]
	if !known {
		kind, event := "", ""
		if word != 0 {
			kind, event = m.events.name(word)
		}
		w.part, w.event = Classify("active", kind, event)
		m.shown[word] = w
	}
	return w
}

// settle takes from counters which sessions have not run since they were read last: those are in the state that they were in.
func (m *memory) settle(moved func(pid int64) bool) {
	for pid, b := range m.backends {
		b.still = b.kind == client && !moved(int64(pid)) && m.got[pid] == clientRead
	}
}

// processes are those of clients, and all others.
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

// states are how titles end of sessions that wait for their clients (set_ps_display in tcop/postgres.c, postmaster.c), in the words
// of pg_stat_activity.
var states = [][2]string{
	{" idle", "idle"}, {" idle in transaction", "idle in transaction"},
	{" idle in transaction (aborted)", "idle in transaction (aborted)"},
	{" authentication", "starting"}, {" startup", "starting"}, {" initializing", "starting"},
}

// stateOf is the state that a session's title tells. Else it names the command that is at work.
func stateOf(title string) string {
	title = strings.TrimRight(title, " ")
	for _, s := range states {
		if strings.HasSuffix(title, s[0]) {
			return s[1]
		}
	}
	return "active"
}

// kindOf is what kind of process a title tells of: a session has its user, its database and where its client is (ps_status.c,
// BackendInitialize in postmaster.c); a server may have a name before that (cluster_name).
func kindOf(title string) (k kind, leader int64) {
	text, ours := strings.CutPrefix(title, "postgres: ")
	if !ours {
		return unknown, 0
	}
	for f := range strings.FieldsSeq(text) {
		open := strings.IndexByte(f, '(')
		port, _ := strconv.ParseUint(strings.TrimSuffix(f[open+1:], ")"), 10, 16)
		if f == "[local]" || open > 0 && strings.HasSuffix(f, ")") && port > 0 {
			if strings.HasPrefix(text, "walsender ") || strings.Contains(text, ": walsender ") {
				return background, 0
			}
			return client, 0
		}
	}
	if _, of, found := strings.Cut(text, "parallel worker for PID "); found {
		leader, _ = strconv.ParseInt(strings.TrimSpace(of), 10, 64)
		return worker, leader
	}
	return background, 0
}
