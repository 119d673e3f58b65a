package fleet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"hostlab/internal/testkit"
)

// Readers get words for each kind of measurement that the probes have.
func TestWordsOfAllKinds(t *testing.T) {
	file := testkit.Must(parser.ParseFile(token.NewFileSet(), "../probe/kinds.go", nil, 0))(t)
	kinds := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, is := n.(*ast.ValueSpec)
		if !is || len(spec.Values) != 1 {
			return true
		}
		of, is := spec.Type.(*ast.SelectorExpr)
		if !is || of.Sel.Name != "Kind" {
			return true
		}
		kind := testkit.Must(strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value))(t)
		if kinds++; MeasurementWords(kind) == "" {
			t.Errorf("%s has no words", kind)
		}
		return true
	})
	if kinds < 20 {
		t.Errorf("%d kinds were found", kinds)
	}
}

func TestMeasurementWords(t *testing.T) {
	for name, want := range map[string]string{
		"wakeup.alu.10ms.cpu0":        "time of arithmetic after a pause, against awake, bursts of 10 ms, CPU 0",
		"wakeup.latency.p50.cpu3":     "median lateness of a wake-up, CPU 3",
		"siblings.slowdown.cpu0-cpu1": "slow-down of two busy CPUs by each other, CPU 0 and CPU 1",
		"commit.p50":                  "median commit to new blocks of the log device",
		"commit.overwritten.p99":      "99th percentile of commits to blocks written before",
		"commit.memory.mean":          "mean commit in memory",
		"degree.throughput.1":         "rate of a cached query, 1 worker",
		"degree.speedup.4":            "speed-up of a cached query, 4 workers",
		"commit.p75":                  "", "later.figure.cpu0": "", "": "",
	} {
		testkit.Is(t, want, MeasurementWords(name), name)
	}
}
