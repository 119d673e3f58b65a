package scanlock

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"hostlab/internal/cpus"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Up to this many threads each has a line of its own: the program of 2005 has 64 at
// most, and a table is to fit a screen.
const (
	most2005 = 64
	mostRows = 16
)

// Document returns a run as every format prints it; its Data still lacks tool, host and
// start.
func Document(p Plan, r Result, d Data) *document.Document {
	out := r.Total.Document(p, "Whole run, ", r.Lost)
	out.Title, out.Data = "A lock beside scans on "+d.Host, d
	out.About = []string{"One run, without an interval; the first 0.1 s are not counted."}
	out.Warnings = append(out.Warnings, p.Warnings...)
	p.Warnings = nil // said above
	out.Sections = append([]document.Section{p.Section()}, out.Sections...)
	if p.Cell.Timed {
		out.Sections = append(out.Sections, r.Total.Latencies())
	}
	return out
}

// Section returns a plan, as it is printed before it runs.
func (p Plan) Section() document.Section {
	c := p.Cell
	var scan, lock []int
	near := map[Near][]int{}
	for i, th := range c.Threads {
		if th.Role == Lock {
			lock = append(lock, th.CPU)
			near[p.Near[i]] = append(near[p.Near[i]], th.CPU)
		} else {
			scan = append(scan, th.CPU)
		}
	}
	var pairs document.Pairs
	if len(scan) > 0 {
		what := map[Role]string{Scan: "overwrite " + result.Format(float64(c.ScanSize), "B") + " each, over and over",
			Pause: "wait with PAUSE", ALU: "fill the ports for integers", FMA: "fill the ports for floating point"}[p.Antagonist]
		pairs = append(pairs, document.Pair{Name: string(p.Antagonist),
			Value: fmt.Sprintf("%s on %s: %s", screen.Count(len(scan), "thread"), cpus.Named(scan), what)})
	}
	if len(lock) > 0 {
		pair := document.Pair{Name: "lock", Value: fmt.Sprintf("%s on %s: %s", screen.Count(len(lock), "thread"),
			cpus.Named(lock), p.lockText())}
		for _, n := range nears {
			if cpus := near[n]; len(cpus) > 0 && len(scan) > 0 {
				pair.More = append(pair.More, words[n]+": "+host.FormatList(cpus))
			}
		}
		pairs = append(pairs, pair)
	}
	out := document.Section{Title: "Plan", Blocks: []document.Block{pairs}}
	if len(p.Warnings) > 0 {
		out.Blocks = append(out.Blocks, document.Points(p.Warnings...))
	}
	return out
}

// lockText describes the lock and what is done under it.
func (p Plan) lockText() string {
	c := p.Cell
	parts := []string{fmt.Sprintf("one %s lock", c.Lock)}
	switch {
	case c.Touch && c.Critical > 0:
		parts = append(parts, fmt.Sprintf("%s and a write of protected data under it", screen.Count(c.Critical, "addition")))
	case c.Touch:
		parts = append(parts, "a write of protected data under it")
	case c.Critical > 0:
		parts = append(parts, screen.Count(c.Critical, "addition")+" under it")
	default:
		parts = append(parts, "nothing under it")
	}
	if c.Parallel > 0 {
		parts = append(parts, screen.Count(c.Parallel, "addition")+" between")
	}
	if c.NoPause {
		parts = append(parts, "no PAUSE while spinning")
	}
	if c.Layout == Packed {
		parts = append(parts, "counters packed as in the program of 2005")
	}
	return strings.Join(parts, ", ")
}

// Write2005 writes a line for each thread in the form of the program of 2005, scans
// as spins. More threads than it could have are left out.
func (t Table) Write2005(w io.Writer) error {
	if len(t.Rows) > most2005 {
		return nil
	}
	var b strings.Builder
	for _, r := range t.Rows {
		spin := r.Spins
		if !r.Locks() {
			spin = r.Rounds
		}
		fmt.Fprintf(&b, "Thread Id = %d\t, Thread Affinity = %s\t, Locked = %d\t, Spin = %d\t\n", r.ID, cpus.Affinity(r.CPU),
			r.Acquisitions, spin)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Document returns what all threads did in a stretch of time, "Last " or "Whole run, ". lost is
// why the run ended too early; "" else.
func (t Table) Document(p Plan, stretch, lost string) *document.Document {
	if lost != "" {
		stretch = "Incomplete run, "
	}
	length := result.Format(t.Seconds, "s")
	d := &document.Document{Name: "scanlock",
		Answer: []document.Line{{Text: fmt.Sprintf("%s%s: %s", stretch, length, t.headline(p))}}, Warnings: t.Warnings()}
	if lost != "" {
		d.Warnings = append(d.Warnings, "Incomplete: these are the figures of the first "+length+"; "+lost)
	}
	rows := document.Section{Title: "Threads", Blocks: []document.Block{t.rows()}}
	if len(t.Rows) > mostRows {
		rows.Where = document.Page
		d.Sections = append(d.Sections, document.Section{Title: "Groups of threads", Where: document.Terminal,
			Blocks: []document.Block{t.table()}})
	}
	d.Sections = append(d.Sections, rows)
	return d
}

// headline is what all threads did together.
func (t Table) headline(p Plan) string {
	var parts []string
	if t.Locks > 0 {
		text := fmt.Sprintf("%s took the lock %s", screen.Count(t.Locks, "lock thread"), result.Format(t.PerSecond, "1/s"))
		if t.Locks > 1 && !math.IsNaN(t.Jain) {
			text += fmt.Sprintf(" in all; a fair share is %s; Jain's index %.2f (1: all equal, %.2g: one has all)",
				result.Format(t.PerSecond/float64(t.Locks), "1/s"), t.Jain, 1/float64(t.Locks))
		}
		parts = append(parts, text)
	}
	if n := len(t.Rows) - t.Locks; n > 0 && p.Antagonist == Scan {
		parts = append(parts, fmt.Sprintf("%s: %s scans, %s", screen.Count(n, "scanner"), result.Format(t.Scans, "1/s"),
			result.Format(t.Scans*float64(p.Cell.ScanSize), "B/s")))
	} else if n > 0 {
		parts = append(parts, fmt.Sprintf("%s: %s rounds", screen.Count(n, string(p.Antagonist)+" thread"),
			result.Format(t.Scans, "1/s")))
	}
	return strings.Join(parts, ". ") + ". Measured."
}

func (t Table) rows() *document.Table {
	out := &document.Table{Columns: document.Headings("id", "role", "CPU", "place", "rate", "spins/lock", "of fair", "waited")}
	out.Columns[1].Right, out.Columns[3].Right = false, false
	for _, r := range t.Rows {
		wait := "unknown"
		if !math.IsNaN(r.Waited) {
			wait = fmt.Sprintf("%.1f %%", 100*r.Waited)
		}
		out.Rows = append(out.Rows, textRow(r.ID, r.Role, r.CPU, cmp.Or(words[r.Near], "-"), result.Format(r.rate(), "1/s"),
			number(r.SpinsPer), percent(r.OfFair), wait))
	}
	return out
}

// table returns a row for all threads of one role and place.
func (t Table) table() *document.Table {
	out := &document.Table{Columns: document.Headings("threads", "role", "place", "median", "least", "most", "of fair"),
		Lead: "--format json has every thread."}
	out.Columns[1].Right, out.Columns[2].Right = false, false
	for _, g := range t.groups() {
		rate := func(v float64) string { return result.Format(v, "1/s") }
		row := textRow(len(g.cpus), g.role, cmp.Or(words[g.near], "-"), rate(stats.Median(g.rates)), rate(slices.Min(g.rates)),
			rate(slices.Max(g.rates)), percent(stats.Median(g.fair)))
		extra := cpus.Named(rising(g.cpus))
		if g.got > 0 {
			extra = fmt.Sprintf("%s spins a lock; %s", number(float64(g.spins)/float64(g.got)), extra)
		}
		row.Notes = []document.Line{{Text: extra}}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func textRow(cells ...any) (r document.Row) {
	for _, c := range cells {
		r.Cells = append(r.Cells, document.Text(fmt.Sprint(c)))
	}
	return r
}

func number(x float64) string {
	switch {
	case math.IsNaN(x):
		return "-"
	case x != 0 && x < 0.01:
		return "<0.01"
	}
	return result.Format(math.Round(100*x)/100, "")
}

func percent(x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf("%.3g %%", 100*x)
}

// waitedShare is the share of the time that a thread may wait for others before it is
// said.
const waitedShare = 0.02

// Warnings say which threads did not have their CPUs to themselves.
func (t Table) Warnings() (out []string) {
	var late, off []int
	most, least := 0.0, 1.0
	for _, r := range t.Rows {
		switch {
		case r.Waited > waitedShare:
			late, most = append(late, r.CPU), max(most, r.Waited)
		case math.IsNaN(r.Waited) && r.OnCPU < 1-waitedShare:
			off, least = append(off, r.CPU), min(least, r.OnCPU)
		}
	}
	if len(late) > 0 {
		out = append(out, fmt.Sprintf("%s on %s waited up to %.0f %% of the time: others had the CPU. Rates there are too low by "+
			"that, and a lock held meanwhile slows all",
			plural(late, "the thread", "threads"), cpus.Named(rising(late)), 100*most))
	}
	if len(off) > 0 {
		out = append(out, fmt.Sprintf("%s on %s had the CPU only %.0f %% of the time", plural(off, "the thread", "threads"),
			cpus.Named(rising(off)), 100*least))
	}
	return out
}
