package rollout

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/stats"
)

// Measured is a measurement that assessments have.
type Measured struct {
	Name, Unit string
	Hosts      int
}

// Usual are the measurements that are compared where none is named, the first first: the work of one CPU, commits on
// the log device, and how late a thread wakes.
var Usual = []string{"degree.throughput.1", "commit.overwritten.mean", "wakeup.latency.p50.cpu0"}

// better says which direction of a measurement is better; "": that depends.
func better(name, unit string) string {
	switch {
	case strings.HasSuffix(name, ".latency.floor"):
		return ""
	case unit == "s":
		return "lower"
	case unit == "Hz", unit == "1/s", unit == "B/s", strings.HasPrefix(name, "degree."):
		return "higher"
	}
	return ""
}

// Chosen is the measurement that a plan compares: the one named, or the first usual one that so many hosts have. Before
// the first assessment it is the first usual one.
func Chosen(name string, have []Measured, hosts int) (Measure, error) {
	if name == "" {
		name = Usual[0]
		for _, u := range Usual {
			if slices.ContainsFunc(have, func(m Measured) bool { return m.Name == u && m.Hosts >= hosts }) {
				name = u
				break
			}
		}
		if len(have) == 0 {
			return Measure{name, "B/s", "higher"}, nil
		}
	}
	for _, m := range have {
		if m.Name != name {
			continue
		}
		if b := better(m.Name, m.Unit); b != "" {
			return Measure{m.Name, m.Unit, b}, nil
		}
		return Measure{}, fmt.Errorf("%s: hostlab does not know whether more is better; choose a measurement in s, Hz or 1/s",
			name)
	}
	if len(have) == 0 {
		return Measure{}, fmt.Errorf("the store has no assessment yet, and so no measurement %q",
			screen.Short(screen.Clean(name)))
	}
	if name == Usual[0] {
		return Measure{name, "B/s", "higher"}, nil
	}
	return Measure{}, fmt.Errorf("no assessment has a measurement %q; 'hostlab fleet export csv' lists what there is",
		screen.Short(screen.Clean(name)))
}

// Scatter is how far one value of a host is from the others of its own, as a share (one standard deviation), and how
// many a host has in the middle. NaN: no host of the plan has two.
func Scatter(p *Plan, values map[string][]Sample) (share float64, each int) {
	sum, df := 0.0, 0
	var counts []float64
	for _, h := range p.Hosts() {
		var logs []float64
		for _, s := range values[h] {
			if s.Value > 0 {
				logs = append(logs, math.Log(s.Value))
			}
		}
		counts = append(counts, float64(len(logs)))
		if len(logs) >= 2 {
			sum += stats.Variance(logs) * float64(len(logs)-1)
			df += len(logs) - 1
		}
	}
	each = max(1, min(mostBefore, int(stats.Median(counts))))
	if df == 0 {
		return math.NaN(), each
	}
	return math.Expm1(math.Sqrt(sum / float64(df))), each
}
