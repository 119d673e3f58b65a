package all

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
	"hostlab/studies"
)

// Schema is the version of the JSON of both.
const Schema = 1

// Trial is what the command line asks of one workload.
type Trial struct {
	Runs   int
	Seed   uint64
	Params workload.Params // that Parse has read
	picks  []workload.Pick
}

// Parse reads parameter=value words and picks.
func (o *Trial) Parse(w workload.Workload, words, picks []string) error {
	d := w.Describe()
	given := map[string]any{}
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q: expected parameter=value; 'hostlab workload show %s' lists the parameters", word, d.Name)
		}
		given[name] = workload.Typed(text)
	}
	var err error
	if o.Params, err = workload.Check(d, given); err != nil {
		return err
	}
	if len(picks) > 0 && !d.Picks {
		return fmt.Errorf("--pick: workload %s has no output to pick from", d.Name)
	}
	for _, text := range picks {
		name, from, ok := strings.Cut(text, "=")
		if !ok || name == "" || from == "" {
			return fmt.Errorf("--pick %q: expected NAME=FROM, such as tps='regex:tps = (\\S+)'", text)
		}
		own := slices.ContainsFunc(d.Responses, func(r workload.Response) bool { return r.Name == name })
		if own || slices.ContainsFunc(o.picks, func(p workload.Pick) bool { return p.Name == name }) {
			return fmt.Errorf("--pick %q: there is a response %s already", text, name)
		}
		o.picks = append(o.picks, workload.Pick{Name: name, From: from, Unit: workload.AnyUnit, Scale: 1})
	}
	return w.Validate(workload.Config{Params: o.Params, Picks: o.picks, Factors: []string{}})
}

// Report is what the runs gave.
type Report struct {
	document.Head
	Workload   string            `json:"workload"`
	Parameters map[string]string `json:"parameters"`
	Seed       uint64            `json:"seed"`
	Runs       int               `json:"runs"`
	LeftOut    int               `json:"left_out"` // runs in which hostlab was stopped
	Responses  []Response        `json:"responses"`
	Warnings   []string          `json:"warnings"`
}

// Response has null where no run gave a value.
type Response struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Unit    string   `json:"unit"`
	Median  *float64 `json:"median"`
	Least   *float64 `json:"least"`
	Most    *float64 `json:"most"`
	N       int      `json:"n"`
	Missing string   `json:"missing,omitempty"` // why the last run without it had none
}

// Do executes the runs. Workloads write by name below work. Whatever happens, no session is left behind.
func (o *Trial) Do(ctx context.Context, w workload.Workload, work string) (rep Report, err error) {
	here, err := os.Getwd()
	if err != nil {
		return rep, err
	}
	s, err := w.Open(ctx, workload.Config{Params: o.Params, Picks: o.picks, Dir: here, Work: work, Factors: []string{}})
	if err != nil {
		return rep, err
	}
	defer func() {
		if cerr := s.Close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
	}()
	d := w.Describe()
	rep = Report{Head: document.Head{Kind: "workload", Schema: Schema}, Workload: d.Name, Parameters: map[string]string{},
		Seed: o.Seed, Runs: o.Runs, Warnings: []string{}}
	for _, p := range d.List() {
		rep.Parameters[p.Name] = p.Text(o.Params)
	}
	watch := proc.WatchPauses()
	defer watch.Close()
	values, missing := map[string][]float64{}, map[string]string{}
	for i := range o.Runs {
		before, start := watch.Sum(), time.Now()
		got, err := s.Run(ctx, workload.Request{Params: o.Params, Seed: o.Seed, Run: uint64(i)})
		if err != nil {
			if ctx.Err() != nil {
				return rep, ctx.Err()
			}
			return rep, fmt.Errorf("run %d of %d: %w", i+1, o.Runs, err)
		}
		stopped := watch.Sum().Sub(before)
		stopped.Run = time.Since(start)
		if why := stopped.Text(); why != "" { // its figures are of the stop, as in 'run'
			rep.LeftOut++
			rep.Warnings = append(rep.Warnings, fmt.Sprintf("run %d of %d is left out: %s", i+1, o.Runs, why))
			continue
		}
		for name, v := range got.Values {
			values[name] = append(values[name], v)
		}
		for name, why := range got.Missing {
			missing[name] = why
		}
		for _, text := range got.Warnings {
			if !slices.Contains(rep.Warnings, text) {
				rep.Warnings = append(rep.Warnings, text)
			}
		}
	}
	if rep.LeftOut == o.Runs {
		return rep, fmt.Errorf("no run counts: %s; run it again", rep.Warnings[len(rep.Warnings)-1])
	}
	responses := slices.Clone(d.Responses)
	for _, p := range o.picks {
		responses = append(responses, workload.Response{Name: p.Name, Title: p.From})
	}
	for _, r := range responses {
		x := values[r.Name]
		out := Response{Name: r.Name, Title: r.Title, Unit: r.Unit, N: len(x), Missing: missing[r.Name]}
		if len(x) > 0 {
			median, least, most := stats.Median(x), slices.Min(x), slices.Max(x)
			out.Median, out.Least, out.Most = &median, &least, &most
		}
		rep.Responses = append(rep.Responses, out)
	}
	return rep, nil
}

// Document has a table, and below it why responses are missing.
func (r Report) Document() *document.Document {
	t := &document.Table{Columns: document.Headings("response", "median", "least to most", "n")}
	notes := document.List{}
	var whys []string // each once, as most of a service without transactions lack the same
	lack := map[string][]string{}
	for _, x := range r.Responses {
		median, span := "unknown", ""
		if x.Median != nil {
			median, span = result.Format(*x.Median, x.Unit), result.Format(*x.Least, x.Unit)+" to "+
				result.Format(*x.Most, x.Unit)
		}
		t.Add(document.Texts(x.Name, median, span, fmt.Sprint(x.N))...)
		if x.Missing != "" {
			if lack[x.Missing] == nil {
				whys = append(whys, x.Missing)
			}
			lack[x.Missing] = append(lack[x.Missing], x.Name)
		}
	}
	for _, why := range whys {
		notes = append(notes, document.Line{Text: strings.Join(lack[why], ", ") + ": " + why})
	}
	const most = 4 // runs that were disturbed differ in their numbers only
	notes = append(notes, document.Points(r.Warnings[:min(most, len(r.Warnings))]...)...)
	if more := len(r.Warnings) - most; more > 0 {
		notes = append(notes, document.Line{Text: fmt.Sprintf("and %d more warnings: --format json has all", more)})
	}
	d := &document.Document{Name: "workload", Title: r.Workload, When: time.Now().UTC(),
		Answer: []document.Line{{Text: fmt.Sprintf("%s, seed %d: medians of %s", r.Workload, r.Seed,
			screen.Count(r.Runs-r.LeftOut, "run"))}},
		Sections: []document.Section{{Title: "Responses", Blocks: []document.Block{t}}}, Data: r}
	if len(notes) > 0 {
		d.Sections = append(d.Sections, document.Section{Title: "Notes", Blocks: []document.Block{notes}})
	}
	return d
}

// described is a workload as JSON.
type described struct {
	document.Head
	Name       string             `json:"name"`
	Title      string             `json:"title"`
	About      string             `json:"about"`
	Parameters []describedParam   `json:"parameters"`
	Responses  []describedMeasure `json:"responses"`
	Picks      bool               `json:"picks"` // others can be picked from its output
}

type describedParam struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Unit     string   `json:"unit"`
	Required bool     `json:"required"`
	Default  string   `json:"default"` // "": none
	Choices  []string `json:"choices"`
	Range    string   `json:"range"` // for people; "": none
	Help     string   `json:"help"`
}

type describedMeasure struct {
	Name   string `json:"name"`
	Title  string `json:"title"`
	Unit   string `json:"unit"`
	Better string `json:"better"`
}

func Describe(d workload.Description) *document.Document {
	var params, responses []string
	data := described{Head: document.Head{Kind: "workload-description", Schema: Schema}, Name: d.Name, Title: d.Title,
		About: d.About, Picks: d.Picks, Parameters: []describedParam{}, Responses: []describedMeasure{}}
	help := studies.Help(d.Name)
	for _, p := range d.List() {
		data.Parameters = append(data.Parameters, describedParam{p.Name, p.Kind, strings.TrimPrefix(p.Unit, "1"),
			p.Required, p.Default, append([]string{}, p.Choices...), p.Range(), help[p.Name]})
		text := fmt.Sprintf("%s (%s", p.Name, p.Kind)
		if p.Required {
			text += ", required"
		} else if p.Default != "" {
			text += ", default " + strings.TrimSpace(p.Default+" "+strings.TrimPrefix(p.Unit, "1"))
		}
		text += "): " + help[p.Name]
		if len(p.Choices) > 0 {
			text += ": " + strings.Join(p.Choices, ", ")
		}
		if r := p.Range(); r != "" {
			text += "; " + r
		}
		params = append(params, text)
	}
	for _, r := range d.Responses {
		data.Responses = append(data.Responses, describedMeasure{r.Name, r.Title, r.Unit, fmt.Sprint(r.Better)})
		text := r.Name + ": " + r.Title
		if r.Unit != "" {
			text += " (" + r.Unit + ")"
		}
		responses = append(responses, text+", "+r.Better+" is better")
	}
	if d.Picks {
		responses = append(responses, "and what is picked from its output")
	}
	return &document.Document{Name: "workload", Title: d.Name, Answer: []document.Line{{Text: d.Name + ": " + d.Title}},
		Data: data, About: []string{d.About}, Sections: []document.Section{
			{Title: "Parameters", Blocks: []document.Block{document.Points(params...)}},
			{Title: "Responses", Blocks: []document.Block{document.Points(responses...)}}}}
}
