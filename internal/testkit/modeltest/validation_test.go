// Package validation holds the cases by which the model is judged, in one list:
// closed forms, ramp times, and published figures. The tests run
// them and the page docs/validation.md prints them.
package modeltest

import (
	"context"
	"math"
	"slices"
	"sync"

	"hostlab/internal/model"
	"hostlab/internal/result"
)

// Groups of cases.
const (
	Theory    = "theory"
	Ramp      = "ramp"
	SAP       = "sap"
	Governors = "governors"
	Olontsev  = "olontsev"
	Emulation = "emulation"
	Spun      = "spun"
)

// Case is one comparison of the model with a figure from elsewhere.
type Case struct {
	Name   string
	Group  string
	Source string // of the expected figure
	What   string // the quantity
	Unit   string // "" for ratios
	// Expected and the relative Tolerance within which the model must come. A
	// Tolerance of 0 is a residual that is recorded and not judged, unless the case is
	// a bound.
	Expected, Tolerance float64
	// AtMost turns Expected into an upper bound of the mean, not of its interval.
	AtMost bool
	Run    func(context.Context) (Answer, error)
}

// Answer is the model's figure.
type Answer struct {
	Mean, Low, High float64 // interval at 99 %; Low and High NaN for exact figures
	N               int     // replications
	Note            string
}

// Judged reports whether the case can fail.
func (c Case) Judged() bool { return c.AtMost || c.Tolerance > 0 }

// Passes reports whether the result satisfies the case: within tolerance and,
// for closed forms, with Expected inside the interval. A case that is not judged
// passes.
func (c Case) Passes(r Answer) bool {
	switch {
	case c.AtMost:
		return r.Mean <= c.Expected
	case c.Tolerance == 0:
		return true
	case c.Group == Theory && !(r.Low <= c.Expected && c.Expected <= r.High):
		return false
	}
	return math.Abs(c.Residual(r)) <= c.Tolerance
}

// Residual is Mean/Expected - 1; NaN when nothing was expected, an Expected of 0.
func (c Case) Residual(r Answer) float64 {
	if c.Expected == 0 {
		return math.NaN()
	}
	return r.Mean/c.Expected - 1
}

// Cases lists all cases, in the order to print. Each is simulated once, when its
// result is first asked for; cases that share a simulation share its result.
var Cases = sync.OnceValue(func() []Case {
	out := slices.Concat(theory(), ramps(), sap(), governors(), olontsev(), emulation(), spun())
	for i := range out {
		out[i].Run = shared(out[i].Run)
	}
	return out
})

// level of all intervals here. The cases are many, and one in a hundred may miss.
const level = 0.99

const seed = 20260722

// must builds parts whose names are constants of this package.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func policy(text string) model.Policy { return must(model.ParsePolicy(text)) }

// shared runs f once, when it is first needed.
func shared[T any](f func(context.Context) (T, error)) func(context.Context) (T, error) {
	var once sync.Once
	var v T
	var err error
	return func(ctx context.Context) (T, error) {
		once.Do(func() { v, err = f(ctx) })
		return v, err
	}
}

func of(e result.Estimate) Answer { return Answer{Mean: e.Value, Low: e.Low, High: e.High, N: e.N} }

// response runs a case and picks one response.
func response(c func() model.Case, o model.Options, r model.Response) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) {
		o.Seed, o.Level = seed, level
		out, err := model.Simulate(ctx, c(), o)
		if err != nil {
			return Answer{}, err
		}
		return of(out.Responses[r]), nil
	}
}

// scaled changes the unit of a run's result.
func scaled(run func(context.Context) (Answer, error), f func(Answer) Answer) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) {
		r, err := run(ctx)
		return f(r), err
	}
}
