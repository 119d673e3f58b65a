//go:build linux

// Command record measures what 'hostlab record' takes of a host under load, in pairs of
// slices with and without it, in random order:
//
//   - throughput, as a ratio with its interval;
//   - CPU: the programs' time, as the kernel counts it, and the reader's, as a share of the
//     CPU time in use. Noise of the host does not move it, and on a host whose CPUs are all
//     busy it is what others lose.
//
// The load is pgbench -S on a PostgreSQL of its own, or processes that hand bytes to each
// other through pipes, which switch as often as a CPU can. It fails where the share is 1 %
// or more by the upper end, or the throughput below 99 % by all of its interval.
//
// With -minute it is the whole live minute of 'hostlab assess' that is beside pgbench, and the CPU time is that
// of its process: without the programs in the kernel, which the other measurement counts.
//
//	go run ./bench/record [-load pgbench|pipes] [-minute] [-pairs 20] [-slice 4s] [-clients 4] [-budget 0.005]
//
// With a budget of 1000 it watches all of the time: what a recorder without one would take.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"time"

	"hostlab/bench/rounds"
	"hostlab/internal/assess"
	"hostlab/internal/explain/connect"
	"hostlab/internal/proc"
	"hostlab/internal/service"
	"hostlab/internal/stats"
	"hostlab/internal/trace"
)

// limit is the share that record may take.
const limit = 0.01

// load is what runs beside.
type load interface {
	target() trace.Target
	dsn() string // of its database; "": none
	// slice works for so long.
	slice(ctx context.Context, lasts time.Duration) (pace, error)
	close() error
}

// pace is how fast a load works: operations a second, and operations by the CPU seconds of the load and of this
// program. What the host gives to others does not move the latter. Where all CPUs are busy it is what throughput loses.
type pace struct{ perS, perCPUS float64 }

type options struct {
	load           string
	pairs, clients int
	minute         bool
	slice          time.Duration
	budget         float64
}

func main() {
	if len(os.Args) == 2 && os.Args[1] == "pipe" {
		pipe()
		return
	}
	o := options{}
	flag.StringVar(&o.load, "load", "pgbench", "pgbench or pipes")
	flag.IntVar(&o.pairs, "pairs", 20, "pairs of slices")
	flag.DurationVar(&o.slice, "slice", 4*time.Second, "length of a slice")
	flag.IntVar(&o.clients, "clients", 4, "pgbench clients, or pairs of processes")
	flag.Float64Var(&o.budget, "budget", trace.DefaultBudget, "share of the CPU time in use that recording may take")
	flag.BoolVar(&o.minute, "minute", false, "measure the whole live minute of assess: the recorder, the database's sessions, the clock and the counters of threads")
	flag.Parse()
	rounds.Judge("record", func(ctx context.Context) (bool, error) { return measure(ctx, o) })
}

func measure(ctx context.Context, o options) (ok bool, err error) {
	if o.minute && o.load != "pgbench" {
		return false, errors.New("-minute watches a database; leave -load out")
	}
	start := map[string]func(context.Context, int) (load, error){"pgbench": startPgbench, "pipes": startPipes}[o.load]
	if start == nil {
		return false, fmt.Errorf("there is no load %q", o.load)
	}
	l, err := start(ctx, o.clients)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	var with, without []pace
	var shares []float64
	var costs []trace.Cost
	var seen []float64
	for range o.pairs {
		var rates [2]pace
		first := rand.IntN(2)
		for _, recorded := range []int{first, 1 - first} {
			switch {
			case recorded == 0:
				rates[0], err = l.slice(ctx, o.slice)
			case o.minute:
				var share float64
				rates[1], share, err = watched(ctx, l, o)
				shares = append(shares, share)
			default:
				var r *trace.Result
				rates[1], r, err = beside(ctx, l, o)
				if err == nil {
					costs, shares, seen = append(costs, r.Cost), append(shares, r.Cost.OfBusy), append(seen, r.SeenShare())
				}
			}
			if err != nil {
				return false, err
			}
		}
		with, without = append(with, rates[1]), append(without, rates[0])
	}
	return report(o, with, without, shares, seen, costs), nil
}

// watched is a slice beside the whole live minute of assess: its rate, and the CPU time of this process as a
// share of that in use.
func watched(ctx context.Context, l load, o options) (rate pace, share float64, err error) {
	of, err := service.Spec{Kind: service.Process, Name: strconv.Itoa(l.target().PIDs[0])}.Find(nil, nil)
	if err != nil {
		return pace{}, 0, err
	}
	dsn, err := connect.Parse(l.dsn())
	if err != nil {
		return pace{}, 0, err
	}
	source, err := connect.Open(ctx, dsn)
	if err != nil {
		return pace{}, 0, err
	}
	defer source.Close()
	watching, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := assess.Watch(watching, of, source, "", assess.Options{For: time.Hour, CPUs: runtime.NumCPU()})
		ended <- err
	}()
	if _, err := l.slice(ctx, 2*time.Second); err != nil { // what beginning takes, once a minute, is no part of it
		stop()
		return pace{}, 0, errors.Join(err, <-ended)
	}
	before, busy := proc.Own(), busyTime()
	rate, err = l.slice(ctx, o.slice)
	share = (proc.Own() - before) / (busyTime() - busy)
	stop()
	return rate, share, errors.Join(err, <-ended)
}

// busyTime is that of all CPUs, in s.
func busyTime() (sum float64) {
	loads, _ := proc.Loads(nil)
	for _, l := range loads {
		sum += l.Busy
	}
	return sum
}

// beside is a slice with the recorder, which begins earlier and ends later.
func beside(ctx context.Context, l load, o options) (pace, *trace.Result, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	type answer struct {
		r   *trace.Result
		err error
	}
	got, begun := make(chan answer, 1), make(chan struct{}, 1)
	go func() {
		r, err := trace.Record(ctx, trace.Config{Target: l.target(), For: time.Hour, Budget: o.budget, Progress: func(time.Duration) {
			select {
			case begun <- struct{}{}:
			default:
			}
		}})
		got <- answer{r, err}
	}()
	select {
	case <-begun:
	case a := <-got:
		return pace{}, nil, fmt.Errorf("the recorder ended at once: %w", a.err)
	}
	rate, err := l.slice(ctx, o.slice)
	stop()
	a := <-got
	return rate, a.r, errors.Join(err, a.err)
}

func report(o options, with, without []pace, shares, seen []float64, costs []trace.Cost) bool {
	var on, off, switches []float64
	for _, c := range costs {
		on, off, switches = append(on, c.OnNS), append(off, c.OffNS), append(switches, c.SwitchesPerS)
	}
	column := func(list []pace, of func(pace) float64) (out []float64) {
		for _, p := range list {
			out = append(out, of(p))
		}
		return out
	}
	perS, perCPUS := func(p pace) float64 { return p.perS }, func(p pace) float64 { return p.perCPUS }
	speed, work := stats.PairedRatio(column(with, perS), column(without, perS), 0.05), stats.PairedRatio(column(with, perCPUS), column(without, perCPUS), 0.05)
	cpu := stats.PairedT(shares, 0.05)
	fmt.Printf("%s: %.0f operations/s without\n", o.load, stats.Median(column(without, perS)))
	if !o.minute {
		fmt.Printf("%.0f switches/s, %.1f %% of the time seen; a switch: %.0f ns in windows, %.0f ns outside\n", stats.Median(switches), 100*stats.Median(seen),
			stats.Median(on), stats.Median(off))
	}
	fmt.Printf("CPU of recording: %.3f %% of what is in use [%.3f, %.3f], n = %d slices of %s\n", 100*cpu.Value, 100*cpu.Low, 100*cpu.High, cpu.N, o.slice)
	if most := stats.Quantile(shares, 1); most > limit {
		fmt.Printf("most in a slice: %.2f %%\n", 100*most)
	}
	fmt.Printf("throughput with recording against without: %.4f [%.4f, %.4f], n = %d pairs\n", speed.Value, speed.Low, speed.High, speed.N)
	fmt.Printf("operations a CPU second of the load and of this, with recording against without: %.4f [%.4f, %.4f]\n", work.Value, work.Low, work.High)
	cheap, fast := cpu.High < limit, min(speed.High, work.High) >= 1-limit
	switch {
	case !cheap || !fast:
		fmt.Println("more than 1 %")
	case work.Low > 1-limit:
		fmt.Println("under 1 % of the CPU time and of the operations")
	default:
		fmt.Println("under 1 % of the CPU time; the operations do not decide at this noise")
	}
	return cheap && fast
}
