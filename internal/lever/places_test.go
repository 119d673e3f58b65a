package lever

import (
	"strings"
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

func rate(name string, v float64) result.Measurement {
	m := seconds(name, v)
	m.Unit = "1/s"
	return m
}

func TestSiblings(t *testing.T) {
	const l = SMT
	sib := func(v, lo, hi, floor float64) result.Measurement {
		return ratio("siblings.harm.sibling", v, lo, hi, floor)
	}
	other := ratio("siblings.harm.other", 0.98, 0.96, 1.0, 0.02)
	decisions(t, []decision{
		{name: "sibling harms", lever: l, facts: metal(), cost: true,
			outcomes: ran(sib(0.55, 0.5, 0.6, 0.02), other, rate("siblings.scans.sibling", 50e3),
				rate("siblings.acquisitions.sibling", 200e6),
				rate("siblings.scans.other", 54e3), rate("siblings.acquisitions.other", 370e6)),
			want: Costs, evidence: result.Measured, says: []string{"0.55x [0.50, 0.60]", "different cores",
				"50.0 k/s scans and 200 M/s locks", "54.0 k/s"}, bound: 0.5},
		{name: "other core harms alike", lever: l, facts: metal(), cost: true,
			outcomes: ran(sib(0.55, 0.5, 0.6, 0.02), ratio("siblings.harm.other", 0.56, 0.5, 0.62, 0.02)),
			want:     undecided, evidence: result.Measured, says: []string{"another core"}, bound: 0.5},
		{name: "other core not measured", lever: l, facts: metal(), cost: true, outcomes: ran(sib(0.55, 0.5, 0.6, 0.02)),
			want: undecided, evidence: result.Measured, says: []string{"was not measured"}, bound: 0.5},
		{name: "other core disturbed", lever: l, facts: metal(), cost: true,
			outcomes: ran(sib(0.55, 0.5, 0.6, 0.02), with(ratio("siblings.harm.other", 0.98, 0.96, 1.0, 0.02), "disturbed",
				"others ran in 4 of 9 rounds")),
			want: undecided, evidence: result.Measured, says: []string{"4 of 9"}, bound: 0.5},
		{name: "sibling disturbed", lever: l, facts: metal(), outcomes: ran(with(sib(0.55, 0.5, 0.6, 0.02), "disturbed",
			"others ran in 4 of 9 rounds"), other),
			want: undecided, evidence: result.Measured, says: []string{"4 of 9"}, bound: -1},
		{name: "sibling harmless", lever: l, facts: metal(), outcomes: ran(sib(1, 0.98, 1.01, 0.02)),
			want: NoEffect, evidence: result.Measured, bound: 1 - 0.98},
		{name: "noisy before harm", lever: l, facts: metal(), outcomes: ran(sib(0.5, 0.45, 0.55, 0.2), other),
			want: undecided, evidence: result.Measured, says: []string{"too noisy"}, bound: -1},
		{name: "no siblings", lever: l, facts: guest(), outcomes: ran(unknown("siblings.harm.sibling",
			"no two CPUs share a core")),
			results: []check.Result{answer(l, check.OK)},
			want:    Untested, says: []string{"no two CPUs share a core"}, never: []string{"untestable"}, bound: -1},
	})
}

func TestDegree(t *testing.T) {
	const l = Degree
	eff := func(d string, v, lo, hi float64) result.Measurement {
		return ratio("degree.efficiency."+d, v, lo, hi, 0.01)
	}
	quota := func(m result.Measurement) result.Measurement { return with(m, "quota", "1.5") }
	decisions(t, []decision{
		{name: "slower at all CPUs than at some", lever: l, facts: metal(), cost: true,
			outcomes: ran(eff("2", 0.95, 0.93, 0.97), eff("4", 0.4, 0.38, 0.42)),
			want:     Costs, evidence: result.Measured, says: []string{"4 CPUs did the work of 1.6 [1.5, 1.7]", "MAXDOP 2"},
			bound: 0.62},
		{name: "slower at all CPUs than alone", lever: l,
			facts: &host.Facts{Databases: []host.Database{{Kind: "postgresql"}}}, cost: true,
			outcomes: ran(eff("2", 0.4, 0.38, 0.42)),
			want:     Costs, evidence: result.Measured, says: []string{"faster at degree 1",
				"max_parallel_workers_per_gather = 0"}, bound: 0.62},
		{name: "poor efficiency, still faster", lever: l, facts: metal(), cost: true,
			outcomes: ran(eff("2", 0.95, 0.93, 0.97), eff("4", 0.5, 0.45, 0.55)),
			want:     undecided, evidence: result.Measured, says: []string{"4 CPUs did the work of 2.0", "still gains"},
			bound: 0.55},
		{name: "no gain shown", lever: l, facts: metal(), cost: true, outcomes: ran(eff("2", 0.465, 0.385, 0.515)),
			want: undecided, evidence: result.Measured, says: []string{"0.93x [0.77, 1.03] the speed of one CPU: no gain shown"}, never: []string{"still gains"}, bound: 1 - 0.385},
		{name: "good efficiency", lever: l, facts: metal(), outcomes: ran(eff("2", 1, 0.98, 1.01)),
			want: NoEffect, evidence: result.Measured, says: []string{"2 CPUs did the work of 2.0 [2.0, 2.0]"}, bound: 1 - 0.98},
		{name: "efficiency unclear", lever: l, facts: metal(), outcomes: ran(eff("2", 0.9, 0.7, 1.05)),
			want: undecided, evidence: result.Measured, says: []string{"95 % confidence interval includes 1"}, bound: 1 - 0.7},
		{name: "a busy host", lever: l, facts: metal(), outcomes: ran(with(eff("2", 0.26, 0.25, 0.28), "disturbed",
			"others took 48 % of the CPUs in 30 of 38 rounds")),
			want: undecided, evidence: result.Measured, says: []string{"48 %"},
			never: []string{"still gains", "faster at degree 1"}, bound: -1},
		{name: "a quota that stopped it", lever: l, facts: metal(), cost: true,
			outcomes: ran(with(quota(eff("2", 0.4, 0.38, 0.42)), "throttled", "7 of 12")),
			want:     undecided, evidence: result.Measured, says: []string{"the CPU quota is 1.5 CPUs; it throttled 7 of 12 periods"}, bound: 0.62},
		{name: "a quota without a count", lever: l, facts: metal(), cost: true,
			outcomes: ran(quota(eff("2", 0.67, 0.64, 0.7))),
			want:     undecided, evidence: result.Measured, says: []string{"the CPU quota is 1.5 CPUs", "not known"},
			never: []string{"throttled"}, bound: 1 - 0.64},
		{name: "a quota and its finding", lever: l, facts: metal(), cost: true,
			outcomes: ran(with(quota(eff("2", 0.67, 0.64, 0.7)), "throttled", "7 of 12")),
			results:  []check.Result{finding(l, "VIR-004", "medium", "x", "raise it")},
			want:     Recommended, evidence: result.Cited, says: []string{"VIR-004", "7 of 12", "raise it"}, bound: 1 - 0.64},
		{name: "one CPU", lever: l, facts: guest(), outcomes: ran(eff("1", 1, 1, 1)),
			want: Untested, says: []string{"one CPU"}, bound: -1},
	})
}

// assess finds a database by itself where that listens on a socket file.
func TestLogShare(t *testing.T) {
	for kind, command := range map[string]string{"postgresql": "assess --only service --for",
		"mariadb": "assess --only service --for", "mysql": "assess --only service --for",
		"oracle": "assess --only service --dsn DSN --for", "hana": "assess --only service --dsn DSN --for"} {
		in := input{facts: &host.Facts{Databases: []host.Database{{Kind: "unheard of"}, {Kind: kind}}}}
		if got := in.logShare(); !strings.HasPrefix(got.Command, "hostlab "+command) {
			t.Errorf("%s: %s", kind, got)
		}
	}
}

func TestLogDevice(t *testing.T) {
	const l = Log
	in := func(class string) *host.Facts {
		return &host.Facts{Storage: []host.Storage{{Purpose: "log-dir", Class: host.Known(class, "", "")}}}
	}
	commits := with(with(seconds("commit.overwritten.p50", 53e-6), "commits", "5000"), "seconds", "11.2")
	fresh, mem := seconds("commit.p50", 80e-6), seconds("commit.memory.p50", 4e-6)
	gain := ratio("commit.gain", 0.05, 0.04, 0.06, 0.01)
	fast := ratio("commit.gain", 1, 0.98, 1.02, 0.01)
	decisions(t, []decision{
		{name: "slow commits", lever: l, facts: guest(), outcomes: ran(fresh, mem, gain),
			want: undecided, evidence: result.Measured, says: []string{"80.0 us [72.0, 88.0] into newly allocated blocks",
				"hostlab assess --only service --dsn DSN --for 5m", "while the job runs"}, bound: 0.96},
		{name: "a recycled log counts", lever: l, facts: guest(), outcomes: ran(fresh, commits, mem, gain),
			want: undecided, evidence: result.Measured, says: []string{"53.0 us", "5000 commits in 11.2 s, n 24 independent",
				"recycled"}, bound: 0.96, from: Measured},
		{name: "the mean and its tail first", lever: l, facts: guest(),
			outcomes: ran(seconds("commit.overwritten.mean", 100e-6), seconds("commit.overwritten.p99", 900e-6), commits, mem,
				seconds("commit.memory.mean", 4e-6), gain),
			want: undecided, evidence: result.Measured, says: []string{"a commit into a recycled log takes 100 us [90.0, 110] on average, 900 us [810, 990] at the 99th percentile and 53.0 us at the median"}, bound: 1 - 4./110, from: Measured},
		{name: "slow commits, PostgreSQL", lever: l, facts: &host.Facts{Databases: []host.Database{{Kind: "postgresql"}}},
			outcomes: ran(fresh, mem),
			want:     undecided, evidence: result.Measured, says: []string{"hostlab assess --only service --for 5m"}, bound: 0.95,
			from: Computed},
		{name: "memory is hundreds of times as fast", lever: l, facts: guest(),
			outcomes: ran(fresh, seconds("commit.memory.p50", 0.24e-6)),
			want:     undecided, evidence: result.Measured, bound: 0.997, why: "half of the commits take under 80.0 us"},
		{name: "commits as in memory", lever: l, facts: in(host.ClassPmem),
			outcomes: ran(seconds("commit.p50", 4e-6), mem, fast),
			want:     NoEffect, evidence: result.Measured, bound: 1 - 0.98},
		{name: "as in memory without an interval", lever: l, facts: in(host.ClassPmem),
			outcomes: ran(seconds("commit.p50", 4e-6), mem, ratio("commit.gain", 1, nan, nan, 0.01)),
			want:     undecided, evidence: result.Measured, bound: 0},
		{name: "the log is in memory, no check says so", lever: l, facts: in(host.ClassMemory),
			outcomes: ran(seconds("commit.p50", 4e-6), mem, fast),
			want:     undecided, evidence: result.Measured, says: []string{"in memory", "do not survive", "--log-dir"},
			never: []string{"no device can do better"}, bound: -1},
		{name: "the log is in memory, found", lever: l, facts: in(host.ClassMemory),
			outcomes: ran(seconds("commit.p50", 4e-6), mem, fast),
			results:  []check.Result{finding(l, "STO-006", "high", "x", "move it")},
			want:     Recommended, evidence: result.Cited, says: []string{"STO-006", "move it"},
			never: []string{"no device can do better"}, bound: -1},
		{name: "disturbed", lever: l, facts: in(host.ClassNVMe), outcomes: ran(with(seconds("commit.p50", 80e-6),
			"disturbed", "others wrote in 3 of 8 rounds"), mem, gain),
			want: undecided, evidence: result.Measured, says: []string{"3 of 8"}, bound: -1},
		{name: "a setting is advised, its gain is not the bound", lever: l, facts: in(host.ClassVirtual),
			outcomes: ran(fresh, mem, gain),
			results:  []check.Result{finding(l, "STO-001", "medium", "x", "echo none > scheduler")},
			want:     Recommended, evidence: result.Cited, says: []string{"STO-001", "80.0 us"}, bound: 0.96},
		{name: "no tmpfs", lever: l, facts: guest(), outcomes: ran(fresh),
			want: undecided, evidence: result.Measured, bound: -1},
		{name: "commits of an application server", lever: l, facts: guest(), role: check.ProductionApp,
			outcomes: ran(fresh, mem),
			want:     OtherRole, evidence: result.Measured, says: []string{"database server"}, bound: 0.95},
		{name: "commit skipped", lever: l, facts: guest(), outcomes: skipped("commit", "no space left in /db"),
			results: []check.Result{finding(l, "STO-001", "medium", "x", "mount it otherwise")},
			want:    Recommended, evidence: result.Cited, says: []string{"no space left in /db", "mount it otherwise"},
			bound: -1},
	})
}
