package scanlock

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/result"
)

// Latency is how long acquisitions took. Of a class only its bounds are known, so
// that every figure is the upper edge of the class that holds it.
type Latency struct {
	Unit   string    `json:"unit"`
	N      uint64    `json:"n"`
	P50    float64   `json:"p50"` // at most, as the next two
	P99    float64   `json:"p99"`
	Max    float64   `json:"max"`
	Edges  []float64 `json:"edges"` // upper ones of the classes
	Counts []uint64  `json:"counts"`
}

// LatencyOf sums a histogram up; nil where nothing was counted.
func LatencyOf(counts []uint64) *Latency {
	edges := WaitEdges()
	n := min(len(edges), len(counts))
	l := &Latency{Unit: "s", Edges: edges[:n], Counts: counts[:n]}
	for _, c := range l.Counts {
		l.N += c
	}
	if l.N == 0 {
		return nil
	}
	var sum uint64
	for i, c := range l.Counts {
		before := sum
		sum += c
		reached := func(q float64) bool { return float64(before) < q*float64(l.N) && float64(sum) >= q*float64(l.N) }
		if reached(0.50) {
			l.P50 = edges[i]
		}
		if reached(0.99) {
			l.P99 = edges[i]
		}
		if c > 0 {
			l.Max = edges[i]
		}
	}
	return l
}

// Latencies returns percentiles and the histogram of acquisitions, or why there are none.
// Classes without any are left out at both ends, and neighbours joined until a screen holds them.
func (t Table) Latencies() document.Section {
	out := document.Section{Title: "How long acquisitions took"}
	l := LatencyOf(t.Waits)
	if l == nil {
		out.Blocks = document.Lines("", "No acquisition was timed.")
		return out
	}
	sec := func(v float64) string { return result.Format(v, "s") }
	table := &document.Table{Columns: document.Headings("up to", "share", "")}
	edges, counts := l.trimmed(20)
	const bar = 40
	most := slices.Max(counts)
	for i, c := range counts {
		length := int((c*bar + most - 1) / most) // one at least, where there is any
		table.Rows = append(table.Rows, textRow(sec(edges[i]), percentOf(c, l.N), strings.Repeat("#", length)))
	}
	table.Columns[2].Right = false
	table.Lead = fmt.Sprintf("An acquisition took at most %s in the median, %s at the 99th percentile and %s at the longest (n "+
		"%d, upper edges of classes, measured). It includes reading the clock.",
		sec(l.P50), sec(l.P99), sec(l.Max), l.N)
	out.Blocks = []document.Block{table}
	return out
}

func percentOf(c, n uint64) string {
	if c == 0 {
		return "0 %"
	}
	p := 100 * float64(c) / float64(n)
	if p < 0.01 {
		return "<0.01 %"
	}
	return fmt.Sprintf("%.2f %%", p)
}

// trimmed drops empty classes at both ends and joins neighbours to at most so many.
func (l *Latency) trimmed(most int) (edges []float64, counts []uint64) {
	first, last := 0, len(l.Counts)-1
	for first < last && l.Counts[first] == 0 {
		first++
	}
	for last > first && l.Counts[last] == 0 {
		last--
	}
	step := (last-first)/most + 1
	for i := first; i <= last; i += step {
		var sum uint64
		end := min(i+step, last+1)
		for _, c := range l.Counts[i:end] {
			sum += c
		}
		edges, counts = append(edges, l.Edges[end-1]), append(counts, sum)
	}
	return edges, counts
}
