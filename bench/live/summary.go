//go:build linux

package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hostlab/internal/explain"
	"hostlab/internal/lever"
	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// brief is a run in a line.
func (r *record) brief() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %6.0f/s busy %.2f first %-7s", r.Load, r.Rate, r.Busy/max(r.Wall, 1e-9), r.First)
	for _, name := range []string{"cpu", "run_queue", "log", "data_read", "lock", "other", "application", "unexplained"} {
		if p := r.Parts[name]; p.Value > 0.005 {
			fmt.Fprintf(&b, " %s %.0f", name, 100*p.Value)
		}
	}
	for _, name := range []string{"idle", "cpus", "log", "data", "network"} {
		if l := r.Lever[name]; l.AtMost != nil && *l.AtMost > 0.005 {
			fmt.Fprintf(&b, " | %s %.0f-%.0f-%.0f %s", name, 100**l.Low, 100**l.Likely, 100**l.AtMost, l.Verdict)
		}
	}
	if g := r.Gain; g != nil {
		fmt.Fprintf(&b, " | without %.1f [%.1f, %.1f], at most %s, likely %s", 100*g.Value, 100*g.Low, 100*g.High,
			percent(g.AtMost), percent(g.Likely))
	}
	for _, t := range r.Truth {
		if !t.Agree {
			fmt.Fprintf(&b, " | %s %.3f [%.3f, %.3f] is %.3f to %.3f", t.Part, t.Got.Value, t.Got.Low, t.Got.High, t.Low, t.High)
		}
	}
	return b.String()
}

// summarize prints the tables of a file, and reports whether all targets are met as far as the
// runs can tell.
func summarize(file string) (bool, error) {
	all, err := read(file)
	if err != nil || len(all) == 0 {
		return false, err
	}
	runs, null := map[string][]*record{}, map[string]bool{}
	for _, r := range all {
		runs[r.Load] = append(runs[r.Load], r)
	}
	loads := map[string]load{}
	for _, l := range allLoads() {
		loads[l.Name], null[l.Name] = l, l.Null
	}
	names := slices.Sorted(maps.Keys(runs))
	fmt.Printf("%d runs, %s to %s\n\n", len(all), all[0].Time.Format(time.DateTime), all[len(all)-1].Time.Format(time.DateTime))
	ok := true
	fmt.Print("| Load | n | Cause first | Parts as counted | Gain without the cause | At most | Likely |")
	fmt.Println(" Gain less the estimate | Beyond at most |")
	fmt.Println("|---|--:|--:|--:|---|--:|--:|---|--:|")
	for _, name := range names {
		if l := loads[name]; !l.Null && (l.Others.Duty == 0 || l.Others.Duty == 1) {
			ok = row(&l, runs[name]) && ok
		}
	}
	ok = nulls(runs, null) && ok
	busy(runs, names)
	pairs(runs, names, loads)
	return ok, nil
}

// right reports whether the first lever is the cause, or none is called worthwhile where there is none.
func (r *record) right(l *load) bool {
	if l.Lever != "" {
		return r.First == l.Lever
	}
	return len(r.wrong()) == 0
}

// wrong are the levers that are called worthwhile in a run that none should be: the wait for a
// CPU may be, where the kernel counted as much for these threads.
func (r *record) wrong() (names []string) {
	for name, a := range r.Lever {
		if a.Verdict != lever.Worthwhile {
			continue
		}
		waited := func(t truth) bool { return t.Part == string(explain.RunQueue) && t.High >= lever.Margin }
		if name == lever.CPUs && slices.ContainsFunc(r.Truth, waited) {
			continue
		}
		names = append(names, name)
	}
	return names
}

func row(l *load, runs []*record) bool {
	first, agree, parts, beyond := 0, 0, 0, 0
	var gains, most, likely, less []float64
	for _, r := range runs {
		if r.right(l) {
			first++
		}
		for _, t := range r.Truth {
			if parts++; t.Agree {
				agree++
			}
		}
		if g := r.Gain; g != nil && g.AtMost != nil {
			gains, less = append(gains, g.Value), append(less, g.Value-g.Estimate)
			most, likely = append(most, *g.AtMost), append(likely, *g.Likely)
			if g.Low > *g.AtMost {
				beyond++
			}
		}
	}
	fmt.Printf("| %s | %d | %d of %d | %d of %d |", l.Name, len(runs), first, len(runs), agree, parts)
	often := 20*first >= 19*len(runs)
	if len(gains) == 0 {
		fmt.Println(" | | | | |")
		return often
	}
	over := stats.PairedT(less, 0.05)
	fmt.Printf(" %s | %.1f %% | %.1f %% | %s | %d of %d |\n", interval(stats.PairedT(gains, 0.05)),
		100*stats.Mean(most), 100*stats.Mean(likely), interval(over), beyond, len(gains))
	return often && beyond == 0 && !(over.Low > 0)
}

func interval(e result.Estimate) string {
	return fmt.Sprintf("%.1f %% [%.1f, %.1f]", 100*e.Value, 100*e.Low, 100*e.High)
}

// nulls are services with nothing to gain.
func nulls(runs map[string][]*record, null map[string]bool) bool {
	n, waited, wrong := 0, 0, map[string]int{}
	for name, list := range runs {
		if !null[name] {
			continue
		}
		for _, r := range list {
			n++
			if r.Lever[lever.CPUs].Verdict == lever.Worthwhile {
				waited++
			}
			for _, w := range r.wrong() {
				wrong[w]++
			}
		}
	}
	total := 0
	for _, k := range wrong {
		total += k
	}
	low, high := stats.Share(total, max(n, 1), 0.05)
	fmt.Printf("\n%d null runs: %d levers wrongly worthwhile %v, %.1f %% [%.1f, %.1f]; ",
		n, total, wrong, 100*float64(total)/float64(max(n, 1)), 100*low, 100*high)
	fmt.Printf("more CPUs in %d, where the kernel counted that wait too\n", waited-wrong[lever.CPUs])
	return total == 0
}

// busy is how many levers are decided beside a foreign load.
func busy(runs map[string][]*record, names []string) {
	fmt.Println("\n| Beside | n | s | Others on the CPUs | Decided or below 10 %, of idle, cpus, log and data | Least |")
	fmt.Println("|---|--:|--:|--:|--:|--:|")
	for _, name := range names {
		if !strings.Contains(name, "busy") {
			continue
		}
		decided, least, foreign, wall := 0, 4, 0.0, 0.0
		for _, r := range runs[name] {
			k := 0
			for _, name := range []string{lever.Idle, lever.CPUs, lever.Log, lever.Data} {
				a := r.Lever[name]
				if a.Verdict == lever.Worthwhile || a.Verdict == lever.Negligible || a.AtMost != nil && *a.AtMost < 0.1 {
					k++
				}
			}
			decided, least, foreign, wall = decided+k, min(least, k), foreign+*r.Host.Foreign, wall+r.Wall
		}
		n := float64(len(runs[name]))
		fmt.Printf("| %s | %.0f | %.0f | %.0f %% | %.1f of 4 | %d |\n", name, n, wall/n, 100*foreign/n, float64(decided)/n, least)
	}
}

// pairs are runs of the same load one after the other: the same first lever, and shares whose
// intervals meet.
func pairs(runs map[string][]*record, names []string, loads map[string]load) {
	n, first, shares := 0, 0, 0
	for _, name := range names {
		if l := loads[name]; l.Others.N > 0 || l.Null {
			continue
		}
		for pair := range slices.Chunk(runs[name], 2) {
			if len(pair) < 2 {
				break
			}
			n++
			if pair[0].First == pair[1].First {
				first++
			}
			meet := true
			for part, a := range pair[0].Parts {
				if part == string(explain.Idle) {
					continue // no part of active time
				}
				b := pair[1].Parts[part]
				if a.Low > b.High+0.01 || b.Low > a.High+0.01 {
					meet = false
				}
			}
			if meet {
				shares++
			}
		}
	}
	fmt.Printf("\n%d pairs of runs of one load: the same first lever in %d, shares within their intervals in %d\n", n, first, shares)
}

func percent(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("%.1f", 100**v)
}
