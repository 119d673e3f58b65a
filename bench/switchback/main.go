// Command switchback puts live experiments to the test: it simulates services whose truth is known, with a day,
// noise that has a memory, a job every 10 minutes, changes that take time to settle and clients that
// wait for answers. The product's own plan, test, rule to stop and rule of harm decide about them.
//
//	go run ./bench/switchback [-n 2000] [-seed 1] [-only effects,harm]
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"hostlab/internal/stats"
)

func main() {
	n := flag.Int("n", 2000, "experiments for each figure")
	seed := flag.Uint64("seed", 1, "of all random numbers")
	only := flag.String("only", "effects,harm", "tables to print, separated by commas")
	flag.Parse()
	if flag.NArg() > 0 || *n < 20 {
		fmt.Fprintln(os.Stderr, "switchback: want -n of at least 20 and no arguments; see -h")
		os.Exit(2)
	}
	begin := time.Now()
	fmt.Printf("%d simulated experiments for each figure, seed %d. Shares in %% [95 %% interval, Clopper and Pearson].\n", *n, *seed)
	missed := false
	if strings.Contains(*only, "effects") {
		missed = effects(*n, *seed)
	}
	if strings.Contains(*only, "harm") {
		missed = harm(*n, *seed) || missed
	}
	fmt.Printf("%.0f s\n", time.Since(begin).Seconds())
	if missed {
		os.Exit(1)
	}
}

// target prints a share of n that has a bound, and reports whether it is beyond it by more than the
// simulation's own error.
func target(name string, k, n int, least, most float64) (missed bool) {
	low, high := stats.Share(k, n, 0.05)
	missed = high < least || low > most
	fmt.Printf("   %-50s %s  want %g to %g %%  %s\n", name, share(k, n), 100*least, 100*most, map[bool]string{true: "MISSED", false: "met"}[missed])
	return missed
}

// share writes a count of n with its interval.
func share(k, n int) string {
	low, high := stats.Share(k, n, 0.05)
	return fmt.Sprintf("%5.1f [%4.1f, %5.1f]", 100*float64(k)/float64(n), 100*low, 100*high)
}
