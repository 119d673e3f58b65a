// Command outliers puts the rule of 'fleet hosts --outliers' to the test: groups of equal hosts of several laws, of which
// nobody should be named, and groups in which one host has twice as much in one measurement.
//
//	go run ./bench/outliers [-n 2000] [-seed 1]
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"

	"hostlab/internal/stats"
)

// law draws the logarithm of a value, of standard deviation sd.
type law struct {
	name string
	draw func(*rand.Rand) float64
	sd   float64
}

var laws = []law{
	{"log-normal", (*rand.Rand).NormFloat64, 1},
	{"t3 of logarithms", func(r *rand.Rand) float64 {
		s := 0.0
		for range 3 {
			s += math.Pow(r.NormFloat64(), 2) / 3
		}
		return r.NormFloat64() / math.Sqrt(s)
	}, math.Sqrt(3)},
	{"exponential", func(r *rand.Rand) float64 { return math.Log(r.ExpFloat64()) }, math.Pi / math.Sqrt(6)},
	{"exponential logarithms", (*rand.Rand).ExpFloat64, 1},
	{"skewed", func(r *rand.Rand) float64 { return math.Exp(0.5 * r.NormFloat64()) }, 0.604},
}

// falseShare and leastRatio are those of package fleet.
const falseShare, leastRatio = 0.05, 1.1

// named counts the hosts that are named among k of a law, which scatter by sd in so many measurements. times is what one
// of them has more of in the first one; first reports whether that one is.
func named(r *rand.Rand, l law, k, measurements int, sd, times float64) (n int, first bool) {
	var p, gaps, ratios []float64
	for m := range measurements {
		values := make([]float64, k)
		for i := range values {
			values[i] = sd / l.sd * l.draw(r)
		}
		if m == 0 {
			values[0] += math.Log(times)
		}
		each, gap := stats.Peers(values)
		p, gaps = append(p, each...), append(gaps, gap)
		middle := stats.Median(values)
		for _, v := range values {
			ratios = append(ratios, math.Exp(math.Abs(v-middle)))
		}
	}
	for i := range p {
		p[i] *= stats.Tails(gaps)
	}
	for i, is := range stats.Discoveries(p, falseShare) {
		if is && ratios[i] > leastRatio {
			n++
			first = first || i == 0
		}
	}
	return n, first
}

func main() {
	n := flag.Int("n", 2000, "groups for each figure")
	seed := flag.Uint64("seed", 1, "of all random numbers")
	flag.Parse()
	share := func(count int) string {
		low, high := stats.Share(count, *n, 0.05)
		return fmt.Sprintf("%5.1f [%4.1f, %5.1f]", 100*float64(count)/float64(*n), 100*low, 100*high)
	}
	sizes := []int{8, 10, 12, 15, 20}
	fmt.Printf("%d groups for each figure, seed %d. Shares in %% [95 %% interval, Clopper and Pearson].\n", *n, *seed)
	for _, measurements := range []int{1, 6, 20} {
		fmt.Printf("\n== %d measurements, no outlier: groups in which one is named, of %v hosts; scatter 10 %%\n", measurements, sizes)
		for _, l := range laws {
			fmt.Printf("%-24s", l.name)
			for _, k := range sizes {
				r, wrong := rand.New(rand.NewPCG(*seed, uint64(k))), 0
				for range *n {
					if found, _ := named(r, l, k, measurements, 0.1, 1); found > 0 {
						wrong++
					}
				}
				fmt.Print("  ", share(wrong))
			}
			fmt.Println()
		}
		fmt.Printf("== %d measurements, one of 12 log-normal hosts has twice as much in one: it is named\n", measurements)
		for _, sd := range []float64{0.02, 0.03, 0.04, 0.05, 0.07, 0.1} {
			r, right := rand.New(rand.NewPCG(*seed, math.Float64bits(sd))), 0
			for range *n {
				if _, is := named(r, laws[0], 12, measurements, sd, 2); is {
					right++
				}
			}
			fmt.Printf("scatter %3.0f %%: %s\n", 100*sd, share(right))
		}
	}
}
