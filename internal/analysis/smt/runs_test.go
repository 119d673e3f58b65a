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
		Design:  result.Design{Alpha: 0.05, Looks: []int{blocks}},
		Factors: []result.Factor{{Name: "cell", Kind: "parameter", Baseline: "none", Levels: order}},
		Context: map[string]string{"scan": "4 MiB", "scan_half_l1": "24 KiB", "scan_half_l2": "1 MiB", "scan_2xl2": "4 MiB", "scan_2xllc": "1.5 GiB"},
	}
	for _, l := range order {
		x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"cell": l}})
	}
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
	runs[0].Contaminated, runs[2].Contaminated = "others took 5 % of a CPU", "the CPUs moved: a cache line took 50 ns between them before and 61 ns after"
	in, ok := FromRuns(x, runs)
	if !ok || in.Alone < 2e8 || in.Beside > in.Alone/2 {
		t.Fatalf("%v, %+v", ok, in)
	}
	var names []string
	for _, s := range in.Sweep {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"half-l1", "half-l2", "2xl2", "2xllc"}, names); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Marked{{"", 135, 1, 1}, {"none", 15, 0, 1}, {"scan@sibling", 15, 1, 0}, {"scan@core", 15, 0, 0}}, in.Marked); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]Marked{{"alu@sibling", 15, 0, 0}, {"scan-half-l1@sibling", 15, 0, 0}, {"scan-half-l2@sibling", 15, 0, 0}}, in.CauseMarked); diff != "" {
		t.Error(diff)
	}
	v := Judge(in)
	near := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.02 {
			t.Errorf("%s is %g, want %g", what, got, want)
		}
	}
	near("sibling", v.Sibling.Value, 0.4)
	near("other", v.Other.Value, 0.98)
	near("scan over ALU", v.ScanOverALU.Value, 0.4/0.6)
	near("yield", v.Yield.Value, 1.1)
	if v.Decision != Harm || v.Cause != Caches {
		t.Errorf("%s, %s: %s", v.Decision, v.Cause, v.Reason)
	}
}

// A study of several factors has several cells for a level: each counts the same, and
// a block that lacks one has no ratio.
func TestFromRunsOfTwoFactors(t *testing.T) {
	x := &result.Experiment{
		Factors: []result.Factor{{Name: "cell", Baseline: "none", Levels: []string{"none", "scan@sibling", "scan@core"}}, {Name: "touch", Baseline: "false", Levels: []string{"false", "true"}}},
	}
	var runs []result.Run
	for c, level := range x.Factors[0].Levels {
		for k, touch := range x.Factors[1].Levels {
			x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"cell": level, "touch": touch}})
			for b := range 8 {
				rate := []float64{4e8, 2e8, 4e8}[c] / []float64{1, 100}[k]
				if c == 1 && k == 1 {
					rate /= 2
				}
				runs = append(runs, result.Run{Block: b, Cell: 2*c + k, Status: result.OK, Values: map[string]float64{"lock_rate": rate}})
			}
		}
	}
	runs[3].Status = result.Failed // the lock alone without touch, whose rate is a hundred times that of what is left
	in, ok := FromRuns(x, runs)
	v := Judge(in)
	if want := math.Sqrt(0.5 * 0.25); !ok || v.Sibling.N != 7 || math.Abs(v.Sibling.Low-want) > 1e-9 || math.Abs(v.Sibling.High-want) > 1e-9 || v.Decision != Harm {
		t.Errorf("%+v, want %g in 7 blocks", v, want)
	}
}

// The limit holds for each cell that the decision rests on, not for all together only.
func TestContaminatedCells(t *testing.T) {
	order := []string{"none", "scan@sibling", "scan-half-l1@sibling", "scan-half-l2@sibling", "alu@sibling", "pause@sibling", "own@sibling", "scan@core", "pause@core", "alu@core"}
	parts := map[string]float64{"none": 1, "scan@sibling": 0.4, "scan-half-l1@sibling": 0.7, "scan-half-l2@sibling": 0.5, "alu@sibling": 0.6, "pause@sibling": 1, "own@sibling": 0.55, "scan@core": 0.98, "pause@core": 1, "alu@core": 1}
	for name, c := range map[string]struct {
		cell         int // of order; len(order): none
		moved, taken int
		decision     Decision
		cause        Cause
		obstacle     Obstacle
		says         string
	}{
		"three of 15":   {1, 0, 3, Harm, Caches, "", ""},
		"the scan":      {1, 0, 4, Inconclusive, "", Disturbed, "4 of 15 runs of the cell scan@sibling are contaminated, more than a fifth: in 4 others took part of them."},
		"it moved":      {1, 3, 1, Inconclusive, "", Moved, "in 3 the CPUs moved, in 1 others took part of them."},
		"alone":         {0, 4, 0, Inconclusive, "", Moved, "of the cell none are"},
		"another core":  {7, 0, 4, Inconclusive, "", Disturbed, "of the cell scan@core"},
		"ALU":           {4, 0, 4, Harm, Unknown, "", "is not known: 4 of 15 runs of the cell alu@sibling"},
		"a step":        {2, 4, 0, Harm, Unknown, "", "is not known: 4 of 15 runs of the cell scan-half-l1@sibling"},
		"nobody's step": {9, 15, 0, Harm, Caches, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			x, runs := record(15, parts, order...)
			moved, taken := c.moved, c.taken
			for i := range runs {
				switch r := &runs[i]; {
				case r.Cell != c.cell || r.Status != result.OK:
				case moved > 0:
					r.Contaminated, moved = "the CPUs moved: a cache line took 98 ns between them before and 73 ns after", moved-1
				case taken > 0:
					r.Contaminated, taken = "other processes took 23.1 % of the CPUs, above max_foreign_cpu 2 %", taken-1
				}
			}
			in, _ := FromRuns(x, runs)
			if v := Judge(in); v.Decision != c.decision || v.Cause != c.cause || v.Obstacle != c.obstacle || !strings.Contains(v.Reason, c.says) {
				t.Errorf("%s, %q, %q: %s", v.Decision, v.Cause, v.Obstacle, v.Reason)
			}
		})
	}
}

// A scanner on a CPU by its number is none on a sibling, as nobody says that it is one.
func TestScannerOnACPU(t *testing.T) {
	x, runs := record(6, map[string]float64{"none": 1, "scan@1": 0.5}, "none", "scan@1")
	in, ok := FromRuns(x, runs)
	if v := Judge(in); !ok || v.Decision != Untestable || v.Obstacle != NotInStudy || !strings.HasPrefix(v.Reason, "Not tested: the study measures no scanner on a sibling") {
		t.Errorf("%+v", v)
	}
}

// One core of two threads has no other core: harm cannot be told, none can.
func TestOneCore(t *testing.T) {
	for decision, keeps := range map[Decision]float64{Inconclusive: 0.5, None: 1} {
		x, runs := record(15, map[string]float64{"none": 1, "scan@sibling": keeps, "alu@sibling": 0.7}, "none", "scan@sibling", "alu@sibling")
		x.Absent = []result.Absent{{Factor: "cell", Level: "scan@core", Reason: "all CPUs share the core of CPU 0"}}
		in, _ := FromRuns(x, runs)
		v := Judge(in)
		if v.Decision != decision {
			t.Errorf("%+v", v)
		}
		if decision != Inconclusive {
			continue
		}
		for _, want := range []string{"without a scanner on another core (all CPUs share the core of CPU 0), it is unknown", "million acquisitions/s", "Beside an ALU loop there, which touches no memory, it keeps "} {
			if v.Obstacle != NoOther || !strings.Contains(v.Reason, want) {
				t.Errorf("%q, not %q: %s", v.Obstacle, want, v.Reason)
			}
		}
	}
}

func TestSize(t *testing.T) {
	for text, want := range map[string]int64{"1.25 MiB": 1310720, "48 KiB": 48 << 10, "1.5 GiB": 3 << 29, "128 B": 128, "": 0, "0 B": 0, "-1 KiB": 0, "1 MB": 0, "x KiB": 0, "NaN GiB": 0, "1e300 GiB": 0} {
		if got := Size(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
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
	if v := Judge(in); v.Sibling.N != 6 || v.Other.N != 7 || v.Decision != Harm || v.Cause != Unknown {
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
