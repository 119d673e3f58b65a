package pages

import (
	"math"
	"slices"

	"hostlab/internal/report/effects"
	"hostlab/internal/result"
)

// smt is a study of the workload scanlock on a host with siblings; keeps says what
// the lock thread keeps of its rate beside a scanner.
func smt(name string, seed uint64, keeps func(result.Scanner) float64) *plan {
	var levels []string
	var contrasts []result.Contrast
	for _, l := range result.Scanners {
		levels = append(levels, string(l))
		if l != result.NoScanner {
			contrasts = append(contrasts, result.Contrast{Factors: []string{"scanner"}, Levels: []string{string(l)},
				Primary: l == result.ScannerSibling})
		}
	}
	kept := func(at map[string]string) float64 {
		if at["scanner"] == string(result.NoScanner) {
			return 1
		}
		return keeps(result.Scanner(at["scanner"]))
	}
	return &plan{
		omit: func(r string, at map[string]string) bool {
			return r == "scan_rate" && at["scanner"] == "none" || r == "sibling_share" && at["scanner"] != "rotation"
		},
		head: result.Experiment{Name: name, Title: "Hyper-threading: lock-taking threads beside threads that scan",
			BuiltIn: "smt", Study: "004e", Workload: "scanlock", Section: "smt",
			Machine: &result.Machine{CPUs: 8, Cores: 4, Victim: new(0), Scan: 2 << 20,
				Scanner: map[string]int{"sibling": 4, "core": 1, "same": 0}},
			Factors: []result.Factor{{Name: "scanner", Kind: "parameter", Levels: levels, Baseline: "none",
				Change: result.Online}},
			Responses: []result.Response{
				{Name: "lock_rate", Title: "acquisitions", Unit: "1/s", Better: "higher", Compare: result.Ratio, Margin: 0.05,
					Primary: true},
				{Name: "scan_rate", Title: "scans", Unit: "1/s", Better: "higher", Compare: result.Ratio, Margin: 0.05},
				{Name: "sibling_share", Title: "Acquisitions of the scanner's sibling over the mean of the others", Unit: "ratio",
					Better: "higher", Compare: result.Ratio, Margin: 0.05}},
			Contrasts: contrasts, Design: result.Design{Kind: "rcbd", Seed: seed, Repeats: 1, Looks: []int{15}}},
		done: 15, ended: "looks", noise: 0.006, void: 61, marked: 37,
		base: map[string]float64{"lock_rate": 386e6, "scan_rate": 54.5e3, "sibling_share": 1},
		effect: func(r string, at map[string]string) float64 {
			switch {
			case r == "lock_rate":
				return math.Log(kept(at))
			case r == "sibling_share":
				return math.Log(keeps(result.ScannerSibling))
			case at["scanner"] == "sibling":
				return math.Log(0.6)
			}
			return 0
		},
	}
}

// SMTHarm is a host on which a scan on the sibling harms.
func SMTHarm() effects.Report {
	p := smt("smt-harm", 41, func(at result.Scanner) float64 {
		return map[result.Scanner]float64{result.ScannerSibling: 0.38, result.ScannerCore: 0.985, result.ScannerSame: 0.49,
			result.Rotation: 0.3}[at]
	})
	return p.build()
}

// SMTNone is one on which nothing on the sibling matters.
func SMTNone() effects.Report {
	p := smt("smt-none", 43, func(result.Scanner) float64 { return 1.01 })
	p.marked = 0
	return p.build()
}

// SMTNoisy is too noisy for a verdict.
func SMTNoisy() effects.Report {
	p := smt("smt-noisy", 44, func(at result.Scanner) float64 {
		if at == result.ScannerSibling {
			return 0.85
		}
		return 1
	})
	p.noise, p.marked = 0.12, 4
	return p.build()
}

// SMTAlike is one on which a scan costs as much from another core as from the sibling.
func SMTAlike() effects.Report {
	p := smt("smt-alike", 49, func(result.Scanner) float64 { return 0.5 })
	p.marked = 0
	return p.build()
}

// SMTUntestable is a guest of two CPUs that share no core, as far as it knows. With
// what the study asks about, its primary effect is absent too.
func SMTUntestable() effects.Report {
	p := smt("smt-untestable", 45, func(result.Scanner) float64 { return 0.995 })
	p.leave(result.ScannerSibling, "no CPU shares a core with CPU 0")
	return p.build()
}

// SMTOneCore is a machine of one core with two threads, on which a scan on the sibling harms.
func SMTOneCore() effects.Report {
	p := smt("smt-one-core", 47, func(result.Scanner) float64 { return 0.6 })
	p.leave(result.ScannerCore, "no other core shares the last-level cache of CPU 0")
	return p.build()
}

// leave takes a level out of the design.
func (p *plan) leave(level result.Scanner, why string) {
	x := &p.head
	f := &x.Factors[0]
	x.Absent = append(x.Absent, result.Absent{Factor: f.Name, Level: string(level), Reason: why})
	f.Levels = slices.DeleteFunc(f.Levels, func(l string) bool { return l == string(level) })
	x.Contrasts = slices.DeleteFunc(x.Contrasts, func(c result.Contrast) bool { return c.Levels[0] == string(level) })
}

// SMTEmpty has no run yet.
func SMTEmpty() effects.Report {
	p := smt("smt-empty", 46, nil)
	p.done, p.ended = 0, ""
	return p.build()
}
