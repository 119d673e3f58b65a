package scanlock

import (
	"errors"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/worker"
)

const job = "scanlock"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job {
	return []worker.Job{{Name: job, New: newServer}, {Name: distanceJob, New: newDistance}}
}

// request is what the parent asks for: Cell to start one, nothing to hear how far
// the threads are, or Read for a snapshot.
type request struct {
	Cell *Cell `json:"cell,omitempty"`
	Read bool  `json:"read,omitempty"`
}

type reply struct {
	Missing  *int      `json:"missing,omitempty"` // CPU of a thread that has not arrived
	Snapshot *Snapshot `json:"snapshot,omitempty"`
}

// newServer is the worker's side. Every request is answered at once, so that the
// parent may take silence for a worker that hangs.
func newServer() worker.Func {
	clock := hot.StartClock()
	var w *crew
	running := false
	return worker.Handle(func(r request) (reply, error) {
		switch {
		case r.Cell != nil && w == nil:
			w = muster(*r.Cell, clock)
		case r.Cell != nil || w == nil:
			return reply{}, errors.New("a worker runs one cell, and first of all")
		}
		if err := w.failure(); err != nil {
			return reply{}, err
		}
		if !running {
			if cpu, some := w.missing(); some {
				return reply{Missing: &cpu}, nil
			}
			w.run()
			running = true
		}
		if !r.Read {
			return reply{}, nil
		}
		s, err := w.snapshot()
		return reply{Snapshot: &s}, err
	})
}

// settle is how often Start asks whether all threads have arrived.
const settle = 2 * time.Millisecond
