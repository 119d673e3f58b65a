package probe

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload/worker"
)

// runner executes what a probe asks for: a worker process, or a fake with fixed timings.
type runner[Q, A any] interface {
	run(Q) (A, error)
	load(cpus []int) (map[int]proc.Load, bool)
	close()
}

// process is a runner that is a worker process.
type process[Q, A any] struct{ s *worker.Session }

func startWorker[Q, A any](job string) func(context.Context) (runner[Q, A], error) {
	return func(ctx context.Context) (runner[Q, A], error) {
		s, err := worker.Start(ctx, job, 2)
		if err != nil {
			return nil, err
		}
		return process[Q, A]{s}, nil
	}
}

func (p process[Q, A]) run(q Q) (a A, err error) {
	err = p.s.Call(q, &a)
	return a, err
}

func (p process[Q, A]) load(cpus []int) (map[int]proc.Load, bool) { return proc.Loads(cpus) }

func (p process[Q, A]) close() { p.s.Close() }

// disturbedShare is the share of a measurement's time that others may take, by
// pre-emption, by running on the CPU while it should be idle, or by steal,
// before the measurement counts as disturbed.
const disturbedShare = 0.02

// pace says when a probe has done enough rounds.
type pace struct {
	began   time.Time // of the probe
	first   time.Time // of its first round
	budget  time.Duration
	planned int // rounds
}

// fits reports whether another round fits. Rounds take longer than planned on a CPU that
// is shared: the planned number is worth a quarter more time than the budget, repetitions
// of those that were disturbed are not.
func (p pace) fits(done int, now time.Time) bool {
	if done == 0 {
		return true
	}
	limit := p.began.Add(p.budget)
	if done < p.planned {
		limit = limit.Add(p.budget / 4)
	}
	return !now.Add(now.Sub(p.first) / time.Duration(done)).After(limit)
}

// blank returns a measurement of which nothing is known yet. which tells it from others
// of its kind.
func blank(kind result.Kind, which, title, unit string, labels result.Labels) result.Measurement {
	probe, _, _ := strings.Cut(string(kind), ".")
	return result.Measurement{Probe: probe, Kind: kind, Name: string(kind) + which, Title: title, Unit: unit,
		Evidence: result.Measured, NoiseFloor: math.NaN(), Labels: labels}
}

// ratio estimates x over base within rounds.
func ratio(x, base []float64, alpha float64) *result.Estimate {
	return new(stats.PairedRatio(x, base, alpha))
}

// floor is the noise floor of ratios: how far a condition differs from itself.
func floor(again, once []float64, alpha float64) float64 {
	return stats.Floor(stats.PairedRatio(again, once, alpha))
}

// single is an estimate without an interval.
func single(value float64, n int) *result.Estimate {
	return &result.Estimate{Value: value, Low: math.NaN(), High: math.NaN(), N: n}
}

// medianOf is the median with its distribution-free interval.
func medianOf(x []float64, alpha float64) *result.Estimate {
	e := single(stats.Median(x), len(x))
	if lo, hi, ok := stats.QuantileInterval(x, 0.5, alpha); ok {
		e.Low, e.High = lo, hi
	}
	return e
}

func tooFew(n int, alpha float64) string {
	return fmt.Sprintf("%d rounds are too few for an interval; it takes %d", n, stats.MinBlocks(alpha))
}

// ofRounds is a statistic of each round.
func ofRounds(rounds [][]float64, of func([]float64) float64) []float64 {
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		out[i] = of(r)
	}
	return out
}
