//go:build linux

// Command record measures what 'hostlab assess --bursts' takes of a host under load, in pairs of
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
// With -minute it is the whole live minute of 'hostlab assess' that is beside pgbench (minute.go).
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
	"time"

	"hostlab/bench/rounds"
	"hostlab/internal/stats"
	"hostlab/internal/trace"
)

// limit is the share that record may take.
const limit = 0.01

// load is what runs beside.
type load interface {
	target() trace.Target
	// slice works for so long, and returns operations a second.
	slice(ctx context.Context, lasts time.Duration) (float64, error)
	close() error
}

type options struct {
	load           string
	pairs, clients int
	minute         bool
	slice          time.Duration
	budget         float64
}

func main() {
	switch {
	case len(os.Args) == 2 && os.Args[1] == "pipe":
		pipe()
		return
	case len(os.Args) == 4 && os.Args[1] == "watch":
		rounds.Judge("watch", watch)
		return
	}
	o := options{}
	flag.StringVar(&o.load, "load", "pgbench", "pgbench or pipes")
	flag.IntVar(&o.pairs, "pairs", 20, "pairs of slices")
	flag.DurationVar(&o.slice, "slice", 4*time.Second, "length of a slice")
	flag.IntVar(&o.clients, "clients", 4, "pgbench clients, or pairs of processes")
	flag.Float64Var(&o.budget, "budget", trace.DefaultBudget, "share of the CPU time in use that recording may take")
	flag.BoolVar(&o.minute, "minute", false, "measure the whole live minute of assess beside pgbench: the recorder, the database's sessions, the clock and the counters of threads")
	flag.Parse()
	rounds.Judge("record", func(ctx context.Context) (bool, error) { return measure(ctx, o) })
}

func measure(ctx context.Context, o options) (ok bool, err error) {
	if o.minute {
		return minute(ctx, o)
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
	var with, without, shares []float64
	var costs []trace.Cost
	var seen []float64
	for range o.pairs {
		var rates [2]float64
		first := rand.IntN(2)
		for _, recorded := range []int{first, 1 - first} {
			if recorded == 0 {
				rates[0], err = l.slice(ctx, o.slice)
			} else {
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

// beside is a slice with the recorder, which begins earlier and ends later.
func beside(ctx context.Context, l load, o options) (float64, *trace.Result, error) {
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
		return 0, nil, fmt.Errorf("the recorder ended at once: %w", a.err)
	}
	rate, err := l.slice(ctx, o.slice)
	stop()
	a := <-got
	return rate, a.r, errors.Join(err, a.err)
}

func report(o options, with, without, shares, seen []float64, costs []trace.Cost) bool {
	var on, off, switches []float64
	for _, c := range costs {
		on, off, switches = append(on, c.OnNS), append(off, c.OffNS), append(switches, c.SwitchesPerS)
	}
	cpu := stats.PairedT(shares, 0.05)
	fmt.Printf("%.0f switches/s, %.1f %% of the time seen; a switch: %.0f ns in windows, %.0f ns outside\n", stats.Median(switches), 100*stats.Median(seen),
		stats.Median(on), stats.Median(off))
	fmt.Printf("CPU of recording: %.3f %% of what is in use [%.3f, %.3f], n = %d slices of %s\n", 100*cpu.Value, 100*cpu.Low, 100*cpu.High, cpu.N, o.slice)
	if most := stats.Quantile(shares, 1); most > limit {
		fmt.Printf("most in a slice: %.2f %%\n", 100*most)
	}
	return judge(o, with, without, cpu.High)
}

// judge says whether the CPU time is below the limit, and what the throughput says of it.
func judge(o options, with, without []float64, cpu float64) bool {
	speed := stats.PairedRatio(with, without, 0.05)
	fmt.Printf("%s: %.0f operations/s without; with recording against without: %.4f [%.4f, %.4f], n = %d pairs of %s\n", o.load, stats.Median(without),
		speed.Value, speed.Low, speed.High, speed.N, o.slice)
	switch {
	case cpu >= limit || speed.High < 1-limit:
		fmt.Println("more than 1 %")
		return false
	case speed.Low > 1-limit:
		fmt.Println("under 1 % of the CPU time and of the throughput")
	default:
		fmt.Println("under 1 % of the CPU time; the throughput does not decide at this noise")
	}
	return true
}
