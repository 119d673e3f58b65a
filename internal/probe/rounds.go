package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/worker"
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

// pace repeats the rounds of a probe.
type pace struct {
	now     func() time.Time
	began   time.Time // of the probe
	budget  time.Duration
	planned int // clean rounds that are enough; 0: as many as fit
	// that the planned rounds may take beyond the budget, as on a CPU that is shared
	over  time.Duration
	pause func(done int, each, left time.Duration) error // between two rounds; may be nil
}

// errEnough ends the rounds.
var errEnough = errors.New("no more rounds")

// run does a first round, and further ones as long as they fit and are needed.
// Repetitions of those that were disturbed have the budget only.
func (p pace) run(round func() (clean bool, err error)) error {
	var spent time.Duration // in rounds
	for done, clean := 0, 0; p.planned == 0 || clean < p.planned; done++ {
		if done > 0 {
			limit, each := p.began.Add(p.budget), spent/time.Duration(done)
			if done < p.planned {
				limit = limit.Add(p.over)
			}
			left := limit.Sub(p.now())
			if left < each {
				return nil
			}
			if p.pause != nil {
				if err := p.pause(done, each, left); err != nil {
					return err
				}
			}
		}
		began := p.now()
		ok, err := round()
		switch spent += p.now().Sub(began); {
		case errors.Is(err, errEnough):
			return nil
		case err != nil:
			return err
		case ok:
			clean++
		}
	}
	return nil
}

// undisturbed returns the rounds that others did not disturb, if they are enough for an
// interval, and all otherwise. clean counts the former.
func undisturbed[T any](rounds []T, quiet func(T) bool, alpha float64) (use []T, clean int) {
	for _, r := range rounds {
		if quiet(r) {
			use = append(use, r)
		}
	}
	if clean = len(use); clean < stats.MinBlocks(alpha) {
		return rounds, clean
	}
	return use, clean
}

// column is one figure of each round.
func column[T, F any](rounds []T, of func(T) F) []F {
	out := make([]F, len(rounds))
	for i, r := range rounds {
		out[i] = of(r)
	}
	return out
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
	return new(stats.QuantileInterval(x, 0.5, alpha))
}

func tooFew(n int, alpha float64) string {
	return fmt.Sprintf("%d rounds are too few for an interval; it takes %d", n, stats.MinBlocks(alpha))
}
