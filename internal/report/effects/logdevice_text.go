package effects

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

func (s *logDevice) content(string) content {
	out := content{Title: "The log device"}
	if len(s.rows) == 0 {
		out.Lead = []string{"The record has no factor of log devices or no duration, so that there is nothing to set beside each other."}
		return out
	}
	if !slices.ContainsFunc(s.rows, func(r logRow) bool { return len(r.pairs) > 0 }) {
		out.Lead = []string{"No two devices have a run that counts yet, so that there is nothing to set beside each other."}
		return out
	}
	if list := s.exceeding(); len(list) > 0 {
		out.Told = append(out.Told, fmt.Sprintf("Warning: %s gained more than the job waited for its log where it was, beyond both intervals. "+
			"Something else changed with the device; do not trust this gain.", strings.Join(list, "; ")))
	}
	out.Lead = []string{fmt.Sprintf("Means of the blocks, %s. Gains are paired within blocks: the part of the time with %s %s that was saved. "+
		"Their %s intervals hold each by itself, not corrected for their number nor for the looks.", s.evidence(), s.factor.Name, s.factor.Baseline, confidence(crossAlpha))}
	out.Grids = append(out.Grids, s.runTimes())
	if s.write != nil {
		out.Grids = append(out.Grids, s.logWrites())
	}
	for i := range s.rows {
		if len(s.rows[i].pairs) == 0 {
			continue // the tables above say that it was not run
		}
		if len(s.parts) > 0 {
			out.Grids = append(out.Grids, s.waits(&s.rows[i]))
		}
		if s.rows[i].sampled() {
			out.Grids = append(out.Grids, s.events(&s.rows[i]))
		}
	}
	if s.share != nil {
		out.Grids = append(out.Grids, s.bounds())
	} else {
		out.Notes = append(out.Notes, "The record does not tell which share of the time waited for the log, so that gains have no bound.")
	}
	if len(s.parts) > 0 && !slices.ContainsFunc(s.rows, func(r logRow) bool { return r.sampled() }) {
		out.Notes = append(out.Notes, "The record has no wait events in a server's words: no session was looked at.")
	}
	for _, l := range s.factor.Levels {
		told := s.x.Context[s.factor.Name+" "+l]
		if told != "" {
			out.Notes = append(out.Notes, s.factor.Name+" "+l+": "+told+".")
		}
		if s.volatile(l) {
			out.Notes = append(out.Notes, s.factor.Name+" "+l+" is memory, which loses everything with the power: what it gains bounds what persistent memory could. No log belongs there.")
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
func (s *logDevice) table(title, lead string, cell func(r *logRow, c *logCell) gridCell) grid {
	g := grid{Title: title, Lead: lead, Corner: "run", Head: s.heads()}
	for i := range s.rows {
		row := gridRow{Label: s.rows[i].name}
		for _, l := range s.factor.Levels {
			row.Cells = append(row.Cells, s.rows[i].at(l, cell))
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func (r *logRow) at(level string, cell func(r *logRow, c *logCell) gridCell) gridCell {
	for i := range r.cells {
		if r.cells[i].level == level && r.cells[i].n > 0 {
			return cell(r, &r.cells[i])
		}
	}
	return gridCell{"not run"}
}

func (s *logDevice) runTimes() grid {
	return s.table("Run times", "", func(r *logRow, c *logCell) gridCell {
		out := gridCell{result.Format(c.mean, s.duration.Unit)}
		if c.level == s.factor.Baseline {
			return append(out, fmt.Sprintf("baseline, n = %d", c.n))
		}
		gain := r.from(s.factor.Baseline, c.level).gain
		return append(out, fmt.Sprintf("gain %s, n = %d", percentOf(gain.Estimate), gain.N), gainSpan(gain))
	})
}

func (s *logDevice) logWrites() grid {
	ratio := result.Response{Compare: result.Ratio}
	return s.table(label(s.write), "", func(_ *logRow, c *logCell) gridCell {
		out := gridCell{result.Format(c.write, s.write.Unit)}
		if c.level == s.factor.Baseline || math.IsNaN(c.write) {
			return out
		}
		return append(out, fmt.Sprintf("%s, n = %d", amount(c.writes.Estimate, &ratio), c.writes.N), span(c.writes.Low, c.writes.High, &ratio))
	})
}

// waits are the parts of the time with each device.
func (s *logDevice) waits(r *logRow) grid {
	g := grid{Title: "What the time went to, " + r.name, Lead: "Seconds of a run, and their share of it: they add up to the run times above.", Corner: "part", Head: s.heads()}
	for p := range s.parts {
		row := gridRow{Label: strings.TrimPrefix(label(&s.parts[p]), "Part of the elapsed time: ")}
		for _, l := range s.factor.Levels {
			row.Cells = append(row.Cells, r.at(l, func(_ *logRow, c *logCell) gridCell {
				if math.IsNaN(c.parts[p]) {
					return gridCell{"unknown"}
				}
				return c.part(c.parts[p])
			}))
		}
		g.Rows = append(g.Rows, row)
	}
	rests := func(name string, of func(c *logCell) float64) {
		row, some := gridRow{Label: name}, false
		for _, l := range s.factor.Levels {
			row.Cells = append(row.Cells, r.at(l, func(_ *logRow, c *logCell) gridCell {
				some = some || of(c) != 0
				return c.part(of(c))
			}))
		}
		if some {
			g.Rows = append(g.Rows, row)
		}
	}
	rests("in none of these", func(c *logCell) float64 { return max(0, c.unaccounted()) })
	rests("counted twice", func(c *logCell) float64 { return min(0, c.unaccounted()) })
	return g
}

// part is one of a duration.
func (c *logCell) part(v float64) gridCell {
	return gridCell{result.Format(v, "s"), percentOf(v / c.mean)}
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
func (s *logDevice) bounds() grid {
	what := "waited for its log"
	if s.share.Name == inCommits {
		what = "was in commits, or waited for its log elsewhere,"
	}
	g := grid{Title: "Gain measured against gain bounded", Corner: "device",
		Lead: fmt.Sprintf("The bound is the share of its time that the job %s on the device that the log comes from: no other gives more.", what),
		Head: []string{"measured", "at most", "verdict"}}
	for i := range s.rows {
		for k := range s.rows[i].pairs {
			p := &s.rows[i].pairs[k]
			name := s.called(p.from) + " to " + s.called(p.to)
			if len(s.rows) > 1 {
				name += ", " + s.rows[i].name
			}
			g.Rows = append(g.Rows, gridRow{Label: name, Cells: []gridCell{
				{percentOf(p.gain.Estimate), gainSpan(p.gain)}, {percentOf(p.bound.Estimate), gainSpan(p.bound)}, {p.word()}}})
		}
	}
	return g
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
