package postgres

import (
	"strings"
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
		want  string
	}{
		"ten seconds":            {steady(10), "off by up to 10 %"},
		"a minute":               {steady(60), ""},
		"a load that grows":      {append(steady(60), 1000, 1000), "off by up to 12 %"},
		"begun and ended within": {[]int64{0, 0, 500, 500, 500, 0, 0}, ""},
		"idle":                   {make([]int64, 5), ""},
		"one reading":            {nil, ""},
	} {
		now, sum := time.Now(), int64(7)
		readings := []reading{{now, sum}}
		for _, r := range c.rates {
			now, sum = now.Add(time.Second), sum+r
			readings = append(readings, reading{now, sum})
		}
		a := explain.Account{Transactions: sum - 7}
		untold(readings, &a)
		got := strings.Join(a.Missing, "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
