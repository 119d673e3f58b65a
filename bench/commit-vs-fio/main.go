// Commit-vs-fio compares the median commit of hostlab's workload with fio's. Both
// run in every round, in random order, each in a new file of the same directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"hostlab/internal/stats"
	"hostlab/internal/workload/logcommit"
)

func main() {
	dir := flag.String("dir", ".", "directory on the device")
	rounds := flag.Int("rounds", 31, "rounds; an interval takes 6")
	commits := flag.Int("commits", 1000, "commits of a run")
	seed := flag.Uint64("seed", uint64(time.Now().UnixNano()), "of the order")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *dir, *rounds, *commits, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "commit-vs-fio:", err)
		os.Exit(1)
	}
}

const us = 1e6 // microseconds in a second

func compare(ctx context.Context, parent string, rounds, commits int, seed uint64) (err error) {
	dir, err := os.MkdirTemp(parent, ".hostlab-commit-vs-fio-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	var ours, again, fios, ourMean, fioMean []float64
	fmt.Printf("%d rounds of %d commits, seed %d; times in us\n", rounds, commits, seed)
	fmt.Printf("%5s  %9s  %9s  %9s  %-17s  %9s  %9s\n", "round", "hostlab", "again", "fio", " fio's bounds", "mean", "fio mean")
	for r := range rounds {
		var a, b []float64
		var f fioRun
		conds := []func() error{
			func() (err error) { a, err = runOurs(ctx, dir, commits); return err },
			func() (err error) { b, err = runOurs(ctx, dir, commits); return err },
			func() (err error) { f, err = runFio(ctx, dir, commits); return err },
		}
		rng.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
		for _, run := range conds {
			if err := run(); err != nil {
				return err
			}
		}
		ours, again = append(ours, stats.Median(a)), append(again, stats.Median(b))
		fios = append(fios, f.p50)
		ourMean, fioMean = append(ourMean, mean(a)), append(fioMean, f.mean)
		fmt.Printf("%5d  %9.1f  %9.1f  %9.1f  [%6.1f, %6.1f]   %9.1f  %9.1f\n", r+1, us*ours[r], us*again[r], us*f.p50, us*f.low, us*f.high, us*ourMean[r], us*f.mean)
	}
	const alpha = 0.05
	show := func(what string, iv stats.Interval) {
		fmt.Printf("%-28s %.3f  [%.3f, %.3f]  n=%d, 95 %%\n", what, iv.Estimate, iv.Low, iv.High, iv.N)
	}
	fmt.Printf("\nmedian of rounds' p50: hostlab %.1f us, fio %.1f us\n", us*stats.Median(ours), us*stats.Median(fios))
	p50 := stats.PairedRatio(ours, fios, alpha)
	show("p50, hostlab / fio", p50)
	show("mean, hostlab / fio", stats.PairedRatio(ourMean, fioMean, alpha))
	show("p50, hostlab / hostlab (A/A)", stats.PairedRatio(ours, again, alpha))
	switch {
	case p50.Low >= 0.9 && p50.High <= 1.1:
		fmt.Println("within 10 %: yes")
	case p50.High < 0.9 || p50.Low > 1.1:
		fmt.Println("within 10 %: no")
	default:
		fmt.Println("within 10 %: not decided by so many rounds")
	}
	return nil
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func runOurs(ctx context.Context, dir string, commits int) (times []float64, err error) {
	cfg := logcommit.DefaultConfig(dir)
	cfg.Bytes = int64(commits) * logcommit.CommitBytes // as large as fio's
	l, err := logcommit.Open(cfg)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	return l.Block(ctx, commits, nil)
}
