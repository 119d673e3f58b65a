package predict

import (
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"hostlab/internal/model"
	"hostlab/internal/report/picture"
	"hostlab/internal/result"
)

//go:embed web
var web embed.FS

var pageTemplate = picture.Template(web, "predict.html", template.FuncMap{})

// WriteHTML writes one self-contained page, which loads nothing.
func WriteHTML(w io.Writer, a *Answer) error {
	css, err := web.ReadFile("web/predict.css")
	if err != nil {
		return err
	}
	data, err := json.Marshal(NewDocument(a))
	if err != nil {
		return err
	}
	shell, err := picture.NewPage("Prediction: "+a.Policies[0].String()+" on "+a.Machine.Name, css, data)
	if err != nil {
		return err
	}
	p := page{
		Page: shell, Title: a.Workload.Name + " on " + a.Machine.Name, Sentence: a.Sentence(), Depends: a.depends(), Baseline: a.Baseline.Name,
		Lines: lines(a), Seed: a.Options.Seed, N: a.Options.Replications,
		HostDecides: a.Machine.HostDecides, Warnings: a.Warnings, Assumptions: a.Assumptions, Test: a.TestCommand(), TestNote: a.TestNote(),
	}
	for _, c := range a.Comparisons {
		p.Loads = append(p.Loads, newLoadView(c))
	}
	if len(a.Sensitivity) > 0 {
		p.Figures = append(p.Figures, tornado(a))
	}
	if len(a.Vanishing) > 0 {
		p.Figures = append([]picture.Figure{curves(a)}, p.Figures...)
	}
	if a.Map != nil {
		p.Figures = append([]picture.Figure{heatMap(a.Map)}, p.Figures...)
	}
	return picture.Render(w, pageTemplate, p)
}

func lines(a *Answer) []string {
	out := []string{machineLine(a.Machine.Machine), workloadLine(a.Workload.Workload)}
	if l := recordLine(a); l != "" {
		out = append(out, "Record: "+l)
	}
	return out
}

// page is what the template shows.
type page struct {
	Page                               picture.Page
	Title, Sentence, Depends, Baseline string
	Lines, Warnings                    []string
	HostDecides                        *HostDecides
	Seed                               uint64
	N                                  int
	Loads                              []loadView
	Figures                            []picture.Figure
	Assumptions                        []Assumption
	Test, TestNote                     string
}

// loadView is the table of one load.
type loadView struct {
	ID, Title string
	Head      []string
	Rows      []rowView
	Warnings  []string
	Residency [][3]string
}

type rowView struct {
	Name, Refused string
	Cells         []cellView
}

type cellView struct {
	Label, Value, Ratio, Interval string
	Sort                          float64
}

// shown are the responses of the page's tables.
var shown = []struct {
	response model.Response
	title    string
}{
	{model.StepTime, "Step time"}, {model.StepTimeP95, "p95"}, {model.StepTimeP99, "p99"}, {model.CPUSeconds, "CPU seconds"},
	{model.Throughput, "Throughput"}, {model.Performance, "Performance"}, {model.JoulesPerStep, "Energy a step"}, {model.RampTime, "Ramp"},
}

func newLoadView(c model.Comparison) loadView {
	v := loadView{Title: "Result", ID: "result"}
	if l := at(c); l != "" {
		v.Title = "At" + strings.TrimPrefix(l, " at")
		v.ID = fmt.Sprintf("load-%g", c.Baseline.Load*100)
	}
	for _, s := range shown {
		v.Head = append(v.Head, s.title)
	}
	for i, r := range append([]model.Row{c.Baseline}, c.Rows...) {
		row := rowView{Name: label(r)}
		if len(r.Responses) == 0 {
			row.Refused = reason(r)
			v.Rows = append(v.Rows, row)
			continue
		}
		for _, s := range shown {
			row.Cells = append(row.Cells, newCell(s.title, s.response, r, i == 0))
		}
		v.Rows = append(v.Rows, row)
		v.Residency = append(v.Residency, [3]string{label(r), states3(r.PStates), states3(r.IdleStates)})
	}
	v.Warnings = shared(c)
	return v
}

func newCell(title string, x model.Response, r model.Row, baseline bool) cellView {
	e, ok := r.Responses[x]
	if !ok {
		return cellView{Label: title, Value: "-"}
	}
	cell := cellView{Label: title, Value: result.Format(e.Mean, unitOf(x)), Sort: e.Mean}
	switch {
	case x == model.Performance:
		cell.Value, cell.Interval = percentOf(e), fmt.Sprintf("[%.1f, %.1f] %%", e.Low*100, e.High*100)
		return cell
	case x == model.RampTime:
		cell.Value = rampText(r.Responses)
		if result.Finite(e.High) != nil {
			cell.Interval = spread(result.Format(e.Low, "s"), result.Format(e.High, "s"))
		}
		return cell
	case baseline:
		cell.Interval = spread(result.Format(e.Low, unitOf(x)), result.Format(e.High, unitOf(x)))
		return cell
	}
	if q, ok := r.Ratio[x]; ok {
		cell.Ratio, cell.Interval = times(q), interval(q)
	}
	return cell
}

// spread names a unit that both ends have only once, for a narrow column.
func spread(low, high string) string {
	number, unit, _ := strings.Cut(low, " ")
	if strings.HasSuffix(high, " "+unit) {
		return number + " to " + high
	}
	return low + " to " + high
}
