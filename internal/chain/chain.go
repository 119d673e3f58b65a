// Package chain follows waits to what ends them. A thread that waits for a lock waits for what the thread does that will wake it:
// that computes, is ready for a CPU, waits for the log, or for another thread in turn. The kernel's scheduler tells who woke
// whom, so no server is asked.
package chain

import (
	"cmp"
	"maps"
	"slices"

	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/waits"
)

// Event is what the scheduler did at one moment.
type Event struct {
	At  uint64 // ns, of a monotonic clock
	CPU int
	// Wake is set where By wakes To. Else By leaves the CPU to To.
	Wake   bool
	By, To Task
	// Ready: By leaves the CPU and wants to go on.
	Ready bool
	// Interrupt: a device or a clock woke To, and not the task that had the CPU.
	Interrupt bool
	// Wait is for what the task waits that blocks, or is woken.
	Wait waits.Wait
	Word Word // of the task that blocks
}

// Task is a thread.
type Task struct {
	TID, PID int  // 0: a CPU that idles
	Member   bool // of the service
}

// Word is what a process of PostgreSQL says that it waits for; 0: nothing, or it was not read.
type Word uint32

// The classes of words (PostgreSQL 13 to 18, src/include/utils/wait_classes.h), and the lock of those who write the log
// (lwlocknames.txt, lwlocklist.h).
const (
	lwlock, lock, pin, activity, client, ipc, timeout, io = 1, 3, 4, 5, 6, 8, 9, 10

	walWrite Word = lwlock<<24 | 8
)

// Kind is what a wait ends with.
type Kind string

// The kinds of ends.
const (
	Computing Kind = "cpu"    // PID has a CPU
	Ready     Kind = "ready"  // a thread waits for a CPU, which PID has; 0: no task has it
	Log       Kind = "log"    // PID waits until a file is on its device
	Data      Kind = "data"   // PID waits for data of a file
	Device    Kind = "device" // PID waits for a device otherwise: it writes, or wants a page of memory
	Asleep    Kind = "sleep"  // PID sleeps until a time
	Remote    Kind = "remote" // PID waits for another host, or for nothing that this host shows
	Circle    Kind = "circle" // threads wait for each other
	Unseen    Kind = "unseen" // the window was over before
)

// End is what ends a wait: what a thread of a process does.
type End struct {
	Kind Kind
	PID  int
	// Log, Data and Client are set where a wait for the log, for data, or for a client lies on the way to it.
	Log, Data, Client bool
}

// Shares are what a part's time ended with, s of windows.
type Shares map[explain.PartName]map[End]float64

// Account is the time of a service's threads by what they did and by what that ended with, s of windows.
type Account struct {
	Moments int
	Windows []Shares
	Lengths []float64 // s of each
	// Own are the service's processes that were seen, and Clients are those of this host that ended waits for a client.
	Own, Clients map[int]bool

	all    bool
	serves map[int]bool // threads that were seen to wait for a client
}

// New is an empty account: of all threads of the service, or of those that serve clients.
func New(all bool) *Account {
	return &Account{all: all, Own: map[int]bool{}, Clients: map[int]bool{}, serves: map[int]bool{}}
}

// span is a stretch in which a thread does one thing.
type span struct {
	from, to  uint64
	state     state
	cpu       int   // that it has, or gets
	by        *lane // that woke it; nil: not seen
	word      Word
	wait      waits.Wait
	interrupt bool
}

type state uint8

const (
	unknown state = iota
	running
	ready
	blocked
)

// lane is what a thread did in a window.
type lane struct {
	Task
	spans []span
	now   span // that is open
	at    int  // the span of the moment

	moment int // for which end was found
	end    End
}

// window is the events of one stretch, of which nothing is known before.
type window struct {
	from, to uint64
	lanes    map[int]*lane
	order    []*lane
	words    map[int]uint32
	account  *Account
	has      map[int][]hold
	held     map[int]int // by CPU: the hold of the moment
}

// hold is that a task has a CPU from a time on.
type hold struct {
	from uint64
	lane *lane
}

// Add follows the waits in a window from one time to another, ns, at moments that lie so far apart, the first at a share of that.
// words are those of the processes when it was opened.
func (a *Account) Add(events []Event, words map[int]uint32, from, to, step uint64, first float64) {
	slices.SortStableFunc(events, func(x, y Event) int { return cmp.Compare(x.At, y.At) })
	w := &window{from: from, to: to, lanes: map[int]*lane{}, words: words, account: a, has: map[int][]hold{}, held: map[int]int{}}
	for _, e := range events {
		if e.Wake {
			w.wake(e)
		} else {
			w.turn(e)
		}
	}
	for _, l := range w.order {
		w.close(l, to)
	}
	a.Windows = append(a.Windows, Shares{})
	moment := 1
	for t := from + uint64(first*float64(step)); t < to; t += step {
		for _, l := range w.order {
			if l.Member && (a.all || a.serves[l.TID]) {
				w.book(l, t, moment, float64(step)/1e9)
			}
		}
		moment++
	}
	a.Moments, a.Lengths = a.Moments+moment-1, append(a.Lengths, float64(to-from)/1e9)
}

func (w *window) lane(t Task) *lane {
	l := w.lanes[t.TID]
	if l == nil {
		l = &lane{Task: t}
		l.now.from = w.from
		w.lanes[t.TID] = l
		w.order = append(w.order, l)
	}
	if t.Member {
		l.Member, w.account.Own[t.PID] = true, true
	}
	return l
}

// close ends what a thread did.
func (w *window) close(l *lane, at uint64) {
	l.now.to = at
	if l.now.to > l.now.from {
		l.spans = append(l.spans, l.now)
	}
}

// turn gives a CPU to another task.
func (w *window) turn(e Event) {
	if e.By.TID != 0 {
		l := w.lane(e.By)
		if l.now.state == unknown {
			l.now.state, l.now.cpu = running, e.CPU
		}
		if len(w.has[e.CPU]) == 0 {
			w.has[e.CPU] = []hold{{w.from, l}}
		}
		w.close(l, e.At)
		l.now = span{from: e.At, state: blocked, cpu: e.CPU, word: e.Word, wait: e.Wait}
		if e.Ready {
			l.now.state = ready
		}
		if part, ok := l.now.part(); ok && part == explain.Application {
			w.account.serves[l.TID] = true
		}
	}
	if e.To.TID == 0 {
		w.has[e.CPU] = append(w.has[e.CPU], hold{e.At, nil})
		return
	}
	l := w.lane(e.To)
	switch l.now.state {
	case unknown: // it waited for a CPU when the window was opened
		l.now.state = ready
	case blocked: // nothing told that it was woken
		l.now.to = e.At
	}
	l.now.cpu = e.CPU
	w.close(l, e.At)
	l.now = span{from: e.At, state: running, cpu: e.CPU}
	w.has[e.CPU] = append(w.has[e.CPU], hold{e.At, l})
}

// wake makes a task ready that was blocked.
func (w *window) wake(e Event) {
	l := w.lane(e.To)
	switch l.now.state {
	case unknown:
		l.now.state, l.now.wait, l.now.word = blocked, e.Wait, Word(w.words[e.To.PID])
	case blocked:
	default:
		return
	}
	if l.now.interrupt = e.Interrupt || e.By.TID == 0; !l.now.interrupt {
		l.now.by = w.lane(e.By)
	}
	w.close(l, e.At)
	l.now = span{from: e.At, state: ready, cpu: e.CPU}
}

// book adds what a thread did at a moment.
func (w *window) book(l *lane, t uint64, moment int, seconds float64) {
	s := l.span(t)
	if s == nil {
		return
	}
	part, ok := s.part()
	if !ok {
		return
	}
	if part == explain.Locks && s.word == 0 && s.interrupt {
		return // its time was over: a pool has nothing to do
	}
	a, end := w.account, w.follow(l, t, moment)
	shares := a.Windows[len(a.Windows)-1]
	if shares[part] == nil {
		shares[part] = map[End]float64{}
	}
	shares[part][end] += seconds
	if part == explain.Application && s.by != nil && !s.by.Member {
		a.Clients[s.by.PID] = true
	}
}

// span is what a thread does at a time, which is later than the one before; nil: not known.
func (l *lane) span(t uint64) *span {
	for l.at < len(l.spans) && l.spans[l.at].to <= t {
		l.at++
	}
	if l.at == len(l.spans) || l.spans[l.at].from > t || l.spans[l.at].state == unknown {
		return nil
	}
	return &l.spans[l.at]
}

// part is where a session's time counts by its first wait. ok is false where it has nothing to do.
func (s *span) part() (part explain.PartName, ok bool) {
	switch s.state {
	case running:
		return explain.DatabaseCPU, true
	case ready:
		return explain.RunQueue, true
	}
	switch s.word >> 24 {
	case lwlock:
		if s.word == walWrite {
			return explain.LogWait, true
		}
		return explain.Locks, true
	case lock, pin:
		return explain.Locks, true
	case activity:
		return "", false
	case client:
		return explain.Application, true
	case ipc, timeout:
		return explain.OtherWaits, true
	}
	switch k := s.wait.Kind; {
	case k == waits.Sync:
		return explain.LogWait, true
	case k == waits.Lock:
		return explain.Locks, true
	case (k == waits.Read || k == waits.AsyncIO) && s.wait.Blocked:
		return explain.DataReads, true
	case k == waits.Peer, k == waits.Poll, k == waits.Read: // of a socket or pipe
		return explain.Application, true
	}
	return explain.OtherWaits, true
}

// follow finds what a thread's state at a time ends with.
func (w *window) follow(l *lane, t uint64, moment int) End {
	if l.moment == moment {
		return l.end
	}
	l.moment, l.end = moment, End{Kind: Circle, PID: l.PID} // whoever comes back here
	s := l.span(t)
	l.end = w.ends(l, s, t, moment)
	if s != nil && s.state == blocked {
		part, _ := s.part()
		l.end.Log, l.end.Data = l.end.Log || part == explain.LogWait, l.end.Data || part == explain.DataReads
		l.end.Client = l.end.Client || part == explain.Application
	}
	return l.end
}

func (w *window) ends(l *lane, s *span, t uint64, moment int) End {
	of := func(k Kind) End { return End{Kind: k, PID: l.PID} }
	if s == nil {
		return of(Unseen)
	}
	switch s.state {
	case running:
		return of(Computing)
	case ready:
		return End{Kind: Ready, PID: w.holder(s.cpu, t)}
	}
	switch k := s.wait.Kind; {
	case k == waits.Sync:
		return of(Log)
	case k == waits.Sleep || s.word>>24 == timeout:
		return of(Asleep)
	case s.wait.Blocked && (k == waits.Read || k == waits.AsyncIO):
		return of(Data)
	case s.wait.Blocked && k != waits.Lock:
		return of(Device)
	case s.interrupt && (s.word>>24 == lock || s.word>>24 == lwlock):
		return of(Unseen) // a look at whether all wait for each other, after which it waits on
	case s.interrupt && k == waits.Lock:
		return of(Asleep) // its time was over
	case s.interrupt:
		return of(Remote)
	case s.by == nil:
		return of(Unseen)
	case (s.word>>24 == client || l.Member && k == waits.Peer) && s.by.Member && s.by.PID != l.PID:
		return of(Remote) // a packet came while another session had the CPU
	}
	return w.follow(s.by, t, moment)
}

// holder is the process that has a CPU at a time; 0: none.
func (w *window) holder(cpu int, t uint64) int {
	has, i := w.has[cpu], w.held[cpu]
	for i < len(has) && has[i].from <= t {
		i++
	}
	w.held[cpu] = i
	if i == 0 || has[i-1].lane == nil {
		return 0
	}
	return has[i-1].lane.PID
}

// Share is the part's time that ends in a way, as a share of that of which the end was seen, with its 95 % interval by windows.
// N is their number; 0: none showed an end.
func (a *Account) Share(part explain.PartName, is func(End) bool) result.Estimate {
	var x, of []float64
	for _, w := range a.Windows {
		in, all := 0.0, 0.0
		for _, e := range slices.SortedFunc(maps.Keys(w[part]), compare) {
			if s := w[part][e]; e.Kind != Unseen {
				all += s
				if is(e) {
					in += s
				}
			}
		}
		if all > 0 {
			x, of = append(x, in), append(of, all)
		}
	}
	if len(x) == 0 {
		return result.Estimate{High: 1}
	}
	r := stats.RatioOfSums(x, of, 0.05)
	if len(x) == 1 { // one window says nothing of others
		r.Low, r.High = 0, 1
	}
	return result.Estimate{Value: r.Value, Low: max(0, r.Low), High: min(1, r.High), N: len(x), Evidence: result.Measured}
}

// Seen is the time of a part in windows, s, and the share of it of which the end was seen.
func (a *Account) Seen(part explain.PartName) (seconds, share float64) {
	ended := 0.0
	for _, w := range a.Windows {
		for _, e := range slices.SortedFunc(maps.Keys(w[part]), compare) {
			seconds += w[part][e]
			if e.Kind != Unseen {
				ended += w[part][e]
			}
		}
	}
	return seconds, ended / max(seconds, 1e-9)
}

// Ends are all that a part's waits ended with, the longest first.
func (a *Account) Ends(part explain.PartName) []End {
	seconds := map[End]float64{}
	for _, w := range a.Windows {
		for e, s := range w[part] {
			seconds[e] += s
		}
	}
	return slices.SortedFunc(maps.Keys(seconds), func(x, y End) int {
		return cmp.Or(cmp.Compare(seconds[y], seconds[x]), compare(x, y))
	})
}

func compare(x, y End) int {
	flags := func(e End) (n int) {
		if e.Log {
			n++
		}
		if e.Data {
			n += 2
		}
		if e.Client {
			n += 4
		}
		return n
	}
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.PID, y.PID), cmp.Compare(flags(x), flags(y)))
}
