package analysis

import (
	"math"
	"testing"

	"hostlab/internal/result"
)

// printedRun is one printed run of Slava Oks' program, "Be aware: To Hyper or not to hyper" (2005): two
// cores of two threads; one CPU scans, the others want one lock, over 10 s.
type printedRun struct {
	sibling float64    // acquisitions of the scanner's sibling
	others  [2]float64 // of the threads on the other core
}

var printedRuns = []printedRun{
	{676397, [2]float64{9290331, 10274030}},  // test.exe -s8 -l7
	{741166, [2]float64{10747824, 10210221}}, // test.exe -s4 -l11
	{722554, [2]float64{10550011, 11182506}}, // test.exe -s1 -l14
	{1297138, [2]float64{9900899, 8984095}},  // test.exe -s2 -l13
}

// record makes a record of the workload scanlock with these rates, by level and block.
func record4(rates map[result.Scanner][]float64, absent ...result.Absent) (*result.Experiment, []result.Run) {
	x := &result.Experiment{Absent: absent, Design: result.Design{Alpha: 0.05}}
	f := result.Factor{Name: "scanner", Baseline: "none"}
	var runs []result.Run
	for _, l := range result.Scanners {
		if rates[l] == nil {
			continue
		}
		f.Levels = append(f.Levels, string(l))
		x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"scanner": string(l)}})
		for b, v := range rates[l] {
			runs = append(runs, result.Run{Block: b, Cell: len(x.Cells) - 1, Status: result.OK,
				Values: map[string]float64{"lock_rate": v}})
		}
	}
	x.Factors = []result.Factor{f}
	return x, runs
}

// The printed runs are harm. No thread ran alone in them: the mean of the two lock threads on the other
// core stands for it, and the slower of those two for a thread beside a scanner on another core, which
// favours none of the sibling's harm.
func TestPublishedRunsAreHarm(t *testing.T) {
	rates, low, high := map[result.Scanner][]float64{}, math.Inf(1), 0.0
	for _, r := range printedRuns {
		mean := (r.others[0] + r.others[1]) / 2
		rates[result.NoScanner] = append(rates[result.NoScanner], mean)
		rates[result.ScannerSibling] = append(rates[result.ScannerSibling], r.sibling)
		rates[result.ScannerCore] = append(rates[result.ScannerCore], min(r.others[0], r.others[1]))
		low, high = min(low, r.sibling/mean), max(high, r.sibling/mean)
	}
	s := NewSiblings(record4(rates))
	if s.Decision != SharingHarms || s.Reason != "" {
		t.Errorf("%s, %s", s.Decision, s.Reason)
	}
	if s.Cited.Low != low || s.Cited.High != high || s.Cited.Runs != len(printedRuns) {
		t.Errorf("cited %+v, want %g to %g", s.Cited, low, high)
	}
}

func TestSiblingsDecide(t *testing.T) {
	many := func(mean, spread float64) (out []float64) {
		for b := range 15 {
			out = append(out, 1e6*mean*math.Exp(spread*float64(b%5-2)))
		}
		return out
	}
	gone := func(l result.Scanner) []result.Absent {
		return []result.Absent{{Factor: "scanner", Level: string(l), Reason: "it is not there"}}
	}
	for name, c := range map[string]struct {
		sibling, core []float64
		absent        []result.Absent
		marked        int // runs on the sibling
		want          Sharing
		reason        SharingReason
	}{
		"harm":                       {many(0.4, 0.01), many(0.98, 0.01), nil, 3, SharingHarms, ""},
		"none":                       {many(1, 0.005), many(1, 0.01), nil, 0, SharingHarmless, ""},
		"alike":                      {many(0.5, 0.005), many(0.5, 0.004), nil, 0, SharingOpen, Alike},
		"between the limits":         {many(0.93, 0.002), many(1, 0.01), nil, 0, SharingOpen, Undecided},
		"wide":                       {many(0.9, 0.2), many(1, 0.01), nil, 0, SharingOpen, Undecided},
		"wide against another core":  {many(0.5, 0.01), many(0.53, 0.1), nil, 0, SharingOpen, Undecided},
		"three rounds":               {many(0.4, 0.01)[:3], many(1, 0.01), nil, 0, SharingOpen, FewRounds},
		"contaminated":               {many(0.4, 0.01), many(1, 0.01), nil, 4, SharingOpen, Contaminated},
		"no sibling":                 {nil, many(1, 0.01), gone(result.ScannerSibling), 0, SharingUntestable, NoSibling},
		"no sibling asked for":       {nil, many(1, 0.01), nil, 0, SharingUntestable, NotInStudy},
		"no other core":              {many(0.4, 0.01), nil, gone(result.ScannerCore), 0, SharingOpen, NoOtherCore},
		"no other core, and no harm": {many(1, 0.005), nil, gone(result.ScannerCore), 0, SharingHarmless, ""},
	} {
		x, runs := record4(map[result.Scanner][]float64{result.NoScanner: many(1, 0), result.ScannerSibling: c.sibling,
			result.ScannerCore: c.core}, c.absent...)
		for i := range runs {
			if x.Cells[runs[i].Cell].Levels["scanner"] == "sibling" && c.marked > 0 {
				runs[i].Contaminated, c.marked = "the CPUs moved", c.marked-1
			}
		}
		if s := NewSiblings(x, runs); s.Decision != c.want || s.Reason != c.reason {
			t.Errorf("%s: %s, %q; want %s, %q", name, s.Decision, s.Reason, c.want, c.reason)
		}
	}
	if s := NewSiblings(&result.Experiment{}, nil); s.Decision != SharingUntestable || s.Reason != NotInStudy {
		t.Errorf("without the factor: %+v", s)
	}
}

// Where another factor varies too, each of its levels counts the same.
func TestRoundsAverageOtherFactors(t *testing.T) {
	x := &result.Experiment{}
	var runs []result.Run
	for i, size := range []string{"small", "large"} {
		x.Cells = append(x.Cells, result.Cell{Levels: map[string]string{"scanner": "none", "size": size}})
		for b := range 3 {
			if i == 1 && b == 2 {
				continue // a block that lacks one
			}
			runs = append(runs, result.Run{Block: b, Cell: i, Values: map[string]float64{"lock_rate": math.Exp(float64(10*i +
				b))}})
		}
	}
	got := rounds(x, runs, "lock_rate", "scanner", "none")
	if len(got) != 2 || math.Abs(got[0]-5) > 1e-9 || math.Abs(got[1]-6) > 1e-9 {
		t.Errorf("%v", got)
	}
}
