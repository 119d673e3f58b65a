// Commit-vs-fio compares the median commit of hostlab's workload with fio's. Both
// run in every round, in random order, each in a new file of the same directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"hostlab/bench/rounds"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload/logcommit"
)

func main() {
	dir := flag.String("dir", ".", "directory on the device")
	commits := flag.Int("commits", 1000, "commits of a run")
	rounds.Main("commit-vs-fio", 31, func(ctx context.Context, p rounds.Plan) error { return compare(ctx, *dir, *commits, p) })
}

const us = 1e6 // microseconds in a second

func compare(ctx context.Context, parent string, commits int, p rounds.Plan) (err error) {
	dir, err := os.MkdirTemp(parent, ".hostlab-commit-vs-fio-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	var ours, again, fios, ourMean, fioMean []float64
	fmt.Printf("%d rounds of %d commits, seed %d; times in us\n", p.Rounds, commits, p.Seed)
	fmt.Printf("%5s  %9s  %9s  %9s  %-17s  %9s  %9s\n", "round", "hostlab", "again", "fio", " fio's bounds", "mean", "fio mean")
	var a, b []float64
	var f fioRun
	runs := []func() error{
		func() (err error) { a, err = runOurs(ctx, dir, commits); return err },
		func() (err error) { b, err = runOurs(ctx, dir, commits); return err },
		func() (err error) { f, err = runFio(ctx, dir, commits); return err },
	}
	err = p.Play(runs, func(r int) {
		ours, again = append(ours, stats.Median(a)), append(again, stats.Median(b))
		fios = append(fios, f.p50)
		ourMean, fioMean = append(ourMean, mean(a)), append(fioMean, f.mean)
		fmt.Printf("%5d  %9.1f  %9.1f  %9.1f  [%6.1f, %6.1f]   %9.1f  %9.1f\n", r+1, us*ours[r], us*again[r], us*f.p50, us*f.low, us*f.high, us*ourMean[r], us*f.mean)
	})
	if err != nil {
		return err
	}
	show := func(what string, iv result.Estimate) {
		fmt.Printf("%-28s %.3f  [%.3f, %.3f]  n=%d, 95 %%\n", what, iv.Value, iv.Low, iv.High, iv.N)
	}
	fmt.Printf("\nmedian of rounds' p50: hostlab %.1f us, fio %.1f us\n", us*stats.Median(ours), us*stats.Median(fios))
	p50 := rounds.Ratio(ours, fios)
	show("p50, hostlab / fio", p50)
	show("mean, hostlab / fio", rounds.Ratio(ourMean, fioMean))
	show("p50, hostlab / hostlab (A/A)", rounds.Ratio(ours, again))
	fmt.Println(rounds.Within(p50, 0.1))
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
