package analysis

import (
	"cmp"
	"maps"
	"slices"

	"hostlab/internal/result"
)

// LogWaits are the server's wait events with one device at one size: of the runs in
// which the job's session was sampled.
type LogWaits struct {
	Runs, Looks int
	Mean        float64 // of those runs' durations, s
	Seen        float64 // of a run, s: what the looks stand for
	Events      map[Event]float64
}

// Event is one in the server's words, and the part of the time that it belongs to.
type Event struct{ Name, Part string }

// waitsOf are those of a cell; nil where no run has any.
func (s *LogDevice) waitsOf(runs []result.Run, cell int) *LogWaits {
	w := &LogWaits{Events: map[Event]float64{}}
	for i := range runs {
		r := &runs[i]
		d, timed := r.Values[s.Duration.Name]
		if r.Cell != cell || r.Waits == nil || !timed {
			continue
		}
		w.Runs++
		w.Looks += r.Waits.Looks
		w.Mean += d
		for _, e := range r.Waits.Events {
			w.Seen += e.Seconds
			w.Events[Event{e.Name, e.Part}] += e.Seconds
		}
	}
	if w.Runs == 0 || w.Looks == 0 || !(w.Mean > 0) {
		return nil
	}
	n := float64(w.Runs)
	w.Mean, w.Seen = w.Mean/n, w.Seen/n
	for e := range w.Events {
		w.Events[e] /= n
	}
	return w
}

// Top returns the events by the largest share that any device has.
func (r *LogRow) Top() []Event {
	most := map[Event]float64{}
	for i := range r.Cells {
		if w := r.Cells[i].Waits; w != nil {
			for e, v := range w.Events {
				most[e] = max(most[e], v/w.Mean)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(most), func(a, b Event) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part))
	})
}
