package rounds

import (
	"fmt"
	"io"
	"math"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Ratio is a/b over rounds with its interval of 95 %.
func Ratio(a, b []float64) result.Estimate { return stats.PairedRatio(a, b, 0.05) }

// undecided is the verdict where a bound lies inside the interval, or rounds are too few
// for an interval.
const undecided = "not decided"

// verdict says whether a ratio is between low and high.
func verdict(ratio result.Estimate, low, high float64) string {
	switch {
	case ratio.Low >= low && ratio.High <= high:
		return "yes"
	case ratio.High < low || ratio.Low > high:
		return "no"
	}
	return undecided
}

// Within says whether a ratio is 1 up to a margin.
func Within(ratio result.Estimate, margin float64) string {
	word := verdict(ratio, 1-margin, 1+margin)
	if word == undecided {
		word += " by so many rounds"
	}
	return fmt.Sprintf("within %.0f %%: %s", 100*margin, word)
}

// Speeds prints how fast kinds are as a ratio to their peer, and whether that is at
// least a target. The last two of kinds are the peer, twice.
func Speeds(w io.Writer, kinds []Kind, least float64) {
	peer := len(kinds) - 2
	for i, k := range kinds {
		if i == peer {
			continue
		}
		ratio := Ratio(kinds[peer].Took, k.Took)
		word := verdict(ratio, least, math.Inf(1))
		if i > peer {
			word = "(A/A)"
		}
		fmt.Fprintf(w, "%-10s  %.3f  [%.3f, %.3f]  n=%d  %s\n", k.Name, ratio.Value, ratio.Low, ratio.High, ratio.N, word)
	}
}
