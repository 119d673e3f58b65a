package main

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"

	"hostlab/internal/stats"
)

// share is a count of simulated experiments.
type share struct{ k, n int }

func (s share) value() float64 { return float64(s.k) / float64(s.n) }

// interval is Clopper and Pearson's at 95 %: that of the simulation itself.
func (s share) interval() (low, high float64) {
	return stats.Share(s.k, s.n, 0.05)
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
	// scatter is set where the bound is not meant for this noise, and says why.
	scatter string
}

// missed reports whether the share is beyond its bound by more than the
// simulation's own error.
func (t target) missed() bool {
	if t.scatter != "" {
		return false
	}
	low, high := t.share.interval()
	if t.least {
		return high < t.bound
	}
	return low > t.bound
}

func (t target) String() string {
	if t.scatter != "" {
		return fmt.Sprintf("%-62s %s %%  no target; scatter %s  n %d", t.name, t.share, t.scatter, t.share.n)
	}
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
