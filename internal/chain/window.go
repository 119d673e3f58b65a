package chain

import (
	"iter"

	"hostlab/internal/explain"
	"hostlab/internal/waits"
)

// span is a stretch in which a thread does one thing.
type span struct {
	from, to  uint64
	by        *lane // that woke it; nil: not seen
	kind      waits.Kind
	word      Word
	cpu       int32 // that it has, or gets
	state     state
	blocked   bool // the kernel does not interrupt its wait
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

// window is the events of one stretch, of which nothing is known before. Its memory is that of the window before: many
// would else be garbage of megabytes a second.
type window struct {
	from    uint64
	lanes   map[int]*lane
	order   []*lane
	words   map[int]uint32
	account *Account
	has     map[int][]hold
	held    map[int]int // by CPU: the hold of the moment
	spare   []*lane     // of windows before
}

// begin forgets the window before.
func (w *window) begin(a *Account, words map[int]uint32, from uint64) {
	if w.lanes == nil {
		w.lanes, w.has, w.held = map[int]*lane{}, map[int][]hold{}, map[int]int{}
	}
	w.account, w.words, w.from = a, words, from
	w.spare, w.order = append(w.spare, w.order...), w.order[:0]
	clear(w.lanes)
	clear(w.held)
	for cpu := range w.has {
		w.has[cpu] = w.has[cpu][:0]
	}
}

// hold is that a task has a CPU from a time on.
type hold struct {
	from uint64
	lane *lane
}

// Add follows the waits in a window from one time to another, ns, at moments that lie so far apart, the first at a
// share of that. Events are in order. words are those of the processes when it was opened.
func (a *Account) Add(events iter.Seq[Event], words map[int]uint32, from, to, step uint64, first float64) {
	w := &a.window
	w.begin(a, words, from)
	for e := range events {
		if e.Wake {
			w.wake(e)
		} else {
			w.turn(e)
		}
	}
	for _, l := range w.order {
		w.close(l, to)
	}
	a.Windows, a.Ran, a.Waited = append(a.Windows, Shares{}), append(a.Ran, 0), append(a.Waited, 0)
	moment := 1
	for t := from + uint64(first*float64(step)); t < to; t += step {
		for _, l := range w.order {
			if l.Member && !a.own[l.TID] {
				w.turns(l, t, float64(step)/1e9)
			}
			if l.Member && (a.all || a.serves[l.TID]) {
				w.book(l, t, moment, float64(step)/1e9)
			}
		}
		moment++
	}
	a.serve()
	a.Moments, a.Lengths = a.Moments+moment-1, append(a.Lengths, float64(to-from)/1e9)
}

func (w *window) lane(t Task) *lane {
	l := w.lanes[t.TID]
	if l == nil {
		l = &lane{}
		if n := len(w.spare); n > 0 {
			l, w.spare = w.spare[n-1], w.spare[:n-1]
		}
		*l = lane{Task: t, spans: l.spans[:0], now: span{from: w.from}}
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
	cpu := int32(e.CPU) //nolint:gosec // it is small
	if e.By.TID != 0 {
		l := w.lane(e.By)
		if l.now.state == unknown {
			l.now.state, l.now.cpu = running, cpu
		}
		if len(w.has[e.CPU]) == 0 {
			w.has[e.CPU] = []hold{{w.from, l}}
		}
		w.close(l, e.At)
		l.now = span{from: e.At, state: blocked, cpu: cpu, word: e.Word, kind: e.Wait.Kind, blocked: e.Wait.Blocked}
		if e.Ready {
			l.now.state = ready
		}
		switch part, ok := l.now.part(); {
		case !ok:
			w.account.own[l.TID] = true
		case part == explain.Application:
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
	case blocked: // its wake-up was missed
		l.now.to = e.At
	}
	l.now.cpu = cpu
	w.close(l, e.At)
	l.now = span{from: e.At, state: running, cpu: cpu}
	w.has[e.CPU] = append(w.has[e.CPU], hold{e.At, l})
}

// wake makes a task ready that was blocked.
func (w *window) wake(e Event) {
	l := w.lane(e.To)
	switch l.now.state {
	case unknown:
		l.now.state, l.now.word = blocked, Word(w.words[e.To.PID])
		l.now.kind, l.now.blocked = e.Wait.Kind, e.Wait.Blocked
	case blocked:
	default:
		return
	}
	if l.now.interrupt = e.Interrupt || e.By.TID == 0; !l.now.interrupt {
		l.now.by = w.lane(e.By)
		part, _ := l.now.part()
		switch by := l.now.by; {
		case l.Member && !by.Member && part == explain.Application:
			w.account.ended[by.PID]++
		case by.Member && !l.Member:
			w.account.woken[l.PID]++
		}
	}
	w.close(l, e.At)
	l.now = span{from: e.At, state: ready, cpu: int32(e.CPU)} //nolint:gosec // it is small
}

// turns adds whether a thread had a CPU at a moment, or waited for one.
func (w *window) turns(l *lane, t uint64, seconds float64) {
	a, s := w.account, l.span(t)
	switch last := len(a.Windows) - 1; {
	case s == nil:
	case s.state == running:
		a.Ran[last] += seconds
	case s.state == ready:
		a.Waited[last] += seconds
	}
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
	if part == explain.Locks && s.word == 0 {
		if s.interrupt {
			return // its time was over: a pool has nothing to do
		}
		if w.account.locked[l.TID] += seconds; s.by != nil && w.account.hands(s.by, l) {
			return
		}
	}
	a, end := w.account, w.follow(l, t, moment)
	shares := a.Windows[len(a.Windows)-1]
	if shares[part] == nil {
		shares[part] = map[End]float64{}
	}
	shares[part][end] += seconds
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
	switch k := s.kind; {
	case k == waits.Sync:
		return explain.LogWait, true
	case k == waits.Lock:
		return explain.Locks, true
	case (k == waits.Read || k == waits.AsyncIO) && s.blocked:
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
	l.moment, l.end = moment, End{Kind: Circle, PID: l.PID} // for a wait that leads back here
	s := l.span(t)
	l.end = w.ends(l, s, t, moment)
	if s != nil && s.state == ready && l.at > 0 { // who has waited wants a CPU, which it would have kept
		s = &l.spans[l.at-1]
	}
	if s != nil && s.state == blocked {
		part, _ := s.part()
		l.end.Log, l.end.Data = l.end.Log || part == explain.LogWait, l.end.Data || part == explain.DataReads
		l.end.Client = l.end.Client || part == explain.Application && l.spans[l.at].state == blocked
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
		return End{Kind: Ready, PID: w.holder(int(s.cpu), t)}
	}
	switch k := s.kind; {
	case k == waits.Sync:
		return of(Log)
	case k == waits.Sleep || s.word>>24 == timeout:
		return of(Asleep)
	case s.blocked && (k == waits.Read || k == waits.AsyncIO):
		return of(Data)
	case s.blocked && k != waits.Lock:
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
