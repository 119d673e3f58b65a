package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/result"
)

//go:embed web/style.css
var style []byte

// topFindings is how many findings a terminal shows; a page has all.
const topFindings = 5

// Document reports an assessment: the verdict, the levers with what to do next, findings,
// measurements and facts.
func (a *Assessment) Document() *document.Document {
	own, busy := a.Warnings, BusyWarnings(a.Runs)
	a = complete(a)
	d := &document.Document{Name: "assessment", Title: a.title(), When: a.Started,
		Answer: []document.Line{{Text: a.Verdict.Text}}, Warnings: a.Warnings, Data: a, Rows: lever.Rows(a.Levers), Style: style,
		Footer: "hostlab " + a.Tool}
	if m := a.Minute; m != nil {
		d.Sections, d.Warnings = m.Sections(a.Levers), own // what disturbed the probes says nothing of the service
		if a.Before != nil {
			d.Sections = append(d.Sections, m.Compared(a.Before, a.Days))
		}
		d.Sections = append(d.Sections, a.Past.section())
		if a.Evenness != nil {
			d.Sections = append(d.Sections, a.Evenness.Section())
		}
		d.Sections = append(d.Sections, document.Titled("What disturbed the probes", document.Caution.Points(busy...)))
	} else {
		d.Sections = lever.Sections(a.Levers, false)
	}
	when := fmt.Sprintf("%s, %.0f s. %s", a.Started.Format("2006-01-02 15:04 -07:00"), a.Seconds, written(a))
	if a.OnlyService {
		d.About = append(a.Minute.Where(), when)
		return d
	}
	d.About = append(hostLines(a), fmt.Sprintf("Role %s; %s", a.Role, when))
	d.Sections = append(d.Sections, pictures(a), findings(a))
	others := check.Sections(a.Results, false, 0)
	for i := range others {
		if s := &others[i]; s.Where != document.Terminal {
			if s.Title != check.AcceptedTitle { // never silent
				s.Where = document.Page
			}
			if see := measuredFor(a.Levers, s.Anchor); see != nil {
				s.Blocks = append(s.Blocks, document.Line{Text: "What was measured for this lever:", Tone: document.Quiet,
					See: see})
			}
			d.Sections = append(d.Sections, *s)
		}
	}
	d.Sections = append(d.Sections, headlines(a))
	for i := range a.Runs {
		d.Sections = append(d.Sections, probeSection(&a.Runs[i], a.Probes, a.Levers))
	}
	if a.Facts != nil {
		for _, s := range a.Facts.Sections() {
			s.Title, s.Where = "Facts: "+s.Title, document.Page
			d.Sections = append(d.Sections, s)
		}
	}
	d.Sections = append(d.Sections, document.Titled("Method", document.Line{Text: method}, evidence).On(document.Page))
	return d
}

// title is what was looked at, and where.
func (a *Assessment) title() string {
	host := cmp.Or(a.Host, "this host")
	if a.Minute == nil {
		return host
	}
	return a.Minute.Product() + " on " + host
}

const method = "Time has parts: computing, waiting for the log, waiting for others. One lever moves each part. The part's share bounds what " +
	"that lever can save, and only an experiment shows what it does save. The probes are short. They interleave the conditions that " +
	"they compare in random order, so that a drifting host does not look like an effect. They repeat one condition to measure their " +
	"own noise. hostlab recommends nothing if other work ran during the measurement. Nor does it if the interval includes no " +
	"effect, or if the effect is not larger than that noise or 5 %."

var evidence = document.Pairs{
	{Name: string(result.Measured), Value: "on this host, with its own settings"},
	{Name: string(result.Emulated), Value: "on this host, with a slower part emulated"},
	{Name: string(result.Simulated), Value: "from a model"},
	{Name: string(result.Cited), Value: "from a named source or from settings that this host reports; not measured here"},
}

// hostLines describe the machine in three lines: processor, system, storage.
func hostLines(a *Assessment) []string {
	if a.Facts == nil {
		return []string{"nothing is known about this host"}
	}
	if len(a.Facts.Storage) == 0 {
		return append(a.Facts.Summary(), "no log directory was inspected")
	}
	s := a.Facts.Storage[0]
	line := s.Purpose + " " + s.Path
	if fs, ok := s.FSType.Get(); ok {
		line += ": " + fs
	}
	if d, ok := s.Device.Get(); ok {
		line += " on " + d
	}
	if c, ok := s.Class.Get(); ok {
		line += ", " + c
	}
	if a.LogDirWhy != "" {
		line += "; " + a.LogDirWhy
	}
	return append(a.Facts.Summary(), line)
}

// measuredFor are the lever of a finding and the measurement that decides on it.
func measuredFor(all []lever.Lever, finding string) []string {
	for i := range all {
		l := &all[i]
		if m := l.Measurement(); m != nil && slices.Contains(l.Findings(), finding) {
			return []string{l.Anchor(), m.Name}
		}
	}
	return nil
}

// found are findings: those first that could gain the service most, and last those of other servers.
func (a *Assessment) found() []check.Result {
	list := check.ByGain(a.Results, gains(a.Levers))
	slices.SortStableFunc(list, func(x, y check.Result) int {
		switch {
		case a.Others[x.ID] == a.Others[y.ID]:
			return 0
		case a.Others[y.ID]:
			return -1
		}
		return 1
	})
	return list
}

// whose says of a finding that it is of other servers alone.
func (a *Assessment) whose(id string) string {
	if a.Others[id] {
		return " (of another server here)"
	}
	return ""
}

// findings is the short list for a terminal.
func findings(a *Assessment) document.Section {
	found := a.found()
	var pairs document.Pairs
	for _, f := range found[:min(topFindings, len(found))] {
		p := document.Pair{Name: f.ID + " " + f.Severity.String(), Value: f.Title + a.whose(f.ID), More: []string{f.Detail}}
		if f.Severity == check.High {
			p.Tone = document.Caution
		}
		pairs = append(pairs, p)
	}
	var rest document.Commands
	if more := len(found) - len(pairs); more > 0 {
		rest = document.Commands{{Why: fmt.Sprintf("%d more findings", more),
			Line: "hostlab check" + lever.Again(a.Role, a.Facts)}}
	}
	return document.Titled("Findings", document.Line{Text: check.Tally(a.Results) + "."}, pairs,
		rest).On(document.Terminal)
}

// gains are what levers could give at most, by the subject of checks.
func gains(levers []lever.Lever) map[string]float64 {
	most := map[string]float64{}
	for _, l := range levers {
		if l.AtMost != nil && l.Of == lever.ActiveTime {
			most[l.Name] = *l.AtMost
		}
	}
	return most
}

// headlines are the probes' figures for a terminal, of several CPUs the worst.
func headlines(a *Assessment) document.Section {
	s := document.Section{Title: "Measured", Where: document.Terminal}
	shown := map[string][]result.Kind{}
	for _, p := range probe.All() {
		shown[p.Name] = p.Shown
	}
	for i := range a.Runs {
		o := &a.Runs[i]
		var list document.List
		switch {
		case o.Skipped != "":
			list = append(list, document.Line{Text: "skipped: " + o.Skipped, Tone: document.Quiet})
		case o.Failed != "":
			list = append(list, document.Line{Text: "failed: " + o.Failed, Tone: document.Caution})
		}
		for _, kind := range shown[o.Probe] {
			var worst *result.Measurement
			for j := range a.Probes {
				m := &a.Probes[j]
				if m.Kind == kind && m.Probe == o.Probe && m.Known() && (kind != probe.CommitDrift || m.Labels.Drift) &&
					(worst == nil || m.Estimate.Value > worst.Estimate.Value) {
					worst = m
				}
			}
			if worst != nil {
				list = append(list, document.Line{Text: cmp.Or(worst.Title, worst.Name) + ": " + lever.Figure(worst)})
			}
		}
		for _, w := range o.Warnings {
			list = append(list, document.Line{Text: "note: " + w, Tone: document.Quiet})
		}
		s.Blocks = append(s.Blocks, document.Line{Text: fmt.Sprintf("%s (%.0f s)", cmp.Or(o.Title, o.Probe), o.Seconds)},
			list)
	}
	return s
}

// probeSection shows all that a probe measured.
func probeSection(o *probe.Outcome, all []result.Measurement, levers []lever.Lever) document.Section {
	s := document.Section{Title: cmp.Or(o.Title, o.Probe), Where: document.Page}
	s.Blocks = append(s.Blocks, document.Line{Text: cmp.Or(o.Skipped, o.Failed), Tone: document.Caution},
		document.Line{Text: o.Method, Tone: document.Quiet})
	s.Blocks = append(s.Blocks, document.Lines(document.Caution, o.Warnings...)...)
	t := &document.Table{Title: "Measurements", Columns: document.Headings("what", "value", "n",
		"noise floor").Names("evidence")}
	for i := range all {
		m := &all[i]
		if m.Probe != o.Probe {
			continue
		}
		row := t.Add(document.Text(cmp.Or(m.Title, m.Name), m.Name))
		if row.Anchor = m.Name; !m.Known() {
			row.Across = "unknown: " + m.Reason
			continue
		}
		row.Cells = append(row.Cells, lever.Cell(m), document.Number(float64(m.Estimate.N), lever.Independent(m)),
			document.Text(lever.Floor(m)), document.Text(string(m.Evidence)))
		notes := m.Warnings
		if d := m.Labels.Disturbed; d != "" {
			notes = append([]string{"disturbed: " + d}, notes...)
		}
		if !m.Estimate.HasInterval() && m.Reason != "" {
			notes = append(notes[:len(notes):len(notes)], m.Reason)
		}
		row.Notes = document.Points(notes...)
		for _, l := range levers {
			if own := l.Measurement(); own != nil && own.Name == m.Name {
				row.Notes = append(row.Notes, document.Line{Text: "It decides:", Tone: document.Quiet,
					See: append([]string{l.Anchor()}, l.Findings()...)})
			}
		}
	}
	pairs := &document.Table{Title: "Pairs of CPUs, as measured and as reported",
		Columns: document.Headings("pair").Names("measured", "reported as siblings")}
	for _, p := range o.Pairs {
		reported := map[bool]string{true: "yes", false: "no"}[p.Reported]
		pairs.Row(fmt.Sprintf("%d and %d", p.A, p.B), string(p.Relation), reported)
	}
	s.Blocks = append(s.Blocks, t, pairs)
	return s
}

// written says what the assessment did to the host: the commit probe leaves nothing behind.
func written(a *Assessment) string {
	if a.LogDir == "" {
		return "No setting was changed."
	}
	return "No setting was changed; test files were written to " + a.LogDir + " and removed."
}
