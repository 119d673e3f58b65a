// Package rounds compares programs that take turns. Each runs once in every round, in
// an order drawn anew, so that what a shared host does meanwhile falls on all alike, and
// ratios are taken within rounds. One of them runs twice in a round: its ratio to
// itself (A/A) shows what the host's noise does to such a figure.
package rounds

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Plan is how many rounds there are, and what their order is drawn with.
type Plan struct {
	Rounds int
	Seed   uint64
}

// Main is the main function of a comparison: it parses its flags and adds -rounds and
// -seed to them. Interrupted, it ends the context rather than the process, so that
// servers and files of the comparison go too. An error ends the process with status 1.
func Main(name string, rounds int, compare func(context.Context, Plan) error) {
	var p Plan
	flag.IntVar(&p.Rounds, "rounds", rounds, "rounds; an interval takes 6")
	flag.Uint64Var(&p.Seed, "seed", uint64(time.Now().UnixNano()), "of the order")
	flag.Parse()
	Judge(name, func(ctx context.Context) (bool, error) { return true, compare(ctx, p) })
}

// Judge runs what measures and judges, with a context that ends when it is interrupted. An error, or
// a judgement that is not good, ends the process with status 1.
func Judge(name string, measure func(context.Context) (good bool, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	good, err := measure(ctx)
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
	}
	if err != nil || !good {
		os.Exit(1)
	}
}

// Play runs all of runs once in each round, up to the first error, and calls ended
// after each round with its number, from 0.
func (p Plan) Play(runs []func() error, ended func(round int)) error {
	order := rand.New(rand.NewPCG(p.Seed, 0))
	for round := range p.Rounds {
		for _, i := range order.Perm(len(runs)) {
			if err := runs[i](); err != nil {
				return err
			}
		}
		ended(round)
	}
	return nil
}

// Kind is one of the things that are timed.
type Kind struct {
	Name string
	Run  func() (seconds float64, err error)
	Took []float64 // s, of each round so far
}

// Time plays kinds and fills their Took. It prints a table of the times, a row as
// each round ends.
func (p Plan) Time(w io.Writer, kinds []Kind) error {
	width := 0
	runs := make([]func() error, len(kinds))
	for i := range kinds {
		k := &kinds[i]
		width = max(width, len(k.Name))
		runs[i] = func() error {
			t, err := k.Run()
			k.Took = append(k.Took, t)
			return err
		}
	}
	fmt.Fprintf(w, "%5s", "round")
	for _, k := range kinds {
		fmt.Fprintf(w, "  %*s", width, k.Name)
	}
	fmt.Fprintln(w)
	return p.Play(runs, func(round int) {
		fmt.Fprintf(w, "%5d", round+1)
		for _, k := range kinds {
			fmt.Fprintf(w, "  %*.4f", width, k.Took[round])
		}
		fmt.Fprintln(w)
	})
}
