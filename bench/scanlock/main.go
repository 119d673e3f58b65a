// Command scanlock compares hostlab's scan and lock loops with the seed's program in
// portable C, seed/seed.c. They take turns, in random order in each round.
//
//	scanlock [-n ROUNDS] [-window TIME] [-cpus A,B] [-only PATTERN] SEED
//
// It exits with 1 when a ratio of rates lies wholly below 0.95, or one of gaps
// wholly above 1.1.
package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/worker"
	"hostlab/internal/workload/scanlock"
)

// pair is one cell, which both programs run. Values are of each response, by round.
type pair struct {
	name string
	cell scanlock.Cell
	gaps bool
	by   [programs]map[string][]float64
}

// The programs. C runs twice in each round, which shows what the host's noise does to
// such a ratio.
const (
	ours = iota
	theirs
	again
	programs
)

const (
	warmUp       = 50 * time.Millisecond
	acquisitions = "acquisitions/s"
	scans        = "scans/s"
	gapsPerS     = "gaps > 1 us/s"
	onCPU        = "share of the CPU" // the least of a cell's threads
)

func pairs(a, b int) []*pair {
	lock, other := scanlock.Thread{CPU: a, Role: scanlock.Lock}, scanlock.Thread{CPU: b, Role: scanlock.Lock}
	scan := scanlock.Thread{CPU: b, Role: scanlock.Scan}
	var out []*pair
	add := func(name string, c scanlock.Cell) {
		p := &pair{name: name, cell: c, gaps: c.Threads == nil}
		for i := range p.by {
			p.by[i] = map[string][]float64{}
		}
		out = append(out, p)
	}
	for _, c := range []struct {
		name    string
		threads []scanlock.Thread
	}{{"lock alone", []scanlock.Thread{lock}}, {"lock + lock", []scanlock.Thread{lock, other}}, {"lock + scan", []scanlock.Thread{scan, lock}},
		{"scan alone", []scanlock.Thread{scan}}} {
		add(c.name, scanlock.Cell{Threads: c.threads})
	}
	add("nothing but the clock", scanlock.Cell{})
	return out
}

// run measures a cell with one of the programs.
func (p *pair) run(ctx context.Context, program int, seed string, window time.Duration, cpu int) (err error) {
	var values map[string]float64
	switch {
	case p.gaps && program == ours:
		values, err = ourGaps(ctx, cpu, 4*window)
	case p.gaps:
		values, err = theirGaps(ctx, seed, cpu, 4*window)
	case program == ours:
		values, err = measure(ctx, p.cell, window)
	default:
		values, err = measureC(ctx, seed, p.cell, window)
	}
	for name, v := range values {
		p.by[program][name] = append(p.by[program][name], v)
	}
	return err
}

// tally adds one thread's rates, per second of its CPU time, and its share of the CPU.
func tally(to map[string]float64, role scanlock.Role, locked, scanned, share float64) {
	if role == scanlock.Scan {
		to[scans] += scanned
	} else {
		to[acquisitions] += locked
	}
	if least, ok := to[onCPU]; !ok || share < least {
		to[onCPU] = share
	}
}

// measure runs a cell with hostlab's loops.
func measure(ctx context.Context, c scanlock.Cell, window time.Duration) (map[string]float64, error) {
	s, err := scanlock.Start(ctx, c)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	time.Sleep(warmUp)
	a, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	time.Sleep(window)
	b, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for i, last := range b.Counts {
		first := a.Counts[i]
		cpu := (last.CPUTime - first.CPUTime).Seconds()
		tally(out, last.Role, float64(last.Acquisitions-first.Acquisitions)/cpu, float64(last.Rounds-first.Rounds)/cpu, cpu/(b.At-a.At).Seconds())
	}
	return out, nil
}

// measureC runs a cell with the C program.
func measureC(ctx context.Context, seed string, c scanlock.Cell, window time.Duration) (map[string]float64, error) {
	args := []string{strconv.Itoa(int(warmUp.Milliseconds())), strconv.Itoa(int(window.Milliseconds()))}
	for _, t := range c.Threads {
		args = append(args, fmt.Sprintf("%d:%s", t.CPU, t.Role))
	}
	text, err := exec.CommandContext(ctx, seed, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", seed, strings.Join(args, " "), err)
	}
	out := map[string]float64{}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	for i, t := range c.Threads {
		var locked, spun, scanned, share float64
		if _, err := fmt.Sscan(lines[min(i, len(lines)-1)], &locked, &spun, &scanned, &share); err != nil || len(lines) != len(c.Threads) {
			return nil, fmt.Errorf("%s %s printed %q", seed, strings.Join(args, " "), text)
		}
		tally(out, t.Role, locked, scanned, share)
	}
	return out, nil
}

// report prints the ratios, and whether all keep to the targets.
func report(all []*pair) (kept bool) {
	kept = true
	fmt.Printf("| %-26s | %-15s | %9s | %9s | %-30s | %-20s | %s |\n|---|---|--:|--:|---|---|--:|\n",
		"Cell", "Response", "C", "hostlab", "hostlab / C, 95 %", "C / C", "on the CPU")
	for _, p := range all {
		for _, r := range []string{acquisitions, scans, gapsPerS} {
			if len(p.by[theirs][r]) == 0 {
				continue
			}
			iv, aa := stats.PairedRatio(p.by[ours][r], p.by[theirs][r], 0.05), stats.PairedRatio(p.by[again][r], p.by[theirs][r], 0.05)
			mark := ""
			if r == gapsPerS && iv.Low > 1.1 || r != gapsPerS && iv.High < 0.95 {
				mark, kept = " misses", false
			}
			share := "-"
			if r != gapsPerS {
				share = fmt.Sprintf("%.0f %%", 100*stats.Median(append(p.by[ours][onCPU], p.by[theirs][onCPU]...)))
			}
			fmt.Printf("| %-26s | %-15s | %9s | %9s | %-30s | %-20s | %s |\n", p.name, r, short(stats.Median(p.by[theirs][r])), short(stats.Median(p.by[ours][r])),
				ratio(iv)+mark, ratio(aa), share)
		}
	}
	return kept
}

func ratio(iv result.Estimate) string {
	return fmt.Sprintf("%.3f [%.3f, %.3f]", iv.Value, iv.Low, iv.High)
}

func short(v float64) string {
	switch {
	case math.Abs(v) >= 1e6:
		return fmt.Sprintf("%.4g M", v/1e6)
	case math.Abs(v) >= 1e4:
		return fmt.Sprintf("%.4g k", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

func main() {
	worker.Main(append(scanlock.Jobs(), worker.Job{Name: gapJob, New: gapServer}))
	n := flag.Int("n", 15, "rounds")
	window := flag.Duration("window", 250*time.Millisecond, "of a measurement; four times as much for gaps")
	cpus := flag.String("cpus", "0,1", "the two CPUs")
	only := flag.String("only", "", "cells whose name this regular expression finds")
	flag.Parse()
	var a, b int
	pattern, bad := regexp.Compile(*only)
	if _, err := fmt.Sscanf(*cpus, "%d,%d", &a, &b); err != nil || bad != nil || flag.NArg() != 1 || *n < 1 {
		fmt.Fprintln(os.Stderr, "usage: scanlock [-n ROUNDS] [-window TIME] [-cpus A,B] [-only PATTERN] SEED")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var all []*pair
	for _, p := range pairs(a, b) {
		if pattern.MatchString(p.name) {
			all = append(all, p)
		}
	}
	for round := range *n {
		fmt.Fprintf(os.Stderr, "\rround %d of %d", round+1, *n)
		for _, i := range rand.Perm(programs * len(all)) {
			if err := all[i/programs].run(ctx, i%programs, flag.Arg(0), *window, a); err != nil {
				fmt.Fprintln(os.Stderr, "\nscanlock:", err)
				os.Exit(1)
			}
		}
	}
	fmt.Fprintln(os.Stderr)
	if !report(all) {
		os.Exit(1)
	}
}
