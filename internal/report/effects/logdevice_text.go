package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// logDevice is the section "log".
type logDevice struct{ *analysis.LogDevice }

func newLogDevice(a *analysis.Analysis, runs []result.Run) extra {
	return logDevice{analysis.NewLogDevice(a.Experiment, runs)}
}

// verdict warns of a gain beyond its bound.
func (s logDevice) verdict() []string {
	if list := s.exceeding(); len(list) > 0 {
		return []string{fmt.Sprintf("Warning: %s gained more than the job waited for its log where it was, beyond both intervals. "+
			"Something else changed with the device; do not trust this gain.", strings.Join(list, "; "))}
	}
	return nil
}

func (s logDevice) section(string) document.Section {
	out := document.Section{Title: "The log device"}
	if len(s.Rows) == 0 {
		out.Blocks = document.Lines(document.Quiet, "The record has no factor of log devices or no duration: there is nothing to compare.")
		return out
	}
	if !slices.ContainsFunc(s.Rows, func(r analysis.LogRow) bool { return len(r.Pairs) > 0 }) {
		out.Blocks = document.Lines(document.Quiet, "No two devices have a run that counts yet: there is nothing to compare.")
		return out
	}
	out.Blocks = document.Lines(document.Quiet, fmt.Sprintf("Means of the blocks, %s. Gains are paired within blocks: the part of the time with %s %s that was saved. "+
		"Their %s intervals hold each by itself, not corrected for their number nor for the looks.", s.evidence(), s.Factor.Name, s.Factor.Baseline, confidence(analysis.NominalAlpha)))
	note := func(text string) { out.Blocks = append(out.Blocks, document.Line{Text: text, Tone: document.Quiet}) }
	out.Blocks = append(out.Blocks, s.runTimes())
	if s.Write != nil {
		out.Blocks = append(out.Blocks, s.logWrites())
	}
	for i := range s.Rows {
		if len(s.Rows[i].Pairs) == 0 {
			continue // the tables above say that it was not run
		}
		if len(s.Parts) > 0 {
			out.Blocks = append(out.Blocks, s.waits(&s.Rows[i]))
		}
		if s.Rows[i].Sampled() {
			out.Blocks = append(out.Blocks, s.events(&s.Rows[i]))
		}
	}
	if s.Share != nil {
		out.Blocks = append(out.Blocks, s.bounds())
	} else {
		note("The record does not tell which share of the time waited for the log, so that gains have no bound.")
	}
	if len(s.Parts) > 0 && !slices.ContainsFunc(s.Rows, func(r analysis.LogRow) bool { return r.Sampled() }) {
		note("The record has no wait events in a server's words: no session was sampled.")
	}
	for _, l := range s.Factor.Levels {
		if what := s.Experiment.Context[s.Factor.Name+" "+l]; what != "" {
			note(s.Factor.Name + " " + l + ": " + what + ".")
		}
		if s.Volatile(l) {
			note(s.Factor.Name + " " + l + " is memory, which loses everything with the power: what it gains bounds what persistent memory could. No log belongs there.")
		}
	}
	return out
}

// heads name the devices.
func (s logDevice) heads() (list []string) {
	for _, l := range s.Factor.Levels {
		list = append(list, s.called(l))
	}
	return list
}

// called is a level's name, with what it is not.
func (s logDevice) called(level string) string {
	if s.Emulated(level) {
		return level + " (emulated)"
	}
	return level
}

// table has a row for each of the section's and a column for each device.
func (s logDevice) table(title string, of func(r *analysis.LogRow, c *analysis.LogCell) document.Cell) *document.Table {
	t := &document.Table{Title: title, Columns: document.Headings("run", s.heads()...)}
	for i := range s.Rows {
		r := &s.Rows[i]
		t.Rows = append(t.Rows, s.row(r, r.Name, func(c *analysis.LogCell) document.Cell { return of(r, c) }))
	}
	return t
}

// row has a cell for each device.
func (s logDevice) row(r *analysis.LogRow, name string, of func(c *analysis.LogCell) document.Cell) document.Row {
	out := document.Row{Cells: []document.Cell{document.Text(name)}}
	for _, l := range s.Factor.Levels {
		text := document.Text("not run")
		if c := cellAt(r, l); c != nil {
			text = of(c)
		}
		out.Cells = append(out.Cells, text)
	}
	return out
}

// cellAt returns the cell of a level that has runs; nil for none.
func cellAt(r *analysis.LogRow, level string) *analysis.LogCell {
	for i := range r.Cells {
		if r.Cells[i].Level == level && r.Cells[i].N > 0 {
			return &r.Cells[i]
		}
	}
	return nil
}

func (s logDevice) runTimes() *document.Table {
	return s.table("Run times", func(r *analysis.LogRow, c *analysis.LogCell) document.Cell {
		mean := result.Format(c.Mean, s.Duration.Unit)
		if c.Level == s.Factor.Baseline {
			return document.Text(mean, fmt.Sprintf("baseline, n = %d", c.N))
		}
		gain := r.Pair(s.Factor.Baseline, c.Level).Gain
		return document.Text(mean, fmt.Sprintf("gain %s, n = %d", percentOf(gain.Estimate), gain.N), gainSpan(gain))
	})
}

func (s logDevice) logWrites() *document.Table {
	ratio := result.Response{Compare: result.Ratio}
	return s.table(label(s.Write), func(_ *analysis.LogRow, c *analysis.LogCell) document.Cell {
		mean := result.Format(c.Write, s.Write.Unit)
		if c.Level == s.Factor.Baseline || math.IsNaN(c.Write) {
			return document.Text(mean)
		}
		return document.Text(mean, fmt.Sprintf("%s, n = %d", amount(c.Writes.Estimate, &ratio), c.Writes.N), span(c.Writes.Low, c.Writes.High, &ratio))
	})
}

// waits are the parts of the time with each device.
func (s logDevice) waits(r *analysis.LogRow) *document.Table {
	t := &document.Table{Title: "What the time went to, " + r.Name, Columns: document.Headings("part", s.heads()...),
		Lead: "Seconds of a run, and their share of it: they add up to the run times above."}
	for p := range s.Parts {
		t.Rows = append(t.Rows, s.row(r, strings.TrimPrefix(label(&s.Parts[p]), "Part of the elapsed time: "), func(c *analysis.LogCell) document.Cell {
			if math.IsNaN(c.Parts[p]) {
				return document.Text("unknown")
			}
			return partCell(c, c.Parts[p])
		}))
	}
	rests := func(name string, of func(c *analysis.LogCell) float64) {
		some := false
		row := s.row(r, name, func(c *analysis.LogCell) document.Cell {
			some = some || of(c) != 0
			return partCell(c, of(c))
		})
		if some {
			t.Rows = append(t.Rows, row)
		}
	}
	rests("in none of these", func(c *analysis.LogCell) float64 { return max(0, unaccounted(c)) })
	rests("counted twice", func(c *analysis.LogCell) float64 { return min(0, unaccounted(c)) })
	return t
}

// partCell is a part of a duration.
func partCell(c *analysis.LogCell, v float64) document.Cell {
	return document.Text(result.Format(v, "s"), percentOf(v/c.Mean))
}

// unaccounted is the rest, or 0 where rounding alone makes it.
func unaccounted(c *analysis.LogCell) float64 {
	const least = 1e-4 // of the duration: no share is printed finer
	if math.Abs(c.Rest) < least*c.Mean {
		return 0
	}
	return c.Rest
}

// bounds set each gain beside the most that it could be.
func (s logDevice) bounds() *document.Table {
	what := "waited for its log"
	if s.Share.Name == analysis.InCommits {
		what = "was in commits, or waited for its log elsewhere,"
	}
	t := &document.Table{Title: "Gain measured against gain bounded", Columns: document.Headings("device", "measured", "at most", "verdict"),
		Lead: fmt.Sprintf("The bound is the share of its time that the job %s on the device that the log comes from: no other gives more.", what)}
	for i := range s.Rows {
		for k := range s.Rows[i].Pairs {
			p := &s.Rows[i].Pairs[k]
			name := s.called(p.From) + " to " + s.called(p.To)
			if len(s.Rows) > 1 {
				name += ", " + s.Rows[i].Name
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(name), document.Text(percentOf(p.Gain.Estimate), gainSpan(p.Gain)),
				document.Text(percentOf(p.Bound.Estimate), gainSpan(p.Bound)), document.Text(boundWord(p))}})
		}
	}
	return t
}

// boundWord says how the gain stands to its bound.
func boundWord(p *analysis.LogPair) string {
	switch {
	case math.IsNaN(p.Bound.High) || math.IsNaN(p.Gain.Low):
		return "too few blocks"
	case p.Exceeds():
		return "BEYOND the bound"
	case p.Gain.High < 0:
		return "slower"
	case p.Gain.Low <= 0:
		return "no gain seen"
	}
	return "within the bound"
}

// percentOf prints a share of the time.
func percentOf(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return strings.TrimPrefix(number(v), "+") + " %"
}

func gainSpan(iv stats.Interval) string {
	if math.IsNaN(iv.Low) || math.IsNaN(iv.High) {
		return "no interval"
	}
	return strings.TrimPrefix(number(iv.Low), "+") + " to " + percentOf(iv.High)
}

type logJSON struct {
	Name     string        `json:"name"`
	Alpha    float64       `json:"alpha"`
	Factor   string        `json:"factor"`
	Baseline string        `json:"baseline"`
	Cells    []logJSONCell `json:"cells"`
	Pairs    []logJSONPair `json:"pairs"`
}

type logJSONCell struct {
	At       string              `json:"at"`
	Level    string              `json:"level"`
	Emulated bool                `json:"emulated"`
	N        int                 `json:"n"`
	Duration *float64            `json:"duration"`
	LogWrite *float64            `json:"log_write"`
	LogShare *float64            `json:"log_share"`
	Parts    map[string]*float64 `json:"parts"`
	Rest     *float64            `json:"rest"`
	Gain     *logJSONInterval    `json:"gain"`
	AtMost   *logJSONInterval    `json:"at_most"`
	Exceeds  bool                `json:"exceeds"`
	Waits    *logJSONWaits       `json:"waits"`
}

type logJSONPair struct {
	At      string           `json:"at"`
	From    string           `json:"from"`
	To      string           `json:"to"`
	Gain    *logJSONInterval `json:"gain"`
	AtMost  *logJSONInterval `json:"at_most"`
	Exceeds bool             `json:"exceeds"`
}

type logJSONInterval struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
	N     int      `json:"n"`
}

func jsonInterval(iv stats.Interval) *logJSONInterval {
	return &logJSONInterval{result.Finite(iv.Estimate), result.Finite(iv.Low), result.Finite(iv.High), iv.N}
}

func (s logDevice) json() any {
	out := logJSON{Name: "log", Alpha: analysis.NominalAlpha, Cells: []logJSONCell{}, Pairs: []logJSONPair{}}
	if s.Factor == nil {
		return out
	}
	out.Factor, out.Baseline = s.Factor.Name, s.Factor.Baseline
	for _, r := range s.Rows {
		for i := range r.Cells {
			c := &r.Cells[i]
			one := logJSONCell{At: r.Name, Level: c.Level, Emulated: s.Emulated(c.Level), N: c.N, Duration: result.Finite(c.Mean), Rest: result.Finite(c.Rest), LogWrite: result.Finite(c.Write),
				LogShare: result.Finite(c.Share), Parts: map[string]*float64{}, Waits: waitsJSON(c.Waits)}
			for p := range s.Parts {
				one.Parts[s.Parts[p].Name] = result.Finite(c.Parts[p])
			}
			if p := r.Pair(s.Factor.Baseline, c.Level); p != nil {
				one.Gain, one.AtMost, one.Exceeds = jsonInterval(p.Gain), jsonInterval(p.Bound), p.Exceeds()
			}
			out.Cells = append(out.Cells, one)
		}
		for _, p := range r.Pairs {
			out.Pairs = append(out.Pairs, logJSONPair{r.Name, p.From, p.To, jsonInterval(p.Gain), jsonInterval(p.Bound), p.Exceeds()})
		}
	}
	return out
}

// evidence labels the figures of all levels.
func (s logDevice) evidence() string {
	emulated := 0
	for _, l := range s.Factor.Levels {
		if s.Emulated(l) {
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

// exceeding are the rows and levels whose gain is beyond the bound.
func (s logDevice) exceeding() (list []string) {
	for _, r := range s.Rows {
		for _, p := range r.Pairs {
			if p.Exceeds() {
				list = append(list, s.Factor.Name+" "+p.To+" at "+r.Name)
			}
		}
	}
	return list
}
