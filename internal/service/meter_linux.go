package service

import (
	"errors"
	"os"
	"time"

	"github.com/prometheus/procfs"

	"hostlab/internal/explain"
	"hostlab/internal/proc"
)

// A reading is followed by so many times as long without one, and a search for processes, which may be
// all of the host's, by more.
const (
	rest   = 800
	search = 2000
)

// Meter reads a service again and again. It keeps itself below a fifth of a percent of one CPU: the
// time between two readings should be at least Pause.
type Meter struct {
	Pause time.Duration // at least a second, and more where a reading takes long

	of      *Service
	began   time.Time // when threads were read first
	threads explain.Threads
	members []proc.Stat
	group   os.FileInfo   // of that name when it began: a unit that restarts gets another
	looked  time.Time     // for members
	cost    time.Duration // of a reading
	search  time.Duration // cost of looking for members
	total   float64       // of the processes that live, at the last look
	first   struct {
		group, throttled, busy, steal float64
		stalled                       map[string]float64
	}
	noQueue string
	last    Reading
}

// RunSource and QueueSource are where its times come from.
const (
	RunSource   = "schedstat"
	QueueSource = "schedstat"
	Method      = "counted by the kernel's scheduler for each thread"
)

// Close ends nothing: nothing runs between two readings.
func (m *Meter) Close() {}

// NewMeter begins to count; ErrEnded where there is nothing to count any more.
func (s *Service) NewMeter() (*Meter, error) {
	m := &Meter{of: s, cost: time.Hour, search: time.Hour}
	m.threads.Gone, m.threads.Turns = m.gone, true
	if s.group != nil {
		m.group = s.group.id()
		m.first.group, _ = s.group.used()
	}
	m.first.throttled, _ = s.throttled()
	m.first.busy, m.first.steal, _ = hostLoad()
	m.first.stalled = s.stalled()
	if _, _, err := explain.SchedStat(int64(s.PID)); s.PID != 0 && err != nil {
		m.noQueue = "this kernel counts no waits for a CPU (schedstat)"
	}
	_, err := m.Read()
	return m, err
}

// Read reads all that there is now. With ErrEnded the reading is the last one that had
// something to read.
func (m *Meter) Read() (Reading, error) {
	began := time.Now()
	m.look(began)
	var ids []int64
	processes := 0
	m.total = 0
	for _, p := range m.members {
		is, err := proc.Read(p.PID)
		threads := procfs.Procs{{PID: p.PID}} // to list one takes ten system calls
		if err == nil && is.Threads != 1 {
			threads, err = procfs.AllThreads(p.PID)
		}
		if err != nil || is.Started != p.Started || is.Ended() {
			continue // it has ended
		}
		processes++
		for _, t := range threads {
			ids = append(ids, int64(t.PID))
		}
		if t, err := proc.CPUTime(p.PID); err == nil {
			m.total += t.Seconds()
		}
		m.total += is.Reaped.Seconds()
	}
	if processes == 0 || m.of.group != nil && !m.of.group.same(m.group) {
		return m.last, ErrEnded
	}
	before := time.Now()
	m.threads.Watch(ids, nil)
	at := before.Add(time.Since(before) / 2) // on a busy host much later than the call
	if m.began.IsZero() {
		m.began = at
	}
	run, queue := m.threads.Total()
	r := Reading{At: at.Sub(m.began).Seconds(), CPU: run.Seconds(), Queue: queue.Seconds(), Processes: processes,
		Threads: len(ids), NoQueue: m.noQueue}
	likely, high := m.threads.Unseen()
	r.Queue, r.QueueHigh = r.Queue+likely.Seconds(), r.Queue+high.Seconds()
	if m.of.group != nil {
		if used, ok := m.of.group.used(); ok {
			r.CPU = used - m.first.group
		}
	}
	if t, ok := m.of.throttled(); ok {
		t -= m.first.throttled
		r.Throttled = &t
	}
	if busy, steal, ok := hostLoad(); ok {
		busy, steal = busy-m.first.busy, steal-m.first.steal
		r.Busy, r.Steal = &busy, &steal
	}
	r.Stalled = m.of.stalled()
	for name, before := range m.first.stalled {
		r.Stalled[name] -= before
	}
	m.last = r
	// The shortest is what a reading takes when it does not wait for a CPU itself.
	m.cost = min(m.cost, time.Since(began))
	m.Pause = max(time.Second, rest*m.cost)
	return r, nil
}

// Uses are what each of its threads has used that have not ended.
func (m *Meter) Uses() []explain.Use { return m.threads.Uses() }

// look finds the members of a service. All processes of a host are many to read, so it looks
// the more seldom the longer that takes.
func (m *Meter) look(now time.Time) {
	if !m.looked.IsZero() && now.Sub(m.looked) < search*m.search {
		return
	}
	began := time.Now()
	if m.of.group != nil {
		m.members = m.members[:0]
		for _, pid := range m.of.group.processes() {
			if s, err := proc.Read(pid); err == nil && !s.Ended() {
				m.members = append(m.members, s)
			}
		}
		m.looked, m.search = now, min(m.search, time.Since(began))
		return
	}
	known := m.members
	m.members = nil
	if root, err := proc.Read(m.of.root.PID); err == nil && root.Identity() == m.of.root.Identity() {
		m.members = append([]proc.Stat{root}, proc.Descendants(root.PID)...)
		m.members = append(m.members, left(known, m.members)...)
	}
	m.looked, m.search = now, min(m.search, time.Since(began))
}

// left are the known ones that a list of all of a family lacks, and that are of it: the kernel skips one where another
// ends just then (get_children_pid in fs/proc/array.c), and one that came back would count with all of its past.
func left(known, all []proc.Stat) (out []proc.Stat) {
	in := map[int]bool{}
	for _, s := range all {
		in[s.PID] = true
	}
	for _, s := range known {
		if in[s.PID] {
			continue
		}
		if now, err := proc.Read(s.PID); err == nil && now.Identity() == s.Identity() && in[now.Parent] {
			out = append(out, now)
		}
	}
	return out
}

// gone is what threads of the service had used that have ended, where those that live have
// used so much.
func (m *Meter) gone(live time.Duration) (time.Duration, error) {
	return time.Duration(m.total*1e9) - live, nil
}

// stalled reads for how long tasks have waited.
func (s *Service) stalled() map[string]float64 {
	out := map[string]float64{}
	for _, name := range []string{"cpu", "io", "memory"} {
		p, err := proc.Pressure{}, errors.ErrUnsupported
		if s.group != nil {
			p, err = proc.ReadPressure(s.group.file("", "", name+".pressure"))
		}
		if err != nil {
			p, err = proc.ReadPressure("/proc/pressure/" + name)
		}
		if err == nil {
			out[name] = p.Some
		}
	}
	return out
}

// hostLoad is what the host's CPUs have done since boot, s.
func hostLoad() (busy, steal float64, ok bool) {
	loads, ok := proc.Loads(nil)
	for _, l := range loads {
		busy, steal = busy+l.Busy, steal+l.Steal
	}
	return busy, steal, ok
}

// throttled is for how long its quotas have kept CPUs from it, s; ok is false where it has none that can be read.
func (s *Service) throttled() (all float64, ok bool) {
	for _, g := range s.limited() {
		t, known := g.throttled()
		all, ok = all+t, ok || known
	}
	return all, ok
}
