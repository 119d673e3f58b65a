// Command engines compares the speed of simulation engines on one model, M/M/8 at load
// 0.8. All of them run in turn, in random order in each round.
//
//	engines [-n ROUNDS] DIRECTORY
//
// The directory holds what run.sh beside this file has installed; what is not in it
// is left out.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"hostlab/internal/stats"
	"hostlab/internal/testkit/modeltest"
)

// engine is a program that takes jobs and a seed, and prints jobs, CPU seconds and
// the mean number in the system.
type engine struct {
	name string
	jobs int // so many that a run takes a second or so
	argv []string
	need string // what must be there
	env  []string

	speeds, numbers []float64
}

func engines(dir string) []*engine {
	in := func(p ...string) string { return filepath.Join(append([]string{dir}, p...)...) }
	python := in("python", "bin", "python")
	deb := in("debian", "usr", "lib")
	libraries, _ := filepath.Glob(deb + "/*-linux-gnu")
	return []*engine{
		{name: "hostlab", jobs: 4_000_000, argv: []string{in("hostlab")}},
		{name: "Go, container/heap and closures", jobs: 1_000_000, argv: []string{in("closures")}},
		{name: "nexosim (Rust)", jobs: 500_000, argv: []string{in("nexosim-mm8")}},
		{name: "godes (Go)", jobs: 100_000, argv: []string{in("godes-mm8")}},
		{name: "simgo (Go)", jobs: 50_000, argv: []string{in("simgo-mm8")}},
		{name: "SimPy", jobs: 30_000, argv: []string{python, "bench/engines/peers/simpy_mm8.py"}, need: in("python", "simpy.ok")},
		{name: "Ciw", jobs: 20_000, argv: []string{python, "bench/engines/peers/ciw_mm8.py"}, need: in("python", "ciw.ok")},
		{name: "SimGrid (Python)", jobs: 5_000, argv: []string{"/usr/bin/python3", "bench/engines/peers/simgrid_mm8.py"}, need: in("debian", "ok"),
			env: []string{"PYTHONPATH=" + deb + "/python3/dist-packages", "LD_LIBRARY_PATH=" + strings.Join(append(libraries, deb), ":")}},
		{name: "salabim", jobs: 4_000, argv: []string{python, "bench/engines/peers/salabim_mm8.py"}, need: in("python", "salabim.ok")},
	}
}

func (e *engine) there() bool {
	need := e.need
	if need == "" {
		need = e.argv[0]
	}
	_, err := os.Stat(need)
	return !errors.Is(err, fs.ErrNotExist)
}

func (e *engine) run(ctx context.Context, seed int) error {
	cmd := exec.CommandContext(ctx, e.argv[0], append(e.argv[1:], fmt.Sprint(e.jobs), fmt.Sprint(seed))...)
	cmd.Env = append(os.Environ(), e.env...)
	out, err := cmd.Output()
	if err != nil {
		if x, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("%s: %w: %s", e.name, err, x.Stderr)
		}
		return fmt.Errorf("%s: %w", e.name, err)
	}
	var jobs, cpu, number float64
	if _, err := fmt.Sscan(string(out), &jobs, &cpu, &number); err != nil || cpu <= 0 {
		return fmt.Errorf("%s printed %q", e.name, out)
	}
	e.speeds, e.numbers = append(e.speeds, jobs/cpu), append(e.numbers, number)
	return nil
}

func main() {
	rounds := flag.Int("n", 11, "rounds")
	flag.Parse()
	if flag.NArg() != 1 || *rounds < stats.MinBlocks(0.05) {
		fmt.Fprintf(os.Stderr, "usage: engines [-n ROUNDS] DIRECTORY, with at least %d rounds\n", stats.MinBlocks(0.05))
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, flag.Arg(0), *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "engines: "+strings.TrimSpace(err.Error()))
		os.Exit(1)
	}
}

func compare(ctx context.Context, dir string, rounds int) error {
	var list []*engine
	for _, e := range engines(dir) {
		if e.there() {
			list = append(list, e)
		}
	}
	order := append([]*engine(nil), list...)
	random := rand.New(rand.NewPCG(8, 8))
	for round := range rounds {
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, e := range order {
			if err := e.run(ctx, round+1); err != nil {
				return err
			}
		}
	}
	return report(list, rounds)
}

// report prints medians and ratios, and checks that all engines ran the same model:
// by Little's law its mean number in the system is known.
func report(list []*engine, rounds int) error {
	exact := 6.4 * modeltest.MMC(8, 6.4, 1)
	fmt.Printf("M/M/8 at load 0.8, %d rounds; mean number in the system, exactly: %.3f\n", rounds, exact)
	fmt.Printf("%-32s %12s  %-26s %s\n", "engine", "jobs/CPU s", "hostlab is faster by", "mean number [99.9 %]")
	wrong := 0
	for _, e := range list {
		ratio := ""
		if e != list[0] {
			r := stats.PairedRatio(list[0].speeds, e.speeds, 0.05)
			ratio = fmt.Sprintf("%.1fx [%.1f, %.1f]", r.Value, r.Low, r.High)
		}
		mean, half := interval(e.numbers)
		verdict := ""
		if math.Abs(mean-exact) > half {
			verdict, wrong = "  WRONG", wrong+1
		}
		fmt.Printf("%-32s %12.0f  %-26s %.2f [%.2f, %.2f]%s\n", e.name, stats.Median(e.speeds), ratio, mean, mean-half, mean+half, verdict)
	}
	if wrong > 0 {
		return fmt.Errorf("%d engines missed the exact mean number", wrong)
	}
	return nil
}

// interval is the mean with half of a 99.9 % interval, so that nine engines which are
// right pass together in 99 of 100 benchmarks; 4.6 is Student's t for the 10 degrees of
// freedom of 11 rounds.
func interval(x []float64) (mean, half float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	s := 0.0
	for _, v := range x {
		s += (v - mean) * (v - mean)
	}
	return mean, 4.6 * math.Sqrt(s/float64(len(x)-1)/float64(len(x)))
}
