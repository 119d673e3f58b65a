package effects

import (
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/analysis"
	"hostlab/internal/report/picture"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

//go:embed web
var web embed.FS

var pageTemplate = picture.Template(web, "effects.html", nil)

// WriteHTML writes one self-contained page, small however many runs there are. It
// loads nothing.
func WriteHTML(w io.Writer, s *Set) error {
	css, err := web.ReadFile("web/effects.css")
	if err != nil {
		return err
	}
	doc := newDocument(s)
	for i := range doc.Effects {
		if len(doc.Effects[i].Differs) > dataDifferences {
			doc.Effects[i].Differs = nil
		}
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	p := page{Set: s, Heading: heading(s)}
	if p.Page, err = picture.NewPage(p.Heading+": effects", css, data); err != nil {
		return err
	}
	for i := range s.Reports {
		p.Sections = append(p.Sections, newSection(fmt.Sprintf("e%d", i), &s.Reports[i]))
	}
	if len(s.Reports) > 1 {
		c := s.compare()
		p.Compared, p.Differs = comparedRows(s, &c), c.Warnings
	}
	return picture.Render(w, pageTemplate, &p)
}

// dataDifferences is how many differences of one effect the page's own data keeps;
// the JSON format has all.
const dataDifferences = 1000

// page is what the template shows.
type page struct {
	Page     picture.Page
	Set      *Set
	Heading  string
	Sections []section
	Compared []compareRow
	Differs  []string // with several experiments: what is not the same in all
}

// section is one experiment.
type section struct {
	Key                       string
	Dir, Name, Title          string
	Lead, State, Counts, Seen string
	Absent                    string
	Extra                     *content
	Told                      []told
	Warnings                  []string
	Tables                    []effectTable
	Notes                     []string
	Needs                     []string
	Steps                     []step
	Figures                   []picture.Figure
	AA                        []string
	Facts                     [][2]string
	Study                     string
}

// glued keeps a figure and its unit on one line.
var glued = strings.NewReplacer(" %", "\u00a0%", "n = ", "n\u00a0=\u00a0")

// told is one sentence of the verdict.
type told struct{ Class, Text string }

type effectTable struct {
	Title, Lead string
	Folded      bool // closed until it is asked for
	Rows        []effectRow
}

type effectRow struct {
	Response, What, Against, Change, Interval, Sides, N, Margin, Floor, Verdict, Class, Evidence, Why string
	Notes                                                                                             []string
	Sort                                                                                              float64
	Known                                                                                             bool
}

type compareRow struct {
	Name, Dir string
	Told      []string // of the effect, at the first of its rows
	effectRow
}

func heading(s *Set) string {
	if len(s.Reports) == 1 {
		x := s.Reports[0].head()
		if x.Title != "" {
			return x.Title
		}
		return x.Name
	}
	return fmt.Sprintf("%d experiments compared", len(s.Reports))
}

func newSection(key string, r *Report) section {
	a, x := r.Analysis, r.head()
	out := section{Key: key, Dir: r.Dir, Name: x.Name, Title: x.Title, Lead: headLine(r), State: stateText(a), Counts: runsText(a.Runs), Seen: seenText(a), Absent: absentText(x), Extra: r.section(key),
		Warnings: r.warnings(), Notes: footnotes(x, a, true), Steps: r.steps(), Study: studyText(r.Study)}
	for _, v := range headline(r) {
		out.Told = append(out.Told, told{string(v.class), glued.Replace(v.text) + "."})
	}
	main := effectTable{Title: "Effects", Lead: "What each change costs. An effect counts where its whole interval lies beyond the practical margin."}
	inter := effectTable{Title: "Interactions"}
	rest := effectTable{Title: "Other effects", Folded: true, Lead: "Those that are not primary, which the section above has at a glance."}
	var interacting []*analysis.Effect
	for i := range a.Effects {
		e := &a.Effects[i]
		if interaction(e) {
			inter.Rows = append(inter.Rows, newEffectRow(x, e))
			interacting = append(interacting, e)
		} else if abridged(x) && !primary(e) {
			rest.Rows = append(rest.Rows, newEffectRow(x, e))
		} else {
			main.Rows = append(main.Rows, newEffectRow(x, e))
		}
		if n := needText(e); n != "" && primary(e) {
			out.Needs = append(out.Needs, subject(&e.Contrast)+": "+n+".")
		}
	}
	inter.Lead = interactionLead(interacting)
	for _, t := range []effectTable{main, rest, inter} {
		if len(t.Rows) > 0 {
			out.Tables = append(out.Tables, t)
		}
	}
	for i := range a.AA {
		out.AA = append(out.AA, aaText(&a.AA[i])+".")
	}
	out.Figures = figures(key, r)
	out.Facts = factRows(x)
	return out
}

func newEffectRow(x *result.Experiment, e *analysis.Effect) effectRow {
	r := &e.Response
	row := effectRow{Response: label(r), What: subject(&e.Contrast), Against: against(x, e), Change: amount(e.Value, r), Interval: span(e.Low, e.High, r),
		N: fmt.Sprintf("%d %s", e.N, e.Unit), Margin: within(r.Margin, r), Floor: within(e.NoiseFloor, r), Verdict: verdictWord(e), Class: string(e.Verdict),
		Evidence: evidence(x, e), Why: glued.Replace(e.Reason), Notes: notes(e), Sort: e.Value, Known: known(e.Value)}
	if known(e.Baseline, e.Level) && !interaction(e) {
		row.Sides = result.Format(e.Baseline, r.Unit) + " to " + result.Format(e.Level, r.Unit)
	}
	return row
}

func comparedRows(s *Set, c *comparison) []compareRow {
	var out []compareRow
	for _, row := range c.Rows {
		told := row.Notes
		for i, e := range row.Effects {
			if e != nil {
				r := &s.Reports[i]
				out, told = append(out, compareRow{row.Name, r.Dir, told, newEffectRow(r.head(), e)}), nil
			}
		}
	}
	return out
}

// figures in the order in which the page shows them; those without data are left
// out.
func figures(key string, r *Report) []picture.Figure {
	a, x := r.Analysis, r.head()
	out := effectFigures(key, x, a.Effects)
	add := func(f picture.Figure, ok bool) {
		if ok {
			out = append(out, f)
		}
	}
	for i, resp := range shown(x) {
		add(runsFigure(fmt.Sprintf("%s-runs%d", key, i), x, r.Runs, &resp))
	}
	out = append(out, interactionFigures(key, x, r.Runs, a.Effects)...)
	for i, resp := range shown(x) {
		add(distributionFigure(fmt.Sprintf("%s-dist%d", key, i), x, r.Runs, &resp))
	}
	add(latencyFigure(key+"-latency", x, r.Runs))
	add(aaFigure(key, a.AA))
	return out
}

// factRows are the host's fingerprint and what ran.
func factRows(x *result.Experiment) [][2]string {
	var out [][2]string
	add := func(prefix string, m map[string]string) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			out = append(out, [2]string{prefix + k, m[k]})
		}
	}
	add("host: ", x.Host)
	out = append(out, [2]string{"workload", x.Workload})
	add("workload: ", x.Parameters)
	add("machine: ", x.Context)
	for _, f := range x.Factors {
		out = append(out, [2]string{"factor: " + f.Name, fmt.Sprintf("%s (baseline %s), %s, changed %s", strings.Join(f.Levels, ", "), f.Baseline, f.Kind, f.Change)})
	}
	out = append(out, [2]string{"design", designText(&x.Design) + fmt.Sprintf(", looks after %v blocks, alpha %g", x.Design.Looks, x.Design.Alpha)})
	add("set on the command line: ", x.Overrides)
	return append(out, [2]string{"study file", x.File}, [2]string{"study SHA-256", x.Study}, [2]string{"experiment", x.ID}, [2]string{"recorded by", "hostlab " + x.Version})
}

// studyText is the study file, safe to show; a long one is cut.
func studyText(b []byte) string {
	const most = 64 << 10
	s := string(b[:min(len(b), most)])
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = screen.Clean(strings.ReplaceAll(lines[i], "\t", "    "))
	}
	s = strings.Join(lines, "\n")
	if len(b) > most {
		s += fmt.Sprintf("\n# ... and %d bytes more", len(b)-most)
	}
	return s
}
