package service

import (
	"math"
	"time"

	"hostlab/internal/proc"
)

// tally adds up what a service of Windows uses, by looks at all processes. Windows counts each process's CPU time, and
// of waits for a CPU nothing: it shows each thread's state, so that looks at random moments sample them.
type tally struct {
	root           proc.Stat
	began, last    time.Time
	used           map[proc.Identity]time.Duration // of each process at the last look
	cpu            time.Duration
	processes      int
	threads        int
	looks          int     // after the first
	ready, squares float64 // threads that were ready, and their squares, over all looks
	queue          float64 // s
	running        bool    // some thread was seen running, as the one that looks always is
}

// add takes a look. It returns false where the service has ended.
func (t *tally) add(at time.Time, all []proc.Process) bool {
	byPID, stats := map[int]proc.Process{}, make([]proc.Stat, len(all))
	for i, p := range all {
		byPID[p.PID], stats[i] = p, p.Stat
		t.running = t.running || p.Running > 0
	}
	if byPID[t.root.PID].Started != t.root.Started || byPID[t.root.PID].PID == 0 {
		return false
	}
	first := t.used == nil
	if first {
		t.began, t.last, t.used = at, at, map[proc.Identity]time.Duration{}
	}
	ready := 0
	t.processes, t.threads = 0, 0
	for _, s := range proc.Below(stats, t.root.PID) {
		id := s.Identity()
		if !first { // one that came since counts whole
			t.cpu += s.CPU - t.used[id]
		}
		t.used[id] = s.CPU
		t.processes, t.threads, ready = t.processes+1, t.threads+byPID[s.PID].Threads, ready+byPID[s.PID].Ready
	}
	if !first {
		n := float64(ready)
		t.looks, t.ready, t.squares = t.looks+1, t.ready+n, t.squares+n*n
		t.queue += n * at.Sub(t.last).Seconds()
		t.last = at
	}
	return true
}

// rare is how often something may happen of which nothing is seen, in 39 of 40 cases (Poisson).
const rare = 3.7

// reading is what was used until now, with a 95 % interval of the wait for a CPU.
func (t *tally) reading() Reading {
	r := Reading{At: t.last.Sub(t.began).Seconds(), CPU: t.cpu.Seconds(), Processes: t.processes, Threads: t.threads,
		Stalled: map[string]float64{}}
	if !t.running {
		r.NoQueue = "no thread shows as running, not even hostlab's own, so thread states tell nothing here"
		return r
	}
	r.Queue, r.QueueHigh, r.Sampled = t.queue, t.queue, true
	if n := float64(t.looks); n > 0 {
		off := rare / n
		if n > 1 {
			variance := max(0, (t.squares-t.ready*t.ready/n)/(n-1))
			off = max(off, 1.96*math.Sqrt(variance/n))
		}
		r.QueueHigh += off * r.At
	}
	return r
}
