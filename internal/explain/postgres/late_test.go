package postgres

import (
	"math"
	"testing"
	"time"

	"hostlab/internal/explain"
)

// A count that one second may change much is said to be off, and no other.
func TestUntold(t *testing.T) {
	steady := func(seconds int) (rates []int64) {
		for range seconds {
			rates = append(rates, 100)
		}
		return rates
	}
	for name, c := range map[string]struct {
		rates []int64 // each of a second
		want  float64 // share that may be off; 0: at most 2 %
	}{
		"ten seconds":            {steady(10), 0.10},
		"a minute":               {steady(60), 0},
		"a load that grows":      {append(steady(60), 1000, 1000), 0.1255},
		"begun and ended within": {[]int64{0, 0, 500, 500, 500, 0, 0}, 0},
		"idle":                   {make([]int64, 5), 0},
		"one reading":            {nil, 0},
	} {
		now, sum := time.Now(), int64(7)
		readings := []reading{{now, sum}}
		for _, r := range c.rates {
			now, sum = now.Add(time.Second), sum+r
			readings = append(readings, reading{now, sum})
		}
		a := explain.Account{Transactions: sum - 7}
		untold(readings, &a)
		if got := a.Late / max(1, float64(a.Transactions)); c.want == 0 && got > 0.02 || c.want > 0 &&
			math.Abs(got-c.want) > 0.005 {
			t.Errorf("%s: %.3f, want %.2f", name, got, c.want)
		}
	}
}
