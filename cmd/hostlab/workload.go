package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
	"hostlab/internal/workload/all"
)

// workloadRun is what the command line asks of one workload.
type workloadRun struct {
	runs   int
	seed   uint64
	params workload.Values
	picks  []workload.Pick
}

// parse reads parameter=value words and picks.
func (o *workloadRun) parse(w workload.Workload, words, picks []string) error {
	d := w.Describe()
	given := map[string]any{}
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return fmt.Errorf("%q: expected parameter=value; `hostlab workload show %s` lists the parameters", word, d.Name)
		}
		given[name] = text
		if p, known := d.Param(name); known {
			v, err := workload.ParseText(p, text)
			if err != nil {
				return err
			}
			given[name] = v
		}
	}
	var err error
	if o.params, err = workload.Check(d, given); err != nil {
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
	if v, ok := w.(workload.Validator); ok {
		return v.Validate(workload.Config{Params: o.params, Picks: o.picks, Factors: []string{}})
	}
	return nil
}

// workloadReport is what the runs gave.
type workloadReport struct {
	Workload   string             `json:"workload"`
	Parameters map[string]string  `json:"parameters"`
	Seed       uint64             `json:"seed"`
	Runs       int                `json:"runs"`
	Responses  []workloadResponse `json:"responses"`
	Warnings   []string           `json:"warnings"`
}

// workloadResponse has null where no run gave a value.
type workloadResponse struct {
	Name    string   `json:"name"`
	Title   string   `json:"title"`
	Unit    string   `json:"unit"`
	Median  *float64 `json:"median"`
	Least   *float64 `json:"least"`
	Most    *float64 `json:"most"`
	N       int      `json:"n"`
	Missing string   `json:"missing,omitempty"` // why the last run without it had none
}

// run executes the runs. Whatever happens, nothing is left behind.
func (o *workloadRun) run(ctx context.Context, w workload.Workload) (rep workloadReport, err error) {
	here, err := os.Getwd()
	if err != nil {
		return rep, err
	}
	work, remove, err := workdir()
	if err != nil {
		return rep, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	s, err := w.Open(ctx, workload.Config{Params: o.params, Picks: o.picks, Dir: here, Work: work, Factors: []string{}})
	if err != nil {
		return rep, err
	}
	defer func() {
		if cerr := s.Close(); cerr != nil {
			err = errors.Join(err, cerr)
		}
	}()
	d := w.Describe()
	rep = workloadReport{Workload: d.Name, Parameters: map[string]string{}, Seed: o.seed, Runs: o.runs, Warnings: []string{}}
	for _, p := range d.Params {
		rep.Parameters[p.Name] = workload.Text(p, o.params[p.Name])
	}
	values, missing := map[string][]float64{}, map[string]string{}
	for i := range o.runs {
		got, err := s.Run(ctx, workload.Request{Params: o.params, Seed: o.seed, Run: uint64(i)})
		if err != nil {
			if ctx.Err() != nil {
				return rep, ctx.Err()
			}
			return rep, fmt.Errorf("run %d of %d: %w", i+1, o.runs, err)
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
	responses := slices.Clone(d.Responses)
	for _, p := range o.picks {
		responses = append(responses, workload.Response{Name: p.Name, Title: p.From})
	}
	for _, r := range responses {
		x := values[r.Name]
		out := workloadResponse{Name: r.Name, Title: r.Title, Unit: r.Unit, N: len(x), Missing: missing[r.Name]}
		if len(x) > 0 {
			median, least, most := stats.Median(x), slices.Min(x), slices.Max(x)
			out.Median, out.Least, out.Most = &median, &least, &most
		}
		rep.Responses = append(rep.Responses, out)
	}
	return rep, nil
}

// writeText writes a table, and below it why responses are missing.
func (r workloadReport) writeText(w io.Writer, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, seed %d: median of n runs, least to most\n\n", r.Workload, r.Seed)
	name := 0
	for _, x := range r.Responses {
		name = max(name, len([]rune(screen.Clean(x.Name))))
	}
	var notes []string
	for _, x := range r.Responses {
		label := screen.Clean(x.Name)
		if x.Median != nil {
			fmt.Fprintf(&b, "  %s  %-11s %-27s n = %d\n", screen.Pad(label, name), result.Format(*x.Median, x.Unit),
				result.Format(*x.Least, x.Unit)+" to "+result.Format(*x.Most, x.Unit), x.N)
		} else {
			fmt.Fprintf(&b, "  %s  unknown\n", screen.Pad(label, name))
		}
		if x.Missing != "" {
			notes = append(notes, label+": "+screen.Clean(x.Missing))
		}
	}
	const most = 4 // runs that were disturbed differ in their numbers only
	for _, text := range r.Warnings[:min(most, len(r.Warnings))] {
		notes = append(notes, screen.Clean(text))
	}
	if more := len(r.Warnings) - most; more > 0 {
		notes = append(notes, fmt.Sprintf("and %d more warnings: --format json has all", more))
	}
	if len(notes) > 0 {
		b.WriteByte('\n')
	}
	for _, text := range notes {
		bullet(&b, text, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// bullet writes text, set in, with its later lines set in.
func bullet(b *strings.Builder, text string, width int) {
	for i, line := range screen.Wrap(text, width-4) {
		if i > 0 {
			line = "  " + line
		}
		fmt.Fprintf(b, "  %s\n", line)
	}
}

func listWorkloads(w io.Writer, width int) error {
	var b strings.Builder
	longest := 0
	for _, name := range workloadNames() {
		longest = max(longest, len(name))
	}
	for _, x := range all.Workloads() {
		d := x.Describe()
		head := screen.Pad(d.Name, longest) + "  "
		for _, line := range screen.Wrap(d.Title, width-len(head)) {
			b.WriteString(head + line + "\n")
			head = strings.Repeat(" ", len(head))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// showWorkload describes a workload.
func showWorkload(w io.Writer, d workload.Description, width int) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n\nParameters\n", d.Name, d.Title, strings.Join(screen.Wrap(d.About, width), "\n"))
	for _, p := range d.Params {
		text := fmt.Sprintf("%s (%s", p.Name, p.Kind)
		if p.Required {
			text += ", required"
		} else if def := workload.Text(p, p.Default); def != "" {
			text += ", default " + strings.TrimSpace(def+" "+strings.TrimPrefix(p.Unit, "1"))
		}
		text += "): " + p.Help
		if len(p.Choices) > 0 {
			text += ": " + strings.Join(p.Choices, ", ")
		}
		if r := workload.Range(p); r != "" {
			text += "; " + r
		}
		bullet(&b, text, width)
	}
	b.WriteString("\nResponses\n")
	for _, r := range d.Responses {
		text := r.Name + ": " + r.Title
		if r.Unit != "" {
			text += " (" + r.Unit + ")"
		}
		bullet(&b, text+", "+r.Better+" is better", width)
	}
	if d.Picks {
		bullet(&b, "and what is picked from its output", width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
