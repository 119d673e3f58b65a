// Command verdicts puts hostlab's verdicts to the test: it simulates experiments
// whose truth is known, on made-up and on recorded noise, with the product's own
// design and analysis, and counts how often they are wrong, how often they find what
// is there, whether their intervals hold the truth, and how many runs all that takes
// beside other tools. Every share has its own binomial interval.
//
//	go run ./bench/verdicts [-n 2000] [-seed 1] [-only noise,laws,false,power,near,adjusted,four,split,traps,fewer]
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"hostlab/bench/verdicts/noise"
)

// section is one table. It returns the targets that it bears on.
type section struct {
	name string
	run  func(w io.Writer, m models, times int, seed uint64) []target
}

var sections = []section{
	{"noise", describeNoise},
	{"laws", laws},
	{"false", falseVerdicts},
	{"power", power},
	{"near", nearMargin},
	{"adjusted", adjusted},
	{"four", fourContrasts},
	{"split", splitPlot},
	{"traps", trapped},
	{"fewer", fewer},
}

func main() {
	times := flag.Int("n", 2000, "experiments for each figure")
	seed := flag.Uint64("seed", 1, "of all random numbers")
	only := flag.String("only", "", "tables to print, separated by commas; all without")
	flag.Parse()
	if flag.NArg() > 0 || *times < 100 {
		fmt.Fprintln(os.Stderr, "verdicts: want -n of at least 100 and no arguments; see -h")
		os.Exit(2)
	}
	missed, err := run(os.Stdout, *times, *seed, *only)
	if err != nil {
		fmt.Fprintln(os.Stderr, "verdicts:", err)
		os.Exit(2)
	}
	if missed {
		os.Exit(1)
	}
}

func run(w io.Writer, times int, seed uint64, only string) (missed bool, err error) {
	wanted, err := choose(only)
	if err != nil {
		return false, err
	}
	m, err := loadModels()
	if err != nil {
		return false, err
	}
	begin := time.Now()
	fmt.Fprintf(w, "%d simulated experiments for each figure, seed %d. Shares in %% [95 %% interval, Clopper and Pearson].\n", times, seed)
	fmt.Fprintf(w, "Experiments: randomised blocks of a baseline and one level, looks %v, alpha 0.05, margin %g %%.\n", defaultLooks, 100*margin)
	var targets []target
	for _, s := range wanted {
		targets = append(targets, s.run(w, m, times, seed)...)
	}
	missed = summary(w, targets)
	fmt.Fprintf(w, "%.0f s\n", time.Since(begin).Seconds())
	return missed, nil
}

// choose returns the sections named, in their own order; all for "".
func choose(only string) (wanted []section, err error) {
	if only == "" {
		return sections, nil
	}
	names := strings.Split(only, ",")
	var known []string
	for _, s := range sections {
		known = append(known, s.name)
		if slices.Contains(names, s.name) {
			wanted = append(wanted, s)
		}
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("-only %s: no table %q; there are %s", only, n, strings.Join(known, ", "))
		}
	}
	return wanted, nil
}

// summary prints the targets, those first that say whether a verdict can be
// relied on: coverage, and effects at the margin that were called beyond it.
func summary(w io.Writer, targets []target) (missed bool) {
	rank := func(t target) int {
		switch {
		case strings.Contains(t.name, "cover"), strings.Contains(t.name, "called beyond"):
			return 0
		case t.scatter != "":
			return 2
		}
		return 1
	}
	slices.SortStableFunc(targets, func(a, b target) int { return rank(a) - rank(b) })
	fmt.Fprintf(w, "\n== targets\n")
	met, without := 0, 0
	for _, t := range targets {
		fmt.Fprintln(w, t)
		switch {
		case t.scatter != "":
			without++
		case !t.missed():
			met++
		}
	}
	bound := len(targets) - without
	fmt.Fprintf(w, "%d of %d targets met", met, bound)
	if without > 0 {
		fmt.Fprintf(w, "; %d more figures have no target, since the noise is more than 2 %% (scatter: standard deviation of an experiment's runs, in the middle, and exceeded by one in ten)", without)
	}
	fmt.Fprintln(w)
	return met < bound
}

// models are what the tables draw noise from.
type models struct {
	madeUp   []noise.Model
	recorded []noise.Model // as they were
	scaled   []noise.Model // recorded ones, such that all runs of a record scatter by 2 %
	records  []*noise.Record
}

func (m models) all() []noise.Model { return slices.Concat(m.madeUp, m.recorded, m.scaled) }

// atSigma are those with a noise of 2 %: made-up ones from run to run, scaled ones in all.
func (m models) atSigma() []noise.Model { return slices.Concat(m.madeUp, m.scaled) }

// named returns the models of those names.
func (m models) named(names ...string) (out []noise.Model) {
	for _, n := range m.all() {
		if slices.Contains(names, n.Name) {
			out = append(out, n)
		}
	}
	return out
}

func loadModels() (models, error) {
	records, err := noise.Recorded()
	if err != nil {
		return models{}, err
	}
	m := models{madeUp: noise.MadeUp(), records: records}
	for _, r := range records {
		for _, s := range r.Series {
			m.recorded = append(m.recorded, noise.Resampled(r, s, false))
			m.scaled = append(m.scaled, noise.Resampled(r, s, true))
		}
	}
	return m, nil
}
