package watch

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A record writes one number for each CPU as text with spaces between, where equal
// neighbours are joined: "0*62 3 17.5" is 62 idle CPUs and two others. An unknown
// number is "-". A quiet night of 512 CPUs takes no more room than one of 8.

// appendRuns writes numbers with so many digits behind the point, without zeros.
func appendRuns(b []byte, n int, value func(int) float64, digits int) []byte {
	scale := math.Pow10(digits)
	round := func(i int) float64 { return math.Round(value(i)*scale) / scale }
	for i := 0; i < n; {
		v := round(i)
		j := i + 1
		for j < n && (round(j) == v || math.IsNaN(v) && math.IsNaN(value(j))) {
			j++
		}
		if i > 0 {
			b = append(b, ' ')
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			b = append(b, '-')
		} else {
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		}
		if j-i > 1 {
			b = append(b, '*')
			b = strconv.AppendInt(b, int64(j-i), 10)
		}
		i = j
	}
	return b
}

func parseRuns(s string, n int) ([]float64, error) {
	out := make([]float64, 0, n)
	for word := range strings.FieldsSeq(s) {
		text, times, many := strings.Cut(word, "*")
		v, err := unknown, error(nil)
		if text != "-" {
			v, err = strconv.ParseFloat(text, 64)
		}
		count := 1
		if err == nil && many {
			count, err = strconv.Atoi(times)
		}
		if err != nil || count < 1 || v < 0 || math.IsInf(v, 0) || text != "-" && math.IsNaN(v) {
			return nil, fmt.Errorf("expected numbers as 0*62 3 17.5, found %.40q", word)
		}
		if count > n-len(out) {
			return nil, fmt.Errorf("more than %d numbers", n)
		}
		for range count {
			out = append(out, v)
		}
	}
	if len(out) != n {
		return nil, errors.New("fewer numbers than CPUs")
	}
	return out, nil
}
