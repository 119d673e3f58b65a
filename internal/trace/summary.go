package trace

import (
	"fmt"
	"math"
	"strconv"

	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Summary is what the kernel's scheduler did with a service, or why it was not watched, and the bounds that its
// counters give.
type Summary struct {
	Reason   string          `json:"reason,omitempty"` // why it was not watched; "": it was
	Seconds  float64         `json:"seconds"`
	Seen     float64         `json:"seen"` // share of Seconds
	Windows  int             `json:"windows"`
	Run      result.Estimate `json:"run"` // s per s, of all its threads together
	Queue    result.Estimate `json:"run_queue"`
	AllTasks result.Estimate `json:"all_tasks"`
	// Beside is Run beside a busy sibling; nil: NoSibling says why there is none.
	Beside    *result.Estimate `json:"beside_sibling"`
	NoSibling string           `json:"beside_sibling_reason,omitempty"`
	OnIdle    Wakeups          `json:"wakeups_idle_cpu"`
	OnBusy    Wakeups          `json:"wakeups_busy_cpu"`
	CPUs      []CPU            `json:"cpus"`
	Bursts    int              `json:"bursts"`
	Lost      uint64           `json:"bursts_lost"`
	Cost      Cost             `json:"cost"`
	Bounds    []Bound          `json:"bounds"`
	Warnings  []string         `json:"warnings"`
}

// Wakeups are times from a wake-up to running, s; nil: there was none.
type Wakeups struct {
	N       uint64   `json:"n"`
	PerS    float64  `json:"per_s"`
	P50     *float64 `json:"p50"`
	P99     *float64 `json:"p99"`
	Mean    *float64 `json:"mean"`
	Seconds float64  `json:"seconds_per_s"`
}

// Summary is a result without its bursts.
func (r *Result) Summary() *Summary {
	wakeups := func(l Latency) Wakeups {
		return Wakeups{l.N, float64(l.N) / r.Seen, result.Finite(l.Quantile(0.5)), result.Finite(l.Quantile(0.99)),
			result.Finite(l.Mean()), l.Sum / r.Seen}
	}
	return &Summary{Seconds: r.Length, Seen: r.SeenShare(), Windows: r.Windows, Run: r.Run, Queue: r.Queue,
		AllTasks: r.Busy,
		Beside:   r.Overlap, NoSibling: r.NoOverlap, OnIdle: wakeups(r.OnIdle), OnBusy: wakeups(r.OnBusy), CPUs: r.CPUs,
		Bursts: len(r.Bursts), Lost: r.Lost, Cost: r.Cost, Bounds: []Bound{}, Warnings: r.warnings()}
}

// Sections show it: what says most on a terminal, all on a page.
func (s *Summary) Sections() []document.Section {
	if s.Reason != "" {
		text := "It was not watched: " + s.Reason + "."
		if len(s.Bounds) > 0 {
			text += " The kernel's own counters give these bounds."
		}
		return []document.Section{document.Titled("Scheduling", document.Line{Text: text}, s.bounds())}
	}
	seen := document.Line{Text: fmt.Sprintf("The kernel was watched in %s, %s of %s.", screen.Count(s.Windows, "window"),
		percent(s.Seen), result.Format(s.Seconds, "s"))}
	return []document.Section{document.Titled("Scheduling", seen, document.Caution.Points(s.Warnings...), s.parts(),
		s.wakeups()),
		document.Titled("Scheduling: CPUs", s.table()).On(document.Page),
		document.Titled("Scheduling: what watching cost", s.Cost.pairs()).On(document.Page)}
}

func (r *Result) warnings() (list []string) {
	if r.Lost > 0 {
		list = append(list, fmt.Sprintf("%d bursts were lost, %s of all: the buffer had no room for them", r.Lost,
			percent(r.LostShare())))
	}
	if n := float64(r.Unseen) / max(1, float64(r.Cost.Switches)); n > 0.001 {
		list = append(list,
			fmt.Sprintf("the kernel did not report %s of the context switches: what ran then counts for the task "+
				"before or after", percent(n)))
	}
	if r.Missed > 0 {
		list = append(list, fmt.Sprintf("%d tasks could not be read; their time does not count for the service", r.Missed))
	}
	if r.Windows < 20 && r.SeenShare() < 0.9 {
		list = append(list, fmt.Sprintf("the intervals rest on only %s; watch for longer", screen.Count(r.Windows, "window")))
	}
	return list
}

func (s *Summary) parts() *document.Table {
	t := &document.Table{Lead: "Seconds per second, of all its threads together, with 95 % intervals over windows.",
		Columns: document.Headings("part", "s/s")}
	row := func(name string, e result.Estimate) {
		t.Add(document.Text(name), document.Number(e.Value, e.Text(), e.Interval()))
	}
	row("on a CPU", s.Run)
	row("waiting for a CPU", s.Queue)
	const beside = "on a CPU beside a busy sibling"
	if s.Beside != nil {
		row(beside, *s.Beside)
	} else {
		t.Add(document.Text(beside)).Across = "unknown: " + s.NoSibling
	}
	row("all tasks on CPUs", s.AllTasks)
	return t
}

func (s *Summary) wakeups() *document.Table {
	t := &document.Table{Title: "Wake-ups", Lead: "Time from the wake-up of a thread until it runs.",
		Columns: document.Headings("CPU was", "rate", "median", "99 %", "mean", "s/s")}
	for _, x := range []struct {
		name string
		Wakeups
	}{{"idle", s.OnIdle}, {"busy", s.OnBusy}} {
		cells := []document.Cell{document.Text(x.name), document.Number(x.PerS, result.Format(x.PerS, "1/s"))}
		for _, v := range []*float64{x.P50, x.P99, x.Mean} {
			cell := document.Text("none")
			if v != nil {
				cell = document.Number(*v, result.Format(*v, "s"))
			}
			cells = append(cells, cell)
		}
		t.Add(append(cells, document.Number(x.Seconds, result.Format(x.Seconds, "s")))...)
	}
	return t
}

func (s *Summary) table() *document.Table {
	t := &document.Table{Columns: document.Headings("CPU", "busy", "by the service", "bursts"), Most: 16}
	for _, c := range s.CPUs {
		t.Add(document.Text(fmt.Sprint(c.Number)), document.Number(c.Busy, percent(c.Busy)),
			document.Number(c.Run, percent(c.Run)), document.Number(float64(c.Bursts), fmt.Sprint(c.Bursts)))
	}
	return t
}

func (c Cost) pairs() document.Pairs {
	how := "timed by the kernel in some of the windows"
	if !c.Measured {
		how = "assumed: there were too few to time"
	}
	return document.Pairs{
		{Name: "CPU time", Value: fmt.Sprintf(
			"%s of the CPU time in use; allowed is %s of it, or of one CPU where less is in use",
			percent(c.OfBusy), percent(c.Budget))},
		{Name: "programs", Value: fmt.Sprintf("%s in total, %.0f ns per switch in windows, %.0f ns outside",
			result.Format(c.Programs, "s"), c.OnNS, c.OffNS), More: []string{how}},
		{Name: "reader", Value: result.Format(c.Reader, "s")},
		{Name: "switches", Value: fmt.Sprintf("%s, %d in windows", result.Format(c.SwitchesPerS, "1/s"), c.Watched)},
	}
}

// bounds are those of counters, where the scheduler was not watched.
func (s *Summary) bounds() *document.Table {
	t := &document.Table{Lead: "Seconds per second.", Columns: document.Headings("part", "at most")}
	for _, b := range s.Bounds {
		row := t.Add(document.Text(b.Name))
		if b.Value == nil {
			row.Across = "unknown: " + b.Reason
		} else {
			row.Cells = append(row.Cells, document.Number(*b.Value, result.Format(*b.Value, "s")))
		}
		row.Notes = []document.Line{{Text: b.About + " (" + b.Source + ")", Tone: document.Quiet}}
	}
	return t
}

func percent(v float64) string { return fmt.Sprintf("%.3g %%", 100*v) }

// buckets is that of kernel/sched.c.
const buckets = 208

// Latency holds times from a wake-up to running.
type Latency struct {
	N    uint64
	Sum  float64 // s
	hist [buckets]uint64
}

// edge is the lower edge of a class in s: 8 in each power of two, from 128 ns.
func edge(bucket int) float64 {
	if bucket == 0 {
		return 0
	}
	b := bucket - 1
	return math.Ldexp(1+float64(b%8)/8, 7+b/8) / 1e9
}

// Mean is in s; NaN for none.
func (l *Latency) Mean() float64 { return l.Sum / float64(l.N) }

// Quantile is within 7 % of the value below which a share q lies, in s; NaN for none.
// Within a class, times are taken as spread evenly.
func (l *Latency) Quantile(q float64) float64 {
	if l.N == 0 {
		return math.NaN()
	}
	rank, below := q*float64(l.N), 0.0
	last := 0
	for b, n := range l.hist {
		if n == 0 {
			continue
		}
		if last = b; below+float64(n) >= rank {
			return edge(b) + (edge(b+1)-edge(b))*(rank-below)/float64(n)
		}
		below += float64(n)
	}
	return edge(last + 1)
}

// Between adds up what each took beyond from, in s, no more than up to most. spread is the sum's standard
// error, as of times that come at random: a single long one makes it as large as the sum.
func (l *Latency) Between(from, most float64) (sum, spread float64) {
	squares := 0.0
	for b, n := range l.hist {
		each := max(0, min((edge(b)+edge(b+1))/2, most)-from)
		sum, squares = sum+float64(n)*each, squares+float64(n)*each*each
	}
	return sum, math.Sqrt(squares)
}

func (l *Latency) add(hist []uint32, ns uint64) {
	for b, n := range hist {
		l.hist[b] += uint64(n)
		l.N += uint64(n)
	}
	l.Sum += float64(ns) / 1e9
}

// siblings maps each CPU to the one that shares its core. Where cores have more than
// two threads it maps none: busy times of several do not add up.
func siblings(tree host.Tree, cpus []int) map[int]int {
	out := map[int]int{}
	for _, c := range cpus {
		list := tree.List("/sys/devices/system/cpu/cpu" + strconv.Itoa(c) + "/topology/thread_siblings_list").Or(nil)
		if len(list) != 2 {
			continue
		}
		if other := list[0] + list[1] - c; other != c {
			out[c] = other
		}
	}
	return out
}

// noSiblings says why none are followed, and whether that is since no CPU shares its core: else they are not known.
func noSiblings(tree host.Tree, cpus []int) (why string, alone bool) {
	for _, c := range cpus {
		if f := tree.List("/sys/devices/system/cpu/cpu" + strconv.Itoa(c) +
			"/topology/thread_siblings_list"); f.State != host.StateOK {
			return f.Source + ": " + f.Reason, false
		} else if len(f.Value) > 2 {
			return "cores here have " + strconv.Itoa(len(f.Value)) + " threads, and busy times of several siblings do not add up",
				false
		}
	}
	return "no CPU here shares its core with another that is online", true
}
