// Command verdicts puts hostlab's verdicts to the test: it simulates experiments
// whose truth is known, on made-up and on recorded noise, with the product's own
// design and analysis, and counts how often they are wrong, how often they find what
// is there, whether their intervals hold the truth, and how many runs all that takes
// beside other tools. Every share has its own binomial interval.
//
//	go run ./bench/verdicts [-n 2000] [-seed 1] [-only false,power,near,four,split,fewer]
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
	{"false", falseVerdicts},
	{"power", power},
	{"near", nearMargin},
	{"four", fourContrasts},
	{"split", splitPlot},
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
	var wanted []section
	for _, s := range sections {
		if only == "" || slices.Contains(strings.Split(only, ","), s.name) {
			wanted = append(wanted, s)
		}
	}
	if len(wanted) == 0 {
		return false, fmt.Errorf("-only %s: no such table", only)
	}
	m, err := loadModels()
	if err != nil {
		return false, err
	}
	begin := time.Now()
	fmt.Fprintf(w, "%d simulated experiments for each figure, seed %d. Shares in %% [95 %% interval, Clopper and Pearson].\n", times, seed)
	fmt.Fprintf(w, "Experiments: randomised blocks of a baseline, its hidden duplicate and one level, looks %v, alpha 0.05, margin %g %%.\n", defaultLooks, 100*margin)
	var targets []target
	for _, s := range wanted {
		targets = append(targets, s.run(w, m, times, seed)...)
	}
	fmt.Fprintf(w, "\n== targets\n")
	for _, t := range targets {
		fmt.Fprintln(w, t)
		missed = missed || t.missed()
	}
	fmt.Fprintf(w, "%.0f s\n", time.Since(begin).Seconds())
	return missed, nil
}

// models are what the tables draw noise from.
type models struct {
	madeUp   []noise.Model
	recorded []noise.Model // as they were
	scaled   []noise.Model // recorded ones, to 2 % from run to run
	records  []*noise.Record
}

func (m models) all() []noise.Model { return slices.Concat(m.madeUp, m.recorded, m.scaled) }

// atSigma are those with a noise of 2 % from run to run.
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
