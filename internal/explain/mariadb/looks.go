package mariadb

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
	"hostlab/internal/stats"
	"hostlab/internal/thread"
	"hostlab/internal/waits"
)

// looks show what sessions do by the system calls of the threads that serve them, so that no statement runs for it. The
// server is asked now and then who they are, and what only it knows: whether who waits for its client is within a
// transaction, and what a thread waits for that another one of the server wakes.
type looks struct {
	threads *waits.Threads
	serving []serving // sessions, as listed last
	listed  time.Time
	last    time.Time     // look
	used    time.Duration // CPU time that looks took

	asleep, woken divided
	running       divided // what the server says of those that run, or are ready to
	synced        float64 // s of looks that saw a commit on its way to the log's device
}

// serving is a session and the thread that serves it.
type serving struct {
	id  int64
	tid int
	// at is the call in which it waited when it was listed, and still is set where it has waited for its client since
	// the list before: such are many.
	at    string
	call  waits.Wait
	still bool
}

// shows is how a session shows.
type shows struct {
	part  explain.PartName
	event string
}

// divided is time that looks see as one, divided as the server answered when it was asked.
type divided struct {
	told    map[shows]int // sessions
	of      int
	given   map[shows]float64 // looks
	seconds float64
}

// relist is how many looks lie between two lists, listing the shortest time between them, and few is how many sessions
// are all looked at each time.
const (
	relist  = 100
	listing = 2 * time.Second
	few     = 100
)

// churn is the share of sessions that may be new in a list: a thread that waits for its next session looks as one that
// waits for a lock.
const churn = 0.2

// latch is what a thread waits for that shows as executing: a row that another transaction has, or a page.
var latch = shows{explain.Locks, "a lock within InnoDB"}

// idle is a session between transactions.
var idle = shows{explain.Idle, "Sleep"}

// begin forgets what was seen.
func (l *looks) begin() {
	l.last, l.asleep, l.woken, l.running, l.synced = time.Time{}, divided{}, divided{}, divided{}, 0
}

// took reports that samples came from looks. Without looks, the server was asked for each sample.
func (l *looks) took() bool { return l != nil && !l.last.IsZero() }

// tell takes what the server says of a session.
func (d *divided) tell(x shows) {
	if d.told == nil {
		d.told = map[shows]int{}
	}
	d.told[x]++
	d.of++
}

// next is what one more look shows: what has had least of its share. usual is what it is where the server named none.
func (d *divided) next(usual shows, seconds float64) (x shows) {
	d.seconds += seconds
	if d.of == 0 {
		return usual
	}
	if d.given == nil {
		d.given = map[shows]float64{}
	}
	total := 1.0
	for _, n := range d.given {
		total += n
	}
	most := 0.0
	for y, n := range d.told {
		owed := float64(n)/float64(d.of)*total - d.given[y]
		if owed > most || owed == most && y.event < x.event {
			x, most = y, owed
		}
	}
	d.given[x]++
	return x
}

// share is the part's share of it by the answers, and at most, as the server was asked of so many.
func (d *divided) share(part explain.PartName) (likely, most float64) {
	k := 0
	for x, n := range d.told {
		if x.part == part {
			k += n
		}
	}
	_, most = stats.Share(k, d.of, 0.05)
	return float64(k) / float64(max(1, d.of)), most
}

// atMost is how long a part may have been of what looks saw, s.
func (d *divided) atMost(part explain.PartName) float64 {
	_, most := d.share(part)
	return most * d.seconds
}

// glance is what each thread does that has not ended.
func (l *looks) glance(each func(x *serving, w waits.Wait, at string)) {
	for i := range l.serving {
		x := &l.serving[i]
		if x.still {
			each(x, x.call, x.at)
		} else if w, at, err := l.threads.Of(x.tid); err == nil {
			each(x, w, at)
		}
	}
}

// list takes the sessions of a sample, whose threads waited as before shows until it was asked. It reports whether they
// are not to be followed, as many are others than before.
func (l *looks) list(sessions []serving, told map[int64]shows, before map[int64]string, moved func(tid int64) bool) (churns bool) {
	known, fresh := map[int64]bool{}, 0
	for _, x := range l.serving {
		known[x.id] = true
	}
	for _, x := range sessions {
		if !known[x.id] {
			fresh++
		}
	}
	if len(known) > 0 && float64(fresh) > max(1, churn*float64(len(sessions))) {
		return true
	}
	tids := map[int]bool{}
	for _, x := range sessions {
		tids[x.tid] = true
	}
	l.threads.Keep(tids)
	l.serving, l.listed = sessions, time.Now()
	l.glance(func(x *serving, w waits.Wait, at string) {
		x.call, x.at = w, at
		says := told[x.id]
		switch {
		case waiting(w.Kind):
			x.still = len(sessions) > few && known[x.id] && before[x.id] == at && !moved(int64(x.tid))
			if says == idle || says.event == inTransaction {
				l.asleep.tell(says)
			}
		case w.Kind == waits.Lock && before[x.id] == at && says.part != explain.Idle:
			if says.part == explain.DatabaseCPU {
				says = latch
			}
			l.woken.tell(says)
		case w.Kind == waits.Running && says.part != explain.Idle:
			l.running.tell(says)
		}
	})
	return false
}

// waiting reports a wait for a client.
func waiting(k waits.Kind) bool { return k == waits.Poll || k == waits.Peer }

// before is the call of each session's thread now.
func (l *looks) before() map[int64]string {
	out := map[int64]string{}
	if l != nil {
		l.glance(func(x *serving, _ waits.Wait, at string) { out[x.id] = at })
	}
	return out
}

// Look implements explain.Looker.
func (s *Source) Look(ctx context.Context, until time.Time, mean time.Duration) (shots []explain.Snapshot, ok bool) {
	for ctx.Err() == nil && time.Now().Before(until) {
		if s.looks == nil {
			return shots, len(shots) > 0
		}
		if time.Since(s.looks.listed) >= max(listing, relist*mean) {
			if _, err := s.Sample(ctx); err != nil {
				return shots, false
			}
			continue
		}
		pause := time.Duration(rand.ExpFloat64() * float64(mean)) //nolint:gosec // no secret
		if proc.Sleep(ctx, min(pause, time.Until(until))) == nil {
			shots = append(shots, s.shot())
		}
	}
	return shots, true
}

func (s *Source) shot() (shot explain.Snapshot) {
	l, now := s.looks, time.Now()
	if !l.last.IsZero() {
		shot.Seconds = now.Sub(l.last).Seconds()
	}
	l.last = now
	l.used += thread.Spent(func() {
		l.glance(func(x *serving, w waits.Wait, _ string) {
			v := s.shows(w, shot.Seconds)
			shot.Sessions = append(shot.Sessions, explain.Session{ID: x.id, Part: v.part, Event: v.event})
		})
	})
	return shot
}

// shows says what a wait of a session's thread is.
func (s *Source) shows(w waits.Wait, seconds float64) shows {
	commit := shows{explain.LogWait, "Commit"}
	if s.lazy != "" {
		commit = shows{explain.OtherWaits, unflushed}
	}
	name := filepath.Base(w.On)
	switch w.Kind {
	case waits.Running:
		return shows{explain.DatabaseCPU, explain.Running}
	case waits.Sync:
		s.looks.synced += seconds
		return commit
	case waits.Write:
		if strings.HasPrefix(name, "ib_logfile") || strings.Contains(name, "bin.") {
			s.looks.synced += seconds
			return commit
		}
		return shows{explain.OtherWaits, "writes a file"}
	case waits.Read:
		return shows{explain.DataReads, dataFile}
	case waits.Poll, waits.Peer:
		return s.looks.asleep.next(idle, seconds)
	case waits.Push:
		return shows{explain.Application, "Writing to net"}
	case waits.Lock:
		return s.looks.woken.next(latch, seconds)
	}
	return shows{explain.OtherWaits, string(w.Kind)}
}

// Looks implements explain.Looker.
func (s *Source) Looks() (questions int, cpu float64, ok bool) {
	if s.looks == nil {
		return int(s.asked), 0, false
	}
	return int(s.asked), s.looks.used.Seconds(), true
}

// untold puts in an account what looks could not tell apart.
func (s *Source) untold(a *explain.Account) {
	l := s.looks
	if !l.took() {
		return
	}
	a.Told = true
	if a.AtMost == nil {
		a.AtMost = map[explain.PartName]float64{}
	}
	for _, part := range []explain.PartName{explain.Locks, explain.OtherWaits} {
		a.AtMost[part] = l.woken.atMost(part)
	}
	if writes, known := a.Waits[explain.LogWait]; s.lazy == "" && (!known || writes > 0) {
		a.AtMost[explain.LogWait] = l.synced + l.woken.atMost(explain.LogWait)
		if a.CPU != nil { // a commit computes, too, and waits for a CPU when it is woken
			ready := a.CPU.Run + a.CPU.Queue
			likely, most := l.running.share(explain.LogWait)
			a.AtMost[explain.LogWait] += most * ready
			a.Within = map[explain.PartName]float64{explain.LogWait: likely * ready}
		}
	}
	a.AtMost[explain.Application] = l.asleep.atMost(explain.Application)
}
