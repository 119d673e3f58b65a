package effects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// logWaits are the server's wait events with one device at one size: of the runs in
// which the job's session was sampled.
type logWaits struct {
	runs, looks int
	mean        float64 // of those runs' durations, s
	seen        float64 // of a run, s: what the looks stand for
	events      map[event]float64
}

// event is one in the server's words, and the part of the time that it belongs to.
type event struct{ name, part string }

// mostEvents is how many events have a row of their own; the section's JSON has all.
const mostEvents = 6

// waitsOf are those of a cell; nil where no run has any.
func (s *logDevice) waitsOf(runs []result.Run, cell int) *logWaits {
	w := &logWaits{events: map[event]float64{}}
	for i := range runs {
		r := &runs[i]
		d, timed := r.Values[s.duration.Name]
		if r.Cell != cell || r.Waits == nil || !timed {
			continue
		}
		w.runs++
		w.looks += r.Waits.Looks
		w.mean += d
		for _, e := range r.Waits.Events {
			w.seen += e.Seconds
			w.events[event{e.Name, e.Part}] += e.Seconds
		}
	}
	if w.runs == 0 || w.looks == 0 || !(w.mean > 0) {
		return nil
	}
	n := float64(w.runs)
	w.mean, w.seen = w.mean/n, w.seen/n
	for e := range w.events {
		w.events[e] /= n
	}
	return w
}

// top are the events by the largest share that any device has.
func (r *logRow) top() []event {
	most := map[event]float64{}
	for i := range r.cells {
		if w := r.cells[i].waits; w != nil {
			for e, v := range w.events {
				most[e] = max(most[e], v/w.mean)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(most), func(a, b event) int {
		return cmp.Or(cmp.Compare(most[b], most[a]), cmp.Compare(a.name, b.name), cmp.Compare(a.part, b.part))
	})
}

// events are what the job's session was seen doing with each device, in the server's words.
func (s *logDevice) events(r *logRow) *document.Table {
	looks, seen := 0, 0.0
	for i := range r.cells {
		if w := r.cells[i].waits; w != nil {
			looks += w.looks
			seen += w.seen * float64(w.runs)
		}
	}
	t := &document.Table{Title: "Wait events in the server's words, " + r.name, Columns: document.Headings("event, part", s.heads()...),
		Lead: fmt.Sprintf("What the job's session was seen doing: seconds of a run, and their share of it, sampled every %s. Samples overstate short waits. A session without an event is on a CPU or wants one: the parts above count both.",
			result.Format(seen/float64(looks), "s"))}
	row := func(name string, of func(w *logWaits) document.Cell) {
		t.Rows = append(t.Rows, s.row(r, name, func(c *logCell) document.Cell {
			if c.waits == nil {
				return document.Text("not sampled")
			}
			return of(c.waits)
		}))
	}
	amount := func(w *logWaits, v float64) document.Cell {
		if v == 0 {
			return document.Text("not seen")
		}
		return document.Text(result.Format(v, "s"), percentOf(v/w.mean))
	}
	all := r.top()
	few := all[:min(mostEvents, len(all))]
	for _, e := range few {
		row(screen.Clean(e.name)+", "+partWords(e.part), func(w *logWaits) document.Cell { return amount(w, w.events[e]) })
	}
	if more := all[len(few):]; len(more) > 0 {
		row(screen.Count(len(more), "other event"), func(w *logWaits) document.Cell {
			sum := 0.0
			for _, e := range more {
				sum += w.events[e]
			}
			return amount(w, sum)
		})
	}
	row("sampled", func(w *logWaits) document.Cell {
		return document.Text(screen.Count(w.runs, "run"), screen.Count(w.looks, "look"))
	})
	return t
}

// partWords is the name of a part for people.
func partWords(name string) string {
	return screen.Clean(strings.ReplaceAll(strings.ReplaceAll(name, "_", " "), " cpu", " CPU"))
}

type logJSONWaits struct {
	Runs   int            `json:"runs"`
	Looks  int            `json:"looks"`
	Mean   *float64       `json:"duration"`
	Events []logJSONEvent `json:"events"`
}

type logJSONEvent struct {
	Name    string   `json:"name"`
	Part    string   `json:"part"`
	Seconds *float64 `json:"seconds"`
	Share   *float64 `json:"share"`
}

func (w *logWaits) json() *logJSONWaits {
	if w == nil {
		return nil
	}
	out := &logJSONWaits{Runs: w.runs, Looks: w.looks, Mean: result.Finite(w.mean), Events: []logJSONEvent{}}
	for _, e := range slices.SortedFunc(maps.Keys(w.events), func(a, b event) int {
		return cmp.Or(cmp.Compare(w.events[b], w.events[a]), cmp.Compare(a.name, b.name), cmp.Compare(a.part, b.part))
	}) {
		out.Events = append(out.Events, logJSONEvent{e.name, e.part, result.Finite(w.events[e]), result.Finite(w.events[e] / w.mean)})
	}
	return out
}
