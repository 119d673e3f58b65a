package observe

import (
	"math"
	"slices"
	"strings"
	"testing"

	"hostlab/internal/testkit"
)

// Pages come in many hands: labels in any order, escapes, times, names in quotes, samples of other metrics between.
func TestReadHistogram(t *testing.T) {
	const text = `# HELP h what "it" is
# TYPE h histogram
h_bucket{le="0.5",path="/a\"},{\\"} 1 1700000000000
other{x="h_bucket"} NaN
h_bucket{path="/a\"},{\\",le="+Inf",} 3
h_sum{path="/a\"},{\\"} 2.5
	h_count { path = "/a\"},{\\" }	3
# TYPE h_created gauge
h_created 1
{"h_bucket",le="0.5",path="b"} 4
h_count{path="b"} 9
`
	list := testkit.Must(readHistogram(strings.NewReader(text), "h"))(t)
	inf := math.Inf(1)
	if len(list) != 2 || !slices.Equal(list[0].bounds, []float64{0.5, inf}) ||
		!slices.Equal(list[0].counts, []float64{1, 3}) || list[0].sum != 2.5 ||
		!slices.Equal(list[1].bounds, []float64{0.5, inf}) || !slices.Equal(list[1].counts, []float64{4, 9}) {
		for _, s := range list {
			t.Errorf("%+v", *s)
		}
	}
	for _, line := range []string{`h_bucket{le="1" 3`, `h_bucket{le=1} 3`, `h_bucket{le="x"} 3`, `h_bucket{le="1"}`,
		`h_sum x`, `h_sum{a} 1`,
		`h_sum{a="\`, `{} 1`} {
		list, err := readHistogram(strings.NewReader("# TYPE h histogram\n"+line+"\n"), "h")
		if err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v", line, err, list)
		}
	}
}
