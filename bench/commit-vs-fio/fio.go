package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strconv"

	"hostlab/internal/workload/logcommit"
)

// fioRun is what one run of fio says of its commits, in seconds.
type fioRun struct {
	p50       float64 // estimate for write + fdatasync
	low, high float64 // what that median can be at all, given fio's two histograms
	mean      float64 // exact: means add up
}

// bin is a class of fio's histogram: how many operations took about so long. Its
// classes are at most 1/64 wide, and fio names each by its middle.
type bin struct {
	seconds float64
	count   float64
}

func runFio(ctx context.Context, dir string, commits int) (fioRun, error) {
	cmd := exec.CommandContext(ctx, "fio", "--name=commit", "--directory="+dir, "--unlink=1",
		"--rw=write", "--bs=4k", "--fdatasync=1", "--ioengine=sync", "--numjobs=1",
		fmt.Sprintf("--size=%d", commits*logcommit.CommitBytes), "--output-format=json+")
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return fioRun{}, ctx.Err()
	}
	if ee, ok := errors.AsType[*exec.ExitError](err); ok {
		return fioRun{}, fmt.Errorf("fio: %w: %s", err, ee.Stderr)
	}
	if err != nil {
		return fioRun{}, err
	}
	return parseFio(out)
}

type fioLatency struct {
	Mean float64        `json:"mean"` // ns
	N    int            `json:"N"`
	Bins map[string]int `json:"bins"` // by ns
}

func parseFio(out []byte) (fioRun, error) {
	var report struct {
		Jobs []struct {
			Write struct {
				Completion fioLatency `json:"clat_ns"`
			} `json:"write"`
			Sync struct {
				Latency fioLatency `json:"lat_ns"`
			} `json:"sync"`
		} `json:"jobs"`
	}
	if err := json.Unmarshal(out, &report); err != nil {
		return fioRun{}, fmt.Errorf("fio's output: %w", err)
	}
	if len(report.Jobs) != 1 {
		return fioRun{}, fmt.Errorf("fio reported %d jobs, not one", len(report.Jobs))
	}
	w, s := report.Jobs[0].Write.Completion, report.Jobs[0].Sync.Latency
	write, err1 := distribution(w)
	sync, err2 := distribution(s)
	if err := errors.Join(err1, err2); err != nil {
		return fioRun{}, err
	}
	run := fioRun{p50: medianOfSum(write, sync), mean: (w.Mean + s.Mean) / 1e9}
	run.low, run.high = boundsOfSum(write, sync)
	return run, nil
}

// distribution sorts a histogram and scales it to 1.
func distribution(l fioLatency) ([]bin, error) {
	var bins []bin
	total := 0.0
	for ns, n := range l.Bins {
		v, err := strconv.ParseFloat(ns, 64)
		if err != nil {
			return nil, fmt.Errorf("fio's histogram: %w", err)
		}
		if n > 0 {
			bins = append(bins, bin{v / 1e9, float64(n)})
			total += float64(n)
		}
	}
	if total == 0 {
		return nil, errors.New("fio reported no histogram: is it older than 3.0?")
	}
	slices.SortFunc(bins, func(a, b bin) int {
		if a.seconds < b.seconds {
			return -1
		}
		return 1
	})
	for i := range bins {
		bins[i].count /= total
	}
	return bins, nil
}

// medianOfSum is the median of write + sync if the two are independent. fio keeps
// them in separate histograms (its latency logs leave syncs out), so that how
// they go together is lost; boundsOfSum tells how little that matters.
func medianOfSum(x, y []bin) float64 {
	sums := make([]bin, 0, len(x)*len(y))
	for _, a := range x {
		for _, b := range y {
			sums = append(sums, bin{a.seconds + b.seconds, a.count * b.count})
		}
	}
	slices.SortFunc(sums, func(a, b bin) int {
		if a.seconds < b.seconds {
			return -1
		}
		return 1
	})
	seen := 0.0
	for _, s := range sums {
		if seen += s.count; seen >= 0.5 {
			return s.seconds
		}
	}
	return sums[len(sums)-1].seconds
}

// boundsOfSum gives the least and the largest median that the sum can have however
// the two depend on each other (Makarov, Theory of Probability and its
// Applications 26, 1982): for every u, quantiles obey
//
//	Q(1/2) <= Qx(u) + Qy(3/2 - u) for u in [1/2, 1],
//	Q(1/2) >= Qx(u) + Qy(1/2 - u) for u in [0, 1/2].
func boundsOfSum(x, y []bin) (low, high float64) {
	const steps = 500
	low, high = 0, quantile(x, 1)+quantile(y, 1)
	for i := range steps + 1 {
		u := 0.5 * float64(i) / steps
		low = max(low, quantile(x, u)+quantile(y, 0.5-u))
		high = min(high, quantile(x, 0.5+u)+quantile(y, 1-u))
	}
	return low, high
}

func quantile(bins []bin, u float64) float64 {
	seen := 0.0
	for _, b := range bins {
		if seen += b.count; seen >= u-1e-12 {
			return b.seconds
		}
	}
	return bins[len(bins)-1].seconds
}
