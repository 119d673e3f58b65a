package smt

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"hostlab/internal/result"
)

// record is a study of some cells, whose lock thread has the given part of a rate
// that drifts from block to block.
func record(blocks int, parts map[string]float64, order ...string) (*result.Experiment, []result.Run) {
	x := &result.Experiment{
		Design:  result.Design{Alpha: 0.05, AA: true, Looks: []int{blocks}},
		Factors: []result.Factor{{Name: "cell", Kind: "parameter", Baseline: "none", Levels: order}},
		Context: map[string]string{"scan": "4 MiB", "scan_half_l1": "24 KiB", "scan_half_l2": "1 MiB", "scan_2xl2": "4 MiB", "scan_2xllc": "1.5 GiB"},
	}
	for _, l := range order {
		x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"cell": l}})
	}
	x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"cell": "none"}, Duplicate: true})
	r := rand.New(rand.NewPCG(5, 6))
	var runs []result.Run
	for b := range blocks {
		host := 3e8 * (1 + 0.5*math.Sin(float64(b)))
		for c, cell := range x.Cells {
			rate := host * parts[cell.Levels["cell"]] * (1 + 0.01*r.NormFloat64())
			values := map[string]float64{"lock_rate": rate, "total_rate": rate}
			if cell.Levels["cell"] == "own@sibling" {
				values["total_rate"] = 2 * rate
			}
			runs = append(runs, result.Run{Block: b, Cell: c, Status: result.OK, Values: values},
				result.Run{Block: b, Cell: c, Status: result.Void, Values: map[string]float64{"lock_rate": 1}})
		}
	}
	return x, runs
}

func TestFromRuns(t *testing.T) {
	order := []string{"none", "scan@sibling", "scan-half-l1@sibling", "scan-half-l2@sibling", "scan-2xllc@sibling", "alu@sibling", "own@sibling", "scan@core", "scan@socket"}
	x, runs := record(15, map[string]float64{"none": 1, "scan@sibling": 0.4, "scan-half-l1@sibling": 0.7, "scan-half-l2@sibling": 0.5, "scan-2xllc@sibling": 0.3,
		"alu@sibling": 0.6, "own@sibling": 0.55, "scan@core": 0.98, "scan@socket": 0.5}, order...)
	runs[0].Contaminated = "others took 5 % of a CPU"
	in, ok := FromRuns(x, runs)
	if !ok || !in.Siblings || in.Cells != 150 || in.Contaminated != 1 || len(in.AA) != 15 || in.Alone < 2e8 || in.Beside > in.Alone/2 {
		t.Fatalf("%v, %+v", ok, in)
	}
	var names []string
	var bytes []int64
	for _, s := range in.Sweep {
		names, bytes = append(names, s.Name), append(bytes, s.Bytes)
	}
	if diff := cmp.Diff([]string{"half-l1", "half-l2", "2xl2", "2xllc"}, names) + cmp.Diff([]int64{24 << 10, 1 << 20, 4 << 20, 3 << 29}, bytes); diff != "" {
		t.Error(diff)
	}
	v := Judge(in)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.02 {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	near("sibling", v.Sibling.Estimate, 0.4)
	near("other", v.Other.Estimate, 0.98)
	near("scan over ALU", v.ScanOverALU.Estimate, 0.4/0.6)
	near("yield", v.Yield.Estimate, 1.1)
	near("A/A", v.AA.Estimate, 1)
	if v.Decision != Harm || v.Cause != Caches {
		t.Errorf("%s, %s: %s", v.Decision, v.Cause, v.Reason)
	}
	if steps := Sweep(x, runs, "core"); len(steps) != 1 || steps[0].Name != "2xl2" {
		t.Errorf("on another core: %+v", steps)
	}
}

// A block without a run that counts of a cell gives no ratio, and no zero.
func TestFromRunsWithHoles(t *testing.T) {
	x, runs := record(8, map[string]float64{"none": 1, "scan@sibling": 0.4, "scan@llc": 0.9}, "none", "scan@sibling", "scan@llc")
	for i := range runs {
		if runs[i].Block == 3 && runs[i].Cell == 0 || runs[i].Block == 5 && runs[i].Cell == 1 {
			runs[i].Status = result.Failed
		}
	}
	in, _ := FromRuns(x, runs)
	if v := Judge(in); v.Sibling.N != 6 || v.Other.N != 7 || v.AA.N != 7 || v.Decision != Harm || v.Cause != Unknown {
		t.Errorf("%+v", v)
	}
}

func TestFromRunsWithoutSiblings(t *testing.T) {
	x, runs := record(6, map[string]float64{"none": 1, "scan@core": 0.97}, "none", "scan@core")
	x.Absent = []result.Absent{{Factor: "other", Level: "x@sibling", Reason: "wrong"}, {Factor: "cell", Level: "scan@sibling", Reason: "no CPU shares a core with CPU 0"}}
	in, ok := FromRuns(x, runs)
	if v := Judge(in); !ok || v.Decision != Untestable || v.Other.N != 6 || !strings.HasPrefix(v.Reason, "Untestable here: no CPU shares a core with CPU 0. Beside a scanner") {
		t.Errorf("%+v", v)
	}
	x.Factors[0].Levels = []string{"a", "b"}
	if _, ok := FromRuns(x, runs); ok {
		t.Error("a study without the lock thread alone can be judged")
	}
}
