package report

import (
	"embed"
	"html/template"
	"io"
	"math"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/report/picture"
	"hostlab/internal/result"
)

//go:embed web
var web embed.FS

var pageTemplate = picture.Template(web, "report.html", template.FuncMap{
	"severity": severityRank,
	"status":   func(s check.Status) string { return strings.ReplaceAll(string(s), "_", " ") },
})

// WriteHTML writes one self-contained file. It loads nothing: its policy allows
// the style sheet and the script in it by their hashes, and no connection at all.
func WriteHTML(w io.Writer, a *Assessment) error {
	p, err := newPage(complete(a))
	if err != nil {
		return err
	}
	return picture.Render(w, pageTemplate, p)
}

// page is what the template shows.
type page struct {
	*Assessment
	Page     picture.Page
	When     string
	RoleWord string
	Lines    []string
	Tally    string
	Found    []check.Result
	Others   []check.Result
	Rows     []leverRow
	Pictures []picture.Figure
	Probes   []probeView
	Tables   []factTable
	Evidence [][2]string
}

type leverRow struct {
	lever.Lever
	Word, Most, Of, Value, Interval, N, Floor string
	Command, Note                             string
	SortMost, SortRank, SortValue             float64
	Known                                     bool
}

type probeView struct {
	probe.Outcome
	Rows []measureRow
}

type measureRow struct {
	Name, Title, Value, Interval, Floor, Evidence, Note string
	N                                                   int
	Count                                               string // n, with the real count where that differs
	Sort                                                float64
	Known                                               bool
}

func newPage(a *Assessment) (*page, error) {
	css, err := web.ReadFile("web/style.css")
	if err != nil {
		return nil, err
	}
	data, err := embedded(a)
	if err != nil {
		return nil, err
	}
	shell, err := picture.NewPage(a.Host+": what the platform costs", css, data)
	if err != nil {
		return nil, err
	}
	p := &page{Assessment: a, Page: shell,
		When: a.Started.Format("2006-01-02 15:04 MST"), RoleWord: strings.ReplaceAll(string(a.Role), "-", " "),
		Lines: hostLines(a), Tally: tally(a.Results), Found: findings(a.Results), Tables: factTables(a.Facts),
		Pictures: pictures(a),
		Evidence: [][2]string{
			{string(result.Measured), "on this host, with its own settings"},
			{string(result.Emulated), "on this host, with a slower part imitated"},
			{string(result.Simulated), "from a model"},
			{string(result.Cited), "from a source that is named, or from settings that this host reports; not measured here"},
		},
	}
	for _, r := range a.Results {
		if r.Status != check.Finding {
			p.Others = append(p.Others, r)
		}
	}
	for i := range a.Levers {
		p.Rows = append(p.Rows, newLeverRow(&a.Levers[i]))
	}
	for _, o := range a.Runs {
		v := probeView{Outcome: o}
		for i := range a.Probes {
			if a.Probes[i].Probe == o.Probe {
				v.Rows = append(v.Rows, newMeasureRow(&a.Probes[i]))
			}
		}
		p.Probes = append(p.Probes, v)
	}
	return p, nil
}

// verdictOrder sorts levers by what asks for action.
var verdictOrder = []lever.Verdict{lever.Worthwhile, lever.Recommended, lever.Unresolved, lever.NotHere, lever.NotForRole, lever.NoEffect, lever.Settled, lever.Untestable}

func newLeverRow(l *lever.Lever) leverRow {
	r := leverRow{Lever: *l, Word: verdictWord(l.Verdict), Most: boundText(l), Of: boundOf(l), SortMost: -1, Value: "not measured"}
	if l.Bound != nil {
		r.SortMost = *l.Bound
	}
	for i, v := range verdictOrder {
		if v == l.Verdict {
			r.SortRank = float64(i)
		}
	}
	if m := l.Measurement; m != nil && m.Known() {
		r.Value, r.Interval, r.N = valueText(m), interval(m), countText(m)
		r.Floor, r.SortValue, r.Known = floorText(m), m.Estimate.Value, true
	}
	r.Command, r.Note = splitNext(l.Next)
	return r
}

func newMeasureRow(m *result.Measurement) measureRow {
	r := measureRow{Name: m.Name, Title: label(m), Evidence: string(m.Evidence), Floor: floorText(m), Note: strings.Join(m.Warnings, "; "), Value: "unknown", Known: m.Known()}
	if !m.Known() {
		r.Note = m.Reason
		return r
	}
	r.Value, r.Interval, r.N, r.Count = result.Format(m.Estimate.Value, m.Unit), interval(m), m.Estimate.N, countText(m)
	if d := m.Labels["disturbed"]; d != "" {
		r.Note = strings.Join(append([]string{"disturbed: " + d}, m.Warnings...), "; ")
	}
	if !m.Estimate.HasInterval() && m.Reason != "" {
		r.Note = strings.TrimPrefix(r.Note+"; "+m.Reason, "; ")
	}
	if !math.IsNaN(m.Estimate.Value) && !math.IsInf(m.Estimate.Value, 0) {
		r.Sort = m.Estimate.Value
	}
	return r
}

// pictures in the order in which the page shows them; those without data are
// left out.
func pictures(a *Assessment) []picture.Figure {
	var dists []result.Distribution
	var pairs []probe.PairResult
	for _, o := range a.Runs {
		pairs = append(pairs, o.Pairs...)
		for _, d := range o.Distributions {
			if d.Name == "commit" || strings.HasPrefix(d.Name, "commit.") {
				dists = append(dists, d)
			}
		}
	}
	big := a.Facts != nil && len(a.Facts.Topology.CPUs) > 32
	all := []picture.Figure{
		{Title: "Wake-up penalty by slice", SVG: wakeupPicture(a.Probes),
			Note: "How much longer work takes right after a pause. Markers are estimates, bars their 95 % intervals, the grey bands are the noise floor of this host: inside them nothing can be told."},
		{Title: "Commit latency", SVG: latencyPicture(dists, a.Probes),
			Note: "Each panel is scaled to its own peak. Memory forgets everything at a power cut: it bounds what any device could give."},
		{Title: "Speed-up by degree", SVG: speedupPicture(a.Probes),
			Note: "A cached query on more and more CPUs, with 95 % intervals; the dashed line is what CPUs that cost each other nothing would give."},
		{Title: "Frequency of each CPU", SVG: frequencyPicture(a.Facts), Wide: a.Facts != nil && len(a.Facts.Frequency.Current) > 64,
			Note: "As a share of the highest frequency of that CPU, at one moment."},
		{Title: "CPU topology", SVG: topologyPicture(a.Facts, pairs), Wide: big,
			Note: "Sockets, shared caches, cores and threads as the system reports them."},
	}
	var out []picture.Figure
	for _, p := range all {
		if p.SVG != "" {
			p.Tall = strings.Count(string(p.SVG), "whisker") > 20
			out = append(out, p)
		}
	}
	return out
}
