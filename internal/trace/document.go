package trace

import (
	"fmt"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Report is what 'hostlab record' says: a result, or the bounds and why there is none.
type Report struct {
	Hostlab string // version
	Service string
	Out     string // file of the bursts; "" for none
	*Result
	Reason string // why there is no Result
	Length float64
	Bounds []Bound
}

// Document is the report.
func (r *Report) Document() *document.Document {
	d := &document.Document{Name: "record", Title: "Scheduling of " + r.Service, Data: r.data()}
	if r.Result == nil {
		r.bounded(d)
		return d
	}
	s := r.Result
	d.Answer = []document.Line{{Text: fmt.Sprintf("%s used %s of %s and waited %s per second for a free CPU.", r.Service,
		number(s.Run.Value), screen.Count(len(s.CPUs), "CPU"), result.Format(s.Queue.Value, "s"))}}
	d.About = []string{fmt.Sprintf("%s from %s on. The kernel was watched in %s, %s of the time.", span(s.Length),
		s.Started.UTC().Format("2006-01-02 15:04:05 MST"), screen.Count(s.Windows, "window"), percent(s.SeenShare()))}
	d.Warnings = s.warnings()
	d.Sections = []document.Section{{Title: "The service", Blocks: []document.Block{s.parts(), s.wakeups()}},
		{Title: "CPUs", Blocks: []document.Block{s.table()}},
		{Title: "Cost", Blocks: []document.Block{s.Cost.pairs()}}}
	if r.Out != "" {
		d.Sections = append(d.Sections, document.Section{Title: "Next", Blocks: []document.Block{document.Commands{
			{Why: "What a power policy would cost this work", Line: "hostlab predict --workload " + r.Out},
		}}})
	}
	return d
}

func (s *Result) warnings() (list []string) {
	if s.Ended != "" {
		list = append(list, fmt.Sprintf("%s after %s; what was seen until then counts", s.Ended, span(s.Length)))
	}
	if s.Lost > 0 {
		list = append(list, fmt.Sprintf("%d bursts were lost, %s of all: the buffer had no room for them", s.Lost,
			percent(s.LostShare())))
	}
	if n := float64(s.Unseen) / max(1, float64(s.Cost.Switches)); n > 0.001 {
		list = append(list, fmt.Sprintf("the kernel did not report %s of the context switches: what ran then counts for the task before or after", percent(n)))
	}
	if s.Missed > 0 {
		list = append(list, fmt.Sprintf("%d tasks could not be read; their time does not count for the service", s.Missed))
	}
	if s.Windows < 20 && s.SeenShare() < 0.9 {
		list = append(list, fmt.Sprintf("the intervals rest on only %s; record for longer", screen.Count(s.Windows, "window")))
	}
	return list
}

func (s *Result) parts() *document.Table {
	row := func(name string, iv result.Estimate) document.Row {
		return document.Row{Cells: []document.Cell{document.Text(name), document.Number(iv.Value, iv.Text(), iv.Interval())}}
	}
	t := &document.Table{Lead: "Seconds per second, of all its threads together, with 95 % intervals over windows.",
		Columns: document.Headings("part", "s/s"),
		Rows:    []document.Row{row("on a CPU", s.Run), row("waiting for a CPU", s.Queue)}}
	const beside = "on a CPU beside a busy sibling"
	if s.Overlap != nil {
		t.Rows = append(t.Rows, row(beside, *s.Overlap))
	} else {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(beside)}, Across: "unknown: " + s.NoOverlap})
	}
	t.Rows = append(t.Rows, row("all tasks on CPUs", s.Busy))
	return t
}

func (s *Result) wakeups() *document.Table {
	row := func(name string, l Latency) document.Row {
		cells := []document.Cell{document.Text(name), document.Number(float64(l.N)/s.Seen,
			result.Format(float64(l.N)/s.Seen, "1/s"))}
		for _, v := range []float64{l.Quantile(0.5), l.Quantile(0.99), l.Mean()} {
			cells = append(cells, document.Number(v, result.Format(v, "s")))
		}
		return document.Row{Cells: append(cells, document.Number(l.Sum/s.Seen, result.Format(l.Sum/s.Seen, "s")))}
	}
	return &document.Table{Title: "Wake-ups", Lead: "Time from the wake-up of a thread until it runs.",
		Columns: document.Headings("CPU was", "rate", "median", "99 %", "mean", "s/s"),
		Rows:    []document.Row{row("idle", s.OnIdle), row("busy", s.OnBusy)}}
}

func (s *Result) table() *document.Table {
	t := &document.Table{Columns: document.Headings("CPU", "busy", "by the service", "bursts"), Most: 16}
	for _, c := range s.CPUs {
		t.Rows = append(t.Rows, document.Row{Cells: []document.Cell{document.Text(fmt.Sprint(c.Number)),
			document.Number(c.Busy, percent(c.Busy)),
			document.Number(c.Run, percent(c.Run)), document.Number(float64(c.Bursts), fmt.Sprint(c.Bursts))}})
	}
	return t
}

func (c Cost) pairs() document.Pairs {
	how := "timed by the kernel in some of the windows"
	if !c.Measured {
		how = "assumed: there were too few to time"
	}
	return document.Pairs{
		{Name: "CPU time", Value: fmt.Sprintf("%s of the CPU time in use; at most %s is allowed", percent(c.OfBusy), percent(c.Budget))},
		{Name: "programs", Value: fmt.Sprintf("%s in total, %.0f ns per switch in windows, %.0f ns outside",
			result.Format(c.Programs, "s"), c.OnNS, c.OffNS), More: []string{how}},
		{Name: "reader", Value: result.Format(c.Reader, "s")},
		{Name: "switches", Value: fmt.Sprintf("%s, %d in windows", result.Format(c.SwitchesPerS, "1/s"), c.Watched)},
	}
}

// bounded is the document without a result.
func (r *Report) bounded(d *document.Document) {
	d.Answer = []document.Line{{Text: fmt.Sprintf("The scheduling of %s could not be recorded: %s.", r.Service, r.Reason)}}
	d.About = []string{fmt.Sprintf("The kernel's own counters give these bounds, over %s.", span(r.Length))}
	t := &document.Table{Lead: "Seconds per second.", Columns: document.Headings("part", "at most")}
	for _, b := range r.Bounds {
		row := document.Row{Cells: []document.Cell{document.Text(b.Name)}, Across: "unknown: " + b.Reason}
		if b.Value != nil {
			row = document.Row{Cells: []document.Cell{document.Text(b.Name),
				document.Number(*b.Value, result.Format(*b.Value, "s"))}}
		}
		row.Notes = []document.Line{{Text: b.About + " (" + b.Source + ")", Tone: document.Quiet}}
		t.Rows = append(t.Rows, row)
	}
	d.Sections = []document.Section{{Title: "Bounds", Blocks: []document.Block{t}}}
}

func number(v float64) string  { return fmt.Sprintf("%.3g", v) }
func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

func span(s float64) string {
	return time.Duration(s * 1e9).Round(100 * time.Millisecond).String()
}
