package effects

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// mostEvents is how many events have a row of their own; the section's JSON has all.
const mostEvents = 6

// events are what the job's session was seen doing with each device, in the server's words.
func (s logDevice) events(r *analysis.LogRow) *document.Table {
	looks, seen := 0, 0.0
	for i := range r.Cells {
		if w := r.Cells[i].Waits; w != nil {
			looks += w.Looks
			seen += w.Seen * float64(w.Runs)
		}
	}
	t := &document.Table{Title: "Wait events in the server's words, " + r.Name, Columns: document.Headings("event, part", s.heads()...),
		Lead: fmt.Sprintf("What the job's session was seen doing: seconds of a run, and their share of it, sampled every %s. Samples overstate short waits. A session without an event is on a CPU or wants one: the parts above count both.",
			result.Format(seen/float64(looks), "s"))}
	row := func(name string, of func(w *analysis.LogWaits) document.Cell) {
		t.Rows = append(t.Rows, s.row(r, name, func(c *analysis.LogCell) document.Cell {
			if c.Waits == nil {
				return document.Text("not sampled")
			}
			return of(c.Waits)
		}))
	}
	amount := func(w *analysis.LogWaits, v float64) document.Cell {
		if v == 0 {
			return document.Text("not seen")
		}
		return document.Text(result.Format(v, "s"), percentOf(v/w.Mean))
	}
	all := r.Top()
	few := all[:min(mostEvents, len(all))]
	for _, e := range few {
		row(screen.Clean(e.Name)+", "+partWords(e.Part), func(w *analysis.LogWaits) document.Cell { return amount(w, w.Events[e]) })
	}
	if more := all[len(few):]; len(more) > 0 {
		row(screen.Count(len(more), "other event"), func(w *analysis.LogWaits) document.Cell {
			sum := 0.0
			for _, e := range more {
				sum += w.Events[e]
			}
			return amount(w, sum)
		})
	}
	row("sampled", func(w *analysis.LogWaits) document.Cell {
		return document.Text(screen.Count(w.Runs, "run"), screen.Count(w.Looks, "look"))
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

func waitsJSON(w *analysis.LogWaits) *logJSONWaits {
	if w == nil {
		return nil
	}
	out := &logJSONWaits{Runs: w.Runs, Looks: w.Looks, Mean: result.Finite(w.Mean), Events: []logJSONEvent{}}
	for _, e := range slices.SortedFunc(maps.Keys(w.Events), func(a, b analysis.Event) int {
		return cmp.Or(cmp.Compare(w.Events[b], w.Events[a]), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Part, b.Part))
	}) {
		out.Events = append(out.Events, logJSONEvent{e.Name, e.Part, result.Finite(w.Events[e]), result.Finite(w.Events[e] / w.Mean)})
	}
	return out
}
