package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/stat/distuv"
)

// share is a count of simulated experiments.
type share struct{ k, n int }

func (s share) value() float64 { return float64(s.k) / float64(s.n) }

// interval is Clopper and Pearson's at 95 %: that of the simulation itself.
func (s share) interval() (low, high float64) {
	k, n := float64(s.k), float64(s.n)
	high = 1
	if s.k > 0 {
		low = distuv.Beta{Alpha: k, Beta: n - k + 1}.Quantile(0.025)
	}
	if s.k < s.n {
		high = distuv.Beta{Alpha: k + 1, Beta: n - k}.Quantile(0.975)
	}
	return low, high
}

func (s share) String() string {
	low, high := s.interval()
	return fmt.Sprintf("%5.1f [%4.1f, %5.1f]", 100*s.value(), 100*low, 100*high)
}

// count returns how many of all have a property.
func count[T any](all []T, has func(T) bool) share {
	s := share{n: len(all)}
	for _, v := range all {
		if has(v) {
			s.k++
		}
	}
	return s
}

// target is a bound that a share has to keep.
type target struct {
	name  string
	share share
	bound float64
	least bool // the bound is from below
}

// missed reports whether the share is beyond its bound by more than the
// simulation's own error.
func (t target) missed() bool {
	low, high := t.share.interval()
	if t.least {
		return high < t.bound
	}
	return low > t.bound
}

func (t target) String() string {
	sign, state := "at most", "met"
	beyond := t.share.value() > t.bound
	if t.least {
		sign, beyond = "at least", t.share.value() < t.bound
	}
	switch {
	case t.missed():
		state = "MISSED"
	case beyond:
		state = "met within the simulation's error"
	}
	return fmt.Sprintf("%-62s %s %%  want %s %g %%  n %d  %s", t.name, t.share, sign, 100*t.bound, t.share.n, state)
}

// many calls f n times on all CPUs. Each call has its own generator, so that the
// outcome depends on the seed alone.
func many[T any](n int, seed uint64, f func(rng *rand.Rand) T) []T {
	out := make([]T, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				out[i] = f(rand.New(rand.NewPCG(seed, uint64(i))))
			}
		})
	}
	wg.Wait()
	return out
}
