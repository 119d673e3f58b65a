package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/explain"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// logDevice is the section "log".
type logDevice struct{ *analysis.LogDevice }

func newLogDevice(a *analysis.Analysis, runs []result.Run) logDevice {
	return logDevice{analysis.NewLogDevice(a.Experiment, runs)}
}

// verdict warns of a gain beyond its bound.
func (s logDevice) verdict() []string {
	var list []string
	for _, r := range s.Rows {
		for _, p := range r.Pairs {
			if p.Exceeds {
				list = append(list, s.Factor.Name+" "+p.To+" at "+r.Name)
			}
		}
	}
	if list == nil {
		return nil
	}
	return []string{fmt.Sprintf(
		"Warning: %s gained more than all the time that the job waited for its log before, beyond "+
			"both intervals. Something else changed with the device; do not trust this gain.", strings.Join(list, "; "))}
}

func (s logDevice) section(string) document.Section {
	out := document.Section{Title: "The log device"}
	add := func(b document.Block) { out.Blocks = append(out.Blocks, b) }
	note := func(text string) { add(document.Line{Text: text, Tone: document.Quiet}) }
	switch {
	case len(s.Rows) == 0:
		note("The record has no factor of log devices or no duration: there is nothing to compare.")
		return out
	case !slices.ContainsFunc(s.Rows, func(r analysis.LogRow) bool { return len(r.Pairs) > 0 }):
		note("Fewer than two devices have a run that counts: there is nothing to compare yet.")
		return out
	}
	note(fmt.Sprintf(
		"Means of the blocks, %s. Gains are paired within blocks: the part of the time with %s %s that was saved. "+
			"Their %s intervals hold each by itself, not corrected for their number nor for the looks.", s.evidence(),
		s.Factor.Name,
		s.Factor.Baseline, confidence(s.Alpha)))
	add(s.runTimes())
	if s.Write != nil {
		add(s.logWrites())
	}
	for i := range s.Rows {
		if len(s.Rows[i].Pairs) == 0 {
			continue // the tables above say that it was not run
		}
		if len(s.Parts) > 0 {
			add(s.waits(&s.Rows[i]))
		}
		if s.Rows[i].Sampled() {
			add(s.events(&s.Rows[i]))
		}
	}
	if s.Share != nil {
		add(s.bounds())
	} else {
		note("The record has no share of the time that waited for the log, so gains have no upper bound.")
	}
	if len(s.Parts) > 0 && !slices.ContainsFunc(s.Rows, func(r analysis.LogRow) bool { return r.Sampled() }) {
		note("The record has no wait events in a server's words: no session was sampled.")
	}
	for _, l := range s.Factor.Levels {
		name := s.Factor.Name + " " + l
		place := s.Experiment.Place(s.Factor.Name, l)
		if place.On != "" {
			note(name + ": " + place.On + ".")
		}
		if place.Volatile {
			note(name +
				" is memory, which loses everything with the power: what it gains bounds what persistent memory could. No log " +
				"belongs there.")
		}
	}
	return out
}

// emulated reports whether a level stands for a device that is not there.
func (s logDevice) emulated(level string) bool {
	return slices.ContainsFunc(s.Rows, func(r analysis.LogRow) bool {
		return slices.ContainsFunc(r.Cells, func(c analysis.LogCell) bool { return c.Level == level && c.Emulated })
	})
}

// called is a level's name, with what it is not.
func (s logDevice) called(level string) string {
	if s.emulated(level) {
		return level + " (emulated)"
	}
	return level
}

// columns name the devices, after what the rows are.
func (s logDevice) columns(rows string) []document.Column {
	var list []string
	for _, l := range s.Factor.Levels {
		list = append(list, s.called(l))
	}
	return document.Headings(rows, list...)
}

// table has a row for each of the section's and a column for each device.
func (s logDevice) table(title string, of func(r *analysis.LogRow, c *analysis.LogCell) document.Cell) *document.Table {
	t := &document.Table{Title: title, Columns: s.columns("run")}
	for i := range s.Rows {
		r := &s.Rows[i]
		t.Add(s.row(r, r.Name, func(c *analysis.LogCell) document.Cell { return of(r, c) })...)
	}
	return t
}

// row has a cell for each device.
func (s logDevice) row(r *analysis.LogRow, name string, of func(c *analysis.LogCell) document.Cell) []document.Cell {
	out := []document.Cell{document.Text(name)}
	for _, l := range s.Factor.Levels {
		text := document.Text("not run")
		for i := range r.Cells {
			if c := &r.Cells[i]; c.Level == l && c.Mean.N > 0 {
				text = of(c)
			}
		}
		out = append(out, text)
	}
	return out
}

func (s logDevice) runTimes() *document.Table {
	return s.table("Run times", func(r *analysis.LogRow, c *analysis.LogCell) document.Cell {
		mean := result.Format(c.Mean.Value, s.Duration.Unit)
		if c.Level == s.Factor.Baseline {
			return document.Text(mean, fmt.Sprintf("baseline, n = %d", c.Mean.N))
		}
		gain := r.Pair(s.Factor.Baseline, c.Level).Gain
		return document.Text(mean, fmt.Sprintf("gain %s, n = %d", percentOf(gain.Value), gain.N), between(gain, percentOf))
	})
}

func (s logDevice) logWrites() *document.Table {
	ratio := result.Response{Compare: result.Ratio}
	return s.table(label(s.Write), func(_ *analysis.LogRow, c *analysis.LogCell) document.Cell {
		mean := result.Format(c.Write.Value, s.Write.Unit)
		if c.Level == s.Factor.Baseline || !c.Write.Known() {
			return document.Text(mean)
		}
		return document.Text(mean, fmt.Sprintf("%s, n = %d", amount(c.Writes.Value, &ratio), c.Writes.N),
			span(c.Writes.Low, c.Writes.High, &ratio))
	})
}

// waits are the parts of the time with each device: a bar each, and a table of them.
func (s logDevice) waits(r *analysis.LogRow) *document.Bars {
	t := &document.Table{Title: "What the time went to, " + r.Name, Columns: s.columns("part"),
		Lead: "Seconds of a run, and their share of it: they add up to the run times above."}
	b := &document.Bars{Title: t.Title, Lead: "Seconds of a run with each device, by what it spent them on.", Table: t}
	for _, l := range s.Factor.Levels {
		b.Rows = append(b.Rows, document.Bar{Name: s.called(l), Ends: []document.Cell{document.Text("not run")}})
	}
	add := func(p *result.Response, of func(c *analysis.LogCell) float64) []document.Cell {
		return s.row(r, segment(p, 0).Name, func(c *analysis.LogCell) document.Cell {
			v := of(c)
			if math.IsNaN(v) {
				return document.Text("unknown")
			}
			bar := &b.Rows[slices.Index(s.Factor.Levels, c.Level)]
			bar.Segments, bar.Ends = append(bar.Segments, segment(p, v)),
				[]document.Cell{document.Text(result.Format(c.Mean.Value, "s"))}
			return document.Text(result.Format(v, "s"), percentOf(v/c.Mean.Value))
		})
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		t.Add(add(p, func(c *analysis.LogCell) float64 { return c.Parts[p.Name].Value })...)
	}
	for _, x := range []struct {
		name string
		of   func(c *analysis.LogCell) float64
	}{
		{"in none of these", func(c *analysis.LogCell) float64 { return max(0, c.Rest.Value) }},
		{"counted twice", func(c *analysis.LogCell) float64 { return min(0, c.Rest.Value) }},
	} {
		some := false
		row := add(&result.Response{Name: string(explain.Unexplained), Title: x.name}, func(c *analysis.LogCell) float64 {
			rest := x.of(c)
			if math.Abs(rest) < 1e-4*c.Mean.Value { // rounding: no share is printed finer
				rest = 0
			}
			some = some || rest != 0
			return rest
		})
		if some {
			t.Add(row...)
		}
	}
	return b
}

// bounds set each gain beside the most that it could be.
func (s logDevice) bounds() *document.Table {
	what := "waited for its log"
	if s.Share.Name == analysis.InCommits {
		what = "was in commits, or waited for its log elsewhere,"
	}
	t := &document.Table{Title: "Measured gain and its upper bound",
		Columns: document.Headings("device", "measured", "at most", "verdict"),
		Lead: fmt.Sprintf(
			"The bound is the share of its time that the job %s on the device that the log comes from: no other "+
				"gives more.", what)}
	for i := range s.Rows {
		for _, p := range s.Rows[i].Pairs {
			name := s.called(p.From) + " to " + s.called(p.To)
			if len(s.Rows) > 1 {
				name += ", " + s.Rows[i].Name
			}
			t.Add(document.Text(name), document.Text(percentOf(p.Gain.Value), between(p.Gain, percentOf)),
				document.Text(percentOf(p.Bound.Value), between(p.Bound, percentOf)), document.Text(boundWord(&p)))
		}
	}
	return t
}

// boundWord says how the gain stands to its bound.
func boundWord(p *analysis.LogPair) string {
	switch {
	case math.IsNaN(p.Bound.High) || math.IsNaN(p.Gain.Low):
		return "too few blocks"
	case p.Exceeds:
		return "BEYOND the bound"
	case p.Gain.High < 0:
		return "slower"
	case p.Gain.Low <= 0:
		return "no gain seen"
	}
	return "within the bound"
}

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
	t := &document.Table{Title: "Wait events in the server's words, " + r.Name, Columns: s.columns("event, part"),
		Lead: fmt.Sprintf(
			"What the job's session was seen doing: seconds of a run, and their share of it, sampled every %s. Samples "+
				"overstate short waits. A session without an event is on a CPU or wants one: the parts above count both.",
			result.Format(seen/float64(looks), "s"))}
	row := func(name string, of func(w *analysis.LogWaits) document.Cell) {
		t.Add(s.row(r, name, func(c *analysis.LogCell) document.Cell {
			if c.Waits == nil {
				return document.Text("not sampled")
			}
			return of(c.Waits)
		})...)
	}
	amount := func(events ...analysis.Event) func(w *analysis.LogWaits) document.Cell {
		return func(w *analysis.LogWaits) document.Cell {
			v := w.Seconds(events...)
			if v == 0 {
				return document.Text("not seen")
			}
			return document.Text(result.Format(v, "s"), percentOf(v/w.Mean))
		}
	}
	all := r.Top()
	few := all[:min(mostEvents, len(all))]
	for _, e := range few {
		row(screen.Clean(e.Name)+", "+screen.Clean(explain.PartName(e.Part).Title()), amount(e))
	}
	if more := all[len(few):]; len(more) > 0 {
		row(screen.Count(len(more), "other event"), amount(more...))
	}
	row("sampled", func(w *analysis.LogWaits) document.Cell {
		return document.Text(screen.Count(w.Runs, "run"), screen.Count(w.Looks, "look"))
	})
	return t
}

// evidence labels the figures of all levels.
func (s logDevice) evidence() string {
	emulated := 0
	for _, l := range s.Factor.Levels {
		if s.emulated(l) {
			emulated++
		}
	}
	switch emulated {
	case 0:
		return string(s.Experiment.Evidence)
	case len(s.Factor.Levels):
		return string(result.Emulated)
	}
	return string(result.Measured) + " where no device is marked as emulated"
}
