package stats_test

import (
	"fmt"

	"hostlab/internal/stats"
)

// What does a change cost, when each block has one run without and one with it? The stall
// of the fourth block does not decide.
func ExamplePairedRatio() {
	without := []float64{10.1, 10.3, 9.9, 10.0, 10.2, 10.4, 10.1, 10.0, 10.2, 10.1, 10.3, 10.0}
	with := []float64{10.6, 10.9, 10.4, 19.7, 10.7, 10.8, 10.7, 10.5, 10.8, 10.6, 10.9, 10.4}
	r := stats.PairedRatio(with, without, 0.05)
	fmt.Printf("%+.1f %%, 95 %% confidence interval [%+.1f, %+.1f] %%, n = %d\n", 100*(r.Value-1), 100*(r.Low-1), 100*(r.High-1), r.N)
	// Output:
	// +5.4 %, 95 % confidence interval [+4.8, +5.9] %, n = 12
}

// How many blocks show an effect of 2 % with a probability of 80 %, where the differences
// of blocks vary by 3 %?
func ExampleBlocksNeeded() {
	fmt.Println(stats.BlocksNeeded(0.03, 0.02, 0.05, 0.8), "blocks, and never fewer than", stats.MinBlocks(0.05))
	// Output:
	// 19 blocks, and never fewer than 6
}
