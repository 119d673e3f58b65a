package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// verdict warns of a gain beyond its bound.
func (s *logDevice) verdict() []string {
	if list := s.exceeding(); len(list) > 0 {
		return []string{fmt.Sprintf("Warning: %s gained more than the job waited for its log where it was, beyond both intervals. "+
			"Something else changed with the device; do not trust this gain.", strings.Join(list, "; "))}
	}
	return nil
}

func (s *logDevice) section(string) document.Section {
	out := document.Section{Title: "The log device"}
	if len(s.rows) == 0 {
		out.Blocks = document.Lines(document.Quiet, "The record has no factor of log devices or no duration: there is nothing to compare.")
		return out
	}
	if !slices.ContainsFunc(s.rows, func(r logRow) bool { return len(r.pairs) > 0 }) {
		out.Blocks = document.Lines(document.Quiet, "No two devices have a run that counts yet: there is nothing to compare.")
		return out
	}
	out.Blocks = document.Lines(document.Quiet, fmt.Sprintf("Means of the blocks, %s. Gains are paired within blocks: the part of the time with %s %s that was saved. "+
		"Their %s intervals hold each by itself, not corrected for their number nor for the looks.", s.evidence(), s.factor.Name, s.factor.Baseline, confidence(crossAlpha)))
	note := func(text string) { out.Blocks = append(out.Blocks, document.Line{Text: text, Tone: document.Quiet}) }
	out.Blocks = append(out.Blocks, s.runTimes())
	if s.write != nil {
		out.Blocks = append(out.Blocks, s.logWrites())
	}
	for i := range s.rows {
		if len(s.rows[i].pairs) == 0 {
			continue // the tables above say that it was not run
		}
		if len(s.parts) > 0 {
			out.Blocks = append(out.Blocks, s.waits(&s.rows[i]))
		}
		if s.rows[i].sampled() {
			out.Blocks = append(out.Blocks, s.events(&s.rows[i]))
		}
	}
	if s.share != nil {
		out.Blocks = append(out.Blocks, s.bounds())
	} else {
		note("The record does not tell which share of the time waited for the log, so that gains have no bound.")
	}
	if len(s.parts) > 0 && !slices.ContainsFunc(s.rows, func(r logRow) bool { return r.sampled() }) {
		note("The record has no wait events in a server's words: no session was sampled.")
	}
	for _, l := range s.factor.Levels {
		if what := s.x.Context[s.factor.Name+" "+l]; what != "" {
			note(s.factor.Name+" "+l+": "+what+".")
		}
		if s.volatile(l) {
			note(s.factor.Name+" "+l+" is memory, which loses everything with the power: what it gains bounds what persistent memory could. No log belongs there.")
		}
	}
	return out
}

// heads name the devices.
func (s *logDevice) heads() (list []string) {
	for _, l := range s.factor.Levels {
		list = append(list, s.called(l))
	}
	return list
}

// called is a level's name, with what it is not.
func (s *logDevice) called(level string) string {
	if s.emulated(level) {
		return level + " (emulated)"
	}
	return level
}

// table has a row for each of the section's and a column for each device.
func (s *logDevice) table(title string, of func(r *logRow, c *logCell) document.Cell) *document.Table {
	t := &document.Table{Title: title, Columns: document.Headings("run", s.heads()...)}
	for i := range s.rows {
		r := &s.rows[i]
		t.Rows = append(t.Rows, s.row(r, r.name, func(c *logCell) document.Cell { return of(r, c) }))
	}
	return t
}

// row has a cell for each device.
func (s *logDevice) row(r *logRow, name string, of func(c *logCell) document.Cell) document.Row {
	out := document.Row{Cells: []document.Cell{document.Text(name)}}
	for _, l := range s.factor.Levels {
		text := document.Text("not run")
		if c := r.at(l); c != nil {
			text = of(c)
		}
		out.Cells = append(out.Cells, text)
	}
	return out
}

// at returns the cell of a level that has runs; nil for none.
func (r *logRow) at(level string) *logCell {
	for i := range r.cells {
		if r.cells[i].level == level && r.cells[i].n > 0 {
			return &r.cells[i]
		}
	}
	return nil
}

func (s *logDevice) runTimes() *document.Table {
	return s.table("Run times", func(r *logRow, c *logCell) document.Cell {
		mean := result.Format(c.mean, s.duration.Unit)
		if c.level == s.factor.Baseline {
			return document.Text(mean, fmt.Sprintf("baseline, n = %d", c.n))
		}
		gain := r.from(s.factor.Baseline, c.level).gain
		return document.Text(mean, fmt.Sprintf("gain %s, n = %d", percentOf(gain.Estimate), gain.N), gainSpan(gain))
	})
}

func (s *logDevice) logWrites() *document.Table {
	ratio := result.Response{Compare: result.Ratio}
	return s.table(label(s.write), func(_ *logRow, c *logCell) document.Cell {
		mean := result.Format(c.write, s.write.Unit)
		if c.level == s.factor.Baseline || math.IsNaN(c.write) {
			return document.Text(mean)
		}
		return document.Text(mean, fmt.Sprintf("%s, n = %d", amount(c.writes.Estimate, &ratio), c.writes.N), span(c.writes.Low, c.writes.High, &ratio))
	})
}

// waits are the parts of the time with each device.
func (s *logDevice) waits(r *logRow) *document.Table {
	t := &document.Table{Title: "What the time went to, " + r.name, Columns: document.Headings("part", s.heads()...),
		Lead: "Seconds of a run, and their share of it: they add up to the run times above."}
	for p := range s.parts {
		t.Rows = append(t.Rows, s.row(r, strings.TrimPrefix(label(&s.parts[p]), "Part of the elapsed time: "), func(c *logCell) document.Cell {
			if math.IsNaN(c.parts[p]) {
				return document.Text("unknown")
			}
			return c.part(c.parts[p])
		}))
	}
	rests := func(name string, of func(c *logCell) float64) {
		some := false
		row := s.row(r, name, func(c *logCell) document.Cell {
			some = some || of(c) != 0
			return c.part(of(c))
		})
		if some {
			t.Rows = append(t.Rows, row)
		}
	}
	rests("in none of these", func(c *logCell) float64 { return max(0, c.unaccounted()) })
	rests("counted twice", func(c *logCell) float64 { return min(0, c.unaccounted()) })
	return t
}

// part is one of a duration.
func (c *logCell) part(v float64) document.Cell {
	return document.Text(result.Format(v, "s"), percentOf(v/c.mean))
}

// unaccounted is the rest, or 0 where rounding alone makes it.
func (c *logCell) unaccounted() float64 {
	const least = 1e-4 // of the duration: no share is printed finer
	if math.Abs(c.rest) < least*c.mean {
		return 0
	}
	return c.rest
}

// bounds set each gain beside the most that it could be.
func (s *logDevice) bounds() *document.Table {
	what := "waited for its log"
	if s.share.Name == inCommits {
		what = "was in commits, or waited for its log elsewhere,"
	}
	t := &document.Table{Title: "Gain measured against gain bounded", Columns: document.Headings("device", "measured", "at most", "verdict"),
		Lead: fmt.Sprintf("The bound is the share of its time that the job %s on the device that the log comes from: no other gives more.", what)}
	for i := range s.rows {
		for k := range s.rows[i].pairs {
			p := &s.rows[i].pairs[k]
			name := s.called(p.from) + " to " + s.called(p.to)
			if len(s.rows) > 1 {
				name += ", " + s.rows[i].name
			}
			t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(name), document.Text(percentOf(p.gain.Estimate), gainSpan(p.gain)),
				document.Text(percentOf(p.bound.Estimate), gainSpan(p.bound)), document.Text(p.word())}})
		}
	}
	return t
}

// word says how the gain stands to its bound.
func (p *logPair) word() string {
	switch {
	case math.IsNaN(p.bound.High) || math.IsNaN(p.gain.Low):
		return "too few blocks"
	case p.exceeds():
		return "BEYOND the bound"
	case p.gain.High < 0:
		return "slower"
	case p.gain.Low <= 0:
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

func (s *logDevice) json() any {
	out := logJSON{Name: "log", Alpha: crossAlpha, Cells: []logJSONCell{}, Pairs: []logJSONPair{}}
	if s.factor == nil {
		return out
	}
	out.Factor, out.Baseline = s.factor.Name, s.factor.Baseline
	for _, r := range s.rows {
		for i := range r.cells {
			c := &r.cells[i]
			one := logJSONCell{At: r.name, Level: c.level, Emulated: s.emulated(c.level), N: c.n, Duration: result.Finite(c.mean), Rest: result.Finite(c.rest), LogWrite: result.Finite(c.write),
				LogShare: result.Finite(c.share), Parts: map[string]*float64{}, Waits: c.waits.json()}
			for p := range s.parts {
				one.Parts[s.parts[p].Name] = result.Finite(c.parts[p])
			}
			if p := r.from(s.factor.Baseline, c.level); p != nil {
				one.Gain, one.AtMost, one.Exceeds = jsonInterval(p.gain), jsonInterval(p.bound), p.exceeds()
			}
			out.Cells = append(out.Cells, one)
		}
		for _, p := range r.pairs {
			out.Pairs = append(out.Pairs, logJSONPair{r.name, p.from, p.to, jsonInterval(p.gain), jsonInterval(p.bound), p.exceeds()})
		}
	}
	return out
}
