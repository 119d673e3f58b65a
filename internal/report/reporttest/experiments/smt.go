package experiments

import (
	"math"
	"slices"
	"strings"

	"hostlab/internal/report/effects"
	"hostlab/internal/result"
)

// smt is a study of the workload scanlock on a host with siblings; keeps says what
// the lock thread keeps of its rate beside an antagonist, with the size of a scan, at
// a place.
func smt(name string, seed uint64, keeps func(antagonist, size, place string) float64) *plan {
	levels := []string{"none"}
	for _, place := range []string{"sibling", "core"} {
		for _, what := range []string{"scan-half-l1", "scan-half-l2", "scan", "scan-2xllc", "alu", "fma", "pause", "lock",
			"own"} {
			levels = append(levels, what+"@"+place)
		}
	}
	levels = append(levels, "scan@llc", "rotation")
	var contrasts []result.Contrast
	for _, l := range levels[1:] {
		contrasts = append(contrasts, result.Contrast{Factors: []string{"cell"}, Levels: []string{l},
			Primary: l == "scan@sibling"})
	}
	kept := func(at map[string]string) float64 {
		what, place, ok := strings.Cut(at["cell"], "@")
		switch {
		case what == "rotation":
			return 0.5
		case !ok:
			return 1
		}
		antagonist, size, _ := strings.Cut(what, "-")
		return keeps(antagonist, size, place)
	}
	return &plan{
		omit: func(r string, at map[string]string) bool {
			switch level := at["cell"]; r {
			case "other_rate", "ping_pong":
				return level == "none"
			case "sibling_share":
				return level != "rotation"
			}
			return false
		},
		head: result.Experiment{Name: name, Title: "Hyper-threading: lock-taking threads beside threads that scan",
			BuiltIn: "smt", Study: "004e", Workload: "scanlock", Section: "smt",
			Context: map[string]string{"l1": "32 KiB", "l2": "1 MiB", "llc": "32 MiB", "scan": "2 MiB", "scan_half_l1": "16 KiB",
				"scan_half_l2": "512 KiB", "scan_2xl2": "2 MiB", "scan_2xllc": "64 MiB"},
			Factors: []result.Factor{{Name: "cell", Kind: "parameter", Levels: levels, Baseline: "none", Change: result.Online}},
			Absent: []result.Absent{{Factor: "cell", Level: "scan@socket",
				Reason: "there is no CPU on another socket than CPU 0"}},
			Responses: []result.Response{
				{Name: "lock_rate", Title: "acquisitions", Unit: "1/s", Better: "higher", Compare: result.Ratio, Margin: 0.05,
					Primary: true},
				{Name: "other_rate", Title: "scans", Unit: "1/s", Better: "higher", Compare: result.Ratio, Margin: 0.05},
				{Name: "total_rate", Title: "acquisitions of all", Unit: "1/s", Better: "higher", Compare: result.Ratio,
					Margin: 0.05},
				{Name: "spins_per_lock", Title: "spins per acquisition", Better: "lower", Compare: result.Difference,
					Margin: 0.1},
				{Name: "sibling_share", Title: "Acquisitions of the scanner's sibling over the mean of the others", Unit: "ratio",
					Better: "higher", Compare: result.Ratio, Margin: 0.05},
				{Name: "ping_pong", Title: "Time for a cache line between the two CPUs, one way", Unit: "s", Better: "lower",
					Compare: result.Ratio, Margin: 0.1},
				{Name: "jain", Title: "Jain's index", Better: "higher", Compare: result.Difference, Margin: 0.02}},
			Contrasts: contrasts, Design: result.Design{Kind: "rcbd", Seed: seed, Repeats: 1, Looks: []int{15}}},
		done: 15, ended: "looks", noise: 0.006, void: 61, marked: 97,
		base: map[string]float64{"lock_rate": 386e6, "other_rate": 54.5e3, "total_rate": 386e6, "jain": 1, "sibling_share": 1,
			"ping_pong": 38e-9},
		fluctuate: map[string]float64{"spins_per_lock": 0.01, "jain": 0},
		effect: func(r string, at map[string]string) float64 {
			switch k := kept(at); r {
			case "lock_rate":
				return math.Log(k)
			case "total_rate":
				if strings.HasPrefix(at["cell"], "own") {
					return math.Log(2 * k)
				}
				return math.Log(k)
			case "spins_per_lock":
				return 2 * (1 - k)
			case "sibling_share":
				return math.Log(keeps("scan", "2xllc", "sibling"))
			case "ping_pong":
				if strings.HasSuffix(at["cell"], "sibling") {
					return math.Log(0.3)
				}
			case "other_rate":
				e := 0.0
				if strings.HasSuffix(at["cell"], "sibling") {
					e = math.Log(0.6)
				}
				if !strings.Contains(at["cell"], "scan") {
					e += math.Log(900)
				}
				return e
			}
			return 0
		},
	}
}

// SMTCaches is a host on which a scan on the sibling harms, more the larger it is, and
// a loop of additions hardly.
func SMTCaches() effects.Report {
	p := smt("smt-caches", 41, func(antagonist, size, place string) float64 {
		switch {
		case place != "sibling":
			return 0.985
		case antagonist == "scan":
			return map[string]float64{"half-l1": 0.84, "half-l2": 0.61, "": 0.38, "2xllc": 0.31}[size]
		case antagonist == "own":
			return 0.68
		}
		return 0.93
	})
	return p.build()
}

// SMTSlots is one on which whatever computes on the sibling harms alike.
func SMTSlots() effects.Report {
	p := smt("smt-slots", 42, func(antagonist, _, place string) float64 {
		switch {
		case place != "sibling":
			return 0.99
		case antagonist == "pause":
			return 0.97
		}
		return 0.58
	})
	return p.build()
}

// SMTNone is one on which nothing on the sibling matters.
func SMTNone() effects.Report {
	p := smt("smt-none", 43, func(_, _, place string) float64 {
		if place == "sibling" {
			return 1.01
		}
		return 1
	})
	p.marked = 0
	return p.build()
}

// SMTNoisy is too noisy for a verdict.
func SMTNoisy() effects.Report {
	p := smt("smt-noisy", 44, func(_, _, place string) float64 {
		if place == "sibling" {
			return 0.85
		}
		return 1
	})
	p.noise, p.marked = 0.12, 4
	return p.build()
}

// SMTAlike is one on which a scan costs as much from another core as from the sibling.
func SMTAlike() effects.Report {
	p := smt("smt-alike", 49, func(_, _, _ string) float64 { return 0.5 })
	p.marked = 0
	return p.build()
}

// SMTUntestable is a guest of two CPUs that share no core, as far as it knows. With
// what the study asks about, its primary effect is absent too.
func SMTUntestable() effects.Report {
	p := smt("smt-untestable", 45, func(antagonist, size, _ string) float64 {
		if antagonist == "scan" && size == "2xllc" {
			return 0.91
		}
		return 0.995
	})
	p.leave("core", map[string]string{"sibling": "no CPU shares a core with CPU 0",
		"llc": "the socket of CPU 0 has no second last-level cache"})
	return p.build()
}

// SMTOneCore is a machine of one core with two threads, on which whatever computes on
// the sibling harms.
func SMTOneCore() effects.Report {
	p := smt("smt-one-core", 47, func(antagonist, _, _ string) float64 {
		if antagonist == "scan" {
			return 0.6
		}
		return 0.75
	})
	p.leave("sibling", map[string]string{"core": "no CPU behind the last-level cache of CPU 0 is on another core",
		"llc": "the socket of CPU 0 has no second last-level cache"})
	return p.build()
}

// leave keeps the cells at one place, and says of the others why they are absent.
func (p *plan) leave(place string, why map[string]string) {
	x := &p.head
	f := &x.Factors[0]
	var left []string
	for _, l := range f.Levels {
		_, at, _ := strings.Cut(l, "@")
		if at == "" || at == place {
			left = append(left, l)
		} else {
			x.Absent = append(x.Absent, result.Absent{Factor: f.Name, Level: l, Reason: why[at]})
		}
	}
	f.Levels = left
	x.Contrasts = slices.DeleteFunc(x.Contrasts, func(c result.Contrast) bool { return !slices.Contains(left, c.Levels[0]) })
}

// SMTEmpty has no run yet.
func SMTEmpty() effects.Report {
	p := smt("smt-empty", 46, nil)
	p.done, p.ended = 0, ""
	return p.build()
}
