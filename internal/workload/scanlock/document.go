package scanlock

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"hostlab/internal/cpus"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Document returns a run as every format prints it; its Data still lacks tool, host and
// start.
func Document(p Plan, r Result, d Data) *document.Document {
	t, stretch := r.Total, "Whole run, "
	length := result.Format(t.Seconds, "s")
	out := &document.Document{Name: "scanlock", Title: "A lock beside scans on " + d.Host, Data: d,
		About:    []string{"One run, without an interval; the first 0.1 s are not counted."},
		Warnings: append(t.Warnings(), p.Warnings...)}
	if d.Shared != "" {
		out.About = append(out.About, d.Shared)
	}
	if r.Lost != "" {
		stretch = "Incomplete run, "
		out.Warnings = append(out.Warnings, "Incomplete: these are the figures of the first "+length+"; "+r.Lost)
	}
	p.Warnings = nil // said above
	out.Answer = []document.Line{{Text: fmt.Sprintf("%s%s: %s", stretch, length, t.headline(p))}}
	out.Sections = []document.Section{p.Section(), {Title: "Threads", Blocks: []document.Block{t.rows()}}}
	out.Rows = t.plain()
	return out
}

// plain has the figures of all threads for other programs; an empty cell is not known.
func (t Table) plain() *document.Table {
	out := &document.Table{Columns: []document.Column{{Head: "id"}, {Head: "role"}, {Head: "cpu"}, {Head: "place"},
		{Head: "acquisitions", Unit: "1/s"}, {Head: "spins", Unit: "1/s"}, {Head: "scans", Unit: "1/s"},
		{Head: "spins per acquisition"}, {Head: "of fair share", Unit: "ratio"}, {Head: "on cpu", Unit: "ratio"},
		{Head: "waited", Unit: "ratio"}}}
	for _, r := range t.Rows {
		cells := document.Texts(fmt.Sprint(r.ID), string(r.Role), fmt.Sprint(r.CPU), words[r.Near])
		for _, v := range []float64{r.PerSecond, r.SpinsPerSecond, r.ScansPerSecond, r.SpinsPer, r.OfFair, r.OnCPU, r.Waited} {
			cells = append(cells, document.Exact(v))
		}
		out.Add(cells...)
	}
	return out
}

// Section returns a plan, as it is printed before it runs.
func (p Plan) Section() document.Section {
	var scan, lock []int
	near := map[cpus.Place][]int{}
	for i, th := range p.Cell.Threads {
		if th.Role == Lock {
			lock = append(lock, th.CPU)
			near[p.Near[i]] = append(near[p.Near[i]], th.CPU)
		} else {
			scan = append(scan, th.CPU)
		}
	}
	var pairs document.Pairs
	if len(scan) > 0 {
		pairs = append(pairs, document.Pair{Name: "scan", Value: fmt.Sprintf("%s on %s: overwrite %s each, over and over",
			screen.Count(len(scan), "thread"), cpus.Named(scan), result.Format(float64(p.Cell.ScanSize), "B"))})
	}
	if len(lock) > 0 {
		pair := document.Pair{Name: "lock", Value: fmt.Sprintf("%s on %s: one lock, nothing under it",
			screen.Count(len(lock), "thread"), cpus.Named(lock))}
		for _, n := range append(cpus.Places[:4:4], cpus.Unknown) {
			if at := near[n]; len(at) > 0 {
				pair.More = append(pair.More, words[n]+": "+host.FormatList(at))
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

// Write2005 writes a line for each thread in the form of the program of 2005, scans
// as spins.
func (t Table) Write2005(w io.Writer) error {
	var b strings.Builder
	for _, r := range t.Rows {
		fmt.Fprintf(&b, "Thread Id = %d\t, Thread Affinity = %s\t, Locked = %d\t, Spin = %d\t\n", r.ID, r.Affinity,
			r.Acquisitions, r.Spins+r.Scans)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// headline is what all threads did together.
func (t Table) headline(p Plan) string {
	var parts []string
	if t.Locks > 0 {
		text := fmt.Sprintf("%s took the lock %s", screen.Count(t.Locks, "lock thread"), result.Format(t.PerSecond, "1/s"))
		if t.Locks > 1 {
			text += fmt.Sprintf(" in all; a fair share is %s", result.Format(t.PerSecond/float64(t.Locks), "1/s"))
		}
		parts = append(parts, text)
	}
	if n := len(t.Rows) - t.Locks; n > 0 {
		parts = append(parts, fmt.Sprintf("%s: %s scans, %s", screen.Count(n, "scanner"), result.Format(t.Scans, "1/s"),
			result.Format(t.Scans*float64(p.Cell.ScanSize), "B/s")))
	}
	return strings.Join(parts, ". ") + ". Measured."
}

func (t Table) rows() *document.Table {
	out := &document.Table{Columns: document.Headings("id", "role", "CPU", "place", "rate", "spins/lock", "of fair",
		"waited")}
	out.Columns[1].Right, out.Columns[3].Right = false, false
	for _, r := range t.Rows {
		wait, rate := "unknown", r.PerSecond
		if !math.IsNaN(r.Waited) {
			wait = fmt.Sprintf("%.1f %%", 100*r.Waited)
		}
		if r.Role == Scan {
			rate = r.ScansPerSecond
		}
		out.Add(document.Texts(fmt.Sprint(r.ID), string(r.Role), fmt.Sprint(r.CPU), cmp.Or(words[r.Near], "-"),
			result.Format(rate, "1/s"), number(r.SpinsPer), percent(r.OfFair), wait)...)
	}
	return out
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
		out = append(out,
			fmt.Sprintf("%s on %s waited up to %.0f %% of the time: others had the CPU. Rates there are too low by "+
				"that, and a lock held meanwhile slows all",
				plural(late, "the thread", "threads"), cpus.Named(rising(late)), 100*most))
	}
	if len(off) > 0 {
		out = append(out, fmt.Sprintf("%s on %s had the CPU only %.0f %% of the time", plural(off, "the thread", "threads"),
			cpus.Named(rising(off)), 100*least))
	}
	return out
}
