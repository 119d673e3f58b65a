//go:build linux

package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"

	"hostlab/internal/stats"
)

const (
	margin = 0.05 // a smaller share is nobody's first lever
	within = 0.20 // between a bound and the gain
	third  = 1. / 3
)

// gain is how much shorter transactions are without the cause: of all slices, and the least and the most of any two.
type gain struct{ Value, Low, High float64 }

func (r *record) gain() (g gain) {
	if len(r.With) == 0 || len(r.Without) == 0 {
		return gain{math.NaN(), math.NaN(), math.NaN()}
	}
	g = gain{1 - stats.Mean(r.Without)/stats.Mean(r.With), math.Inf(1), math.Inf(-1)}
	for _, with := range r.With {
		for _, without := range r.Without {
			one := 1 - without/with
			g.Low, g.High = min(g.Low, one), max(g.High, one)
		}
	}
	return g
}

// first is the lever, or the setting, that the answer puts first; nil: it recommends none. Where it does not say, what is worthwhile comes before what is
// possible, and what is likely to save nothing is not recommended.
func (l *load) first(a *answer) *lever {
	if a.First != nil {
		if i := slices.IndexFunc(a.Levers, func(v lever) bool { return v.Name == *a.First }); i >= 0 {
			return &a.Levers[i]
		}
		return nil
	}
	for _, verdict := range []string{"worthwhile", "possible"} {
		for i := range a.Levers {
			v := &a.Levers[i]
			if v.Verdict == verdict && v.AtMost != nil && *v.AtMost >= margin && (v.Likely == nil || *v.Likely >= 0.0005) {
				return v
			}
		}
	}
	return nil
}

// score is how one answer does on a load.
type score struct {
	First, Named, Wrong bool
	Bound               *float64
	Holds, Close, Said  bool  // the bound is no less than the gain, near it, or far for a reason that is said
	Broken              bool  // the bound is below all of the gain's range
	Likely              *bool // nil: none was printed, or it is not judged
	Step                *bool
}

// matches reports an expression of First that begins with "~".
func matches(pattern, text string) bool {
	expression, is := strings.CutPrefix(pattern, "~")
	return is && regexp.MustCompile("(?i)"+expression).MatchString(text)
}

func (l *load) judge(r *record, a *answer) (t score) {
	first := l.first(a)
	t.Step = a.Step.Runs
	for _, v := range a.Levers {
		t.Wrong = t.Wrong || l.Null() && v.Verdict == "worthwhile"
	}
	if l.Null() {
		return t
	}
	var own *lever // of the cause
	for _, pattern := range l.First {
		if first != nil && (first.Name == pattern || matches(pattern, first.Name)) {
			t.First, own = true, first
			break
		}
		// No lever of the platform may be put before a setting or a client.
		t.First = t.First || matches(pattern, a.Text) && (first == nil || first.Verdict != "worthwhile")
	}
	for i := range a.Levers {
		for _, pattern := range l.First {
			if v := &a.Levers[i]; own == nil && v.AtMost != nil && (v.Name == pattern || matches(pattern, v.Name)) && v.Verdict != "unknown" {
				own = v
			}
		}
	}
	if i := slices.IndexFunc(a.Levers, func(v lever) bool { return l.Part != "" && v.Name == ofPart+l.Part }); own == nil && i >= 0 {
		own = &a.Levers[i]
	}
	t.Named = true
	for _, pattern := range l.Named {
		pattern = strings.ReplaceAll(pattern, "{beside}", fmt.Sprintf(`PID %d\b`, r.Beside))
		t.Named = t.Named && matches("~"+pattern, a.Head)
	}
	if own == nil || own.AtMost == nil {
		return t
	}
	g := r.gain().Value
	t.Bound = own.AtMost
	t.Broken = *own.AtMost < r.gain().Low
	t.Holds = *own.AtMost >= g
	t.Close = t.Holds && *own.AtMost-g <= within
	t.Said = t.Holds && (t.Close || own.Unseen)
	if own.Likely != nil && l.Other == "" {
		near := math.Abs(*own.Likely-g) <= third*g
		t.Likely = &near
	}
	return t
}

// constant is the answer that looks at nothing: more CPUs, at most everything.
func constant() *answer {
	all := 1.0
	return &answer{Text: "more CPUs", Head: "more CPUs", Levers: []lever{{Name: "cpus", Verdict: "worthwhile", AtMost: &all}}}
}

// figures are sums over loads.
type figures struct {
	Causes, Nulls                              int
	First, Named, Given, Holds, Close, Said    int
	Quiet                                      int
	Broken                                     int
	Likely, LikelyOf, Same, SameOf, Stuck, Ran int
}

func (f *figures) add(l *load, t score) {
	count := func(to *int, yes bool) {
		if yes {
			*to++
		}
	}
	count(&f.Ran, t.Step != nil)
	count(&f.Stuck, t.Step != nil && !*t.Step)
	if l.Null() {
		f.Nulls++
		count(&f.Quiet, !t.Wrong)
		return
	}
	f.Causes++
	count(&f.First, t.First)
	count(&f.Named, t.Named)
	count(&f.Given, t.Bound != nil)
	count(&f.Holds, t.Holds)
	count(&f.Close, t.Close)
	count(&f.Said, t.Said)
	count(&f.Broken, t.Broken)
	count(&f.LikelyOf, t.Likely != nil)
	count(&f.Likely, t.Likely != nil && *t.Likely)
}

// tell prints a line for each load that has run and the figures of all answers. It reports whether the goals are
// reached by the first length of time.
func tell(w io.Writer, loads []load, records map[string]*record, labels []string) bool {
	sums := map[string]*figures{}
	columns := append(append([]string{}, labels...), "constant")
	for _, c := range columns {
		sums[c] = &figures{}
	}
	table := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "load\tgain\trange\tanswer\tfirst\tnamed\tat most\tholds\twithin 20\tlikely\tstep")
	failed, disturbed := 0, 0
	for i := range loads {
		l := &loads[i]
		r := records[l.Name]
		if r == nil {
			continue
		}
		if r.Failed != "" {
			failed++
			fmt.Fprintf(table, "%s\tfailed: %s\n", l.Name, firstLine(r.Failed))
			continue
		}
		if r.Taken > margin {
			disturbed++
		}
		var kept *score
		for _, c := range columns {
			a := r.Answers[c]
			if c == "constant" {
				a = constant()
			}
			if a == nil {
				continue
			}
			t := l.judge(r, a)
			sums[c].add(l, t)
			if c == labels[0] {
				kept = &t
				fmt.Fprintln(table, strings.Join(l.row(r, a, t), "\t"))
			} else if kept != nil && !l.Null() {
				sums[c].SameOf++
				if a.leads(l) == r.Answers[labels[0]].leads(l) {
					sums[c].Same++
				}
			}
		}
	}
	table.Flush()
	fmt.Fprintln(w)
	fmt.Fprintln(table, "figure\t"+strings.Join(columns, "\t")+"\tgoal")
	line := func(name, goal string, of func(*figures) string) {
		cells := []string{name}
		for _, c := range columns {
			cells = append(cells, of(sums[c]))
		}
		fmt.Fprintln(table, strings.Join(append(cells, goal), "\t"))
	}
	line("cause first", ">= 95 %", func(f *figures) string { return fmt.Sprintf("%d of %d", f.First, f.Causes) })
	line("bound >= gain", "all", func(f *figures) string {
		return fmt.Sprintf("%d of %d, %d none", f.Holds, f.Causes, f.Causes-f.Given)
	})
	line("bound below all of the gain's range", "0", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Broken, f.Given) })
	line("bound within 20 points", "", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Close, f.Causes) })
	line("so, or what does not show is named", ">= 75 %", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Said, f.Causes) })
	line("likely within a third, where printed", "all", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Likely, f.LikelyOf) })
	line("named", ">= 90 %", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Named, f.Causes) })
	line("nothing worthwhile without a cause", "all", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Quiet, f.Nulls) })
	line("first step that cannot run", "0", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Stuck, f.Ran) })
	line("the same first as "+labels[0], ">= 95 %", func(f *figures) string { return fmt.Sprintf("%d of %d", f.Same, f.SameOf) })
	table.Flush()
	if failed > 0 {
		fmt.Fprintf(w, "%d loads failed\n", failed)
	}
	if disturbed > 0 {
		fmt.Fprintf(w, "%d loads began beside other work on more than %.0f %% of the CPUs: -again repeats them\n", disturbed, 100*margin)
	}
	f := sums[labels[0]]
	return failed == 0 && 20*f.First >= 19*f.Causes && f.Holds == f.Causes && 4*f.Close >= 3*f.Causes &&
		f.Likely == f.LikelyOf && 10*f.Named >= 9*f.Causes && f.Quiet == f.Nulls && f.Stuck == 0
}

// leads is the name of what an answer puts first.
func (a *answer) leads(l *load) string {
	if v := l.first(a); v != nil {
		return v.Name
	}
	return ""
}

func (l *load) row(r *record, a *answer, t score) []string {
	share := func(v *float64) string {
		if v == nil {
			return "none"
		}
		return fmt.Sprintf("%.0f", 100**v)
	}
	yes := func(v bool) string { return map[bool]string{true: "yes", false: "NO"}[v] }
	perhaps := func(v *bool) string {
		if v == nil {
			return "-"
		}
		return yes(*v)
	}
	leads := a.leads(l)
	if leads == "" {
		leads = "nothing"
	}
	if l.Null() {
		return []string{l.Name, "-", "-", leads, map[bool]string{false: "quiet", true: "WORTHWHILE"}[t.Wrong], "-", "-", "-", "-", "-", perhaps(t.Step)}
	}
	g := r.gain()
	return []string{l.Name, fmt.Sprintf("%.0f %%", 100*g.Value), fmt.Sprintf("%.0f to %.0f", 100*g.Low, 100*g.High), leads,
		yes(t.First), yes(t.Named), share(t.Bound), yes(t.Holds), yes(t.Close), perhaps(t.Likely), perhaps(t.Step)}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
