package lever

import (
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

// pinned is a host whose governor holds the lowest of its P-states.
func pinned() *host.Facts {
	f := metal()
	f.Frequency.Policies = []host.Policy{{CPUs: host.Known([]int{0, 1}, "", ""),
		Driver: host.Known("acpi-cpufreq", "", ""), Governor: host.Known("powersave", "", ""),
		HWMin: host.Known[int64](1_500_000_000, "Hz", ""), HWMax: host.Known[int64](3_000_000_000, "Hz", ""),
		Min: host.Known[int64](1_500_000_000, "Hz", ""), Max: host.Known[int64](3_000_000_000, "Hz", ""),
		PStates: host.Known([]int64{3_000_000_000, 2_000_000_000, 1_500_000_000}, "Hz", "")}}
	return f
}

// change copies pinned and changes its policy.
func change(set func(*host.Policy)) *host.Facts {
	f := pinned()
	set(&f.Frequency.Policies[0])
	return f
}

func free() *host.Facts {
	return change(func(p *host.Policy) { p.Governor = host.Known("performance", "", "") })
}

func capped() *host.Facts {
	return change(func(p *host.Policy) {
		p.Governor = host.Known("performance", "", "")
		p.Max = host.Known[int64](2_400_000_000, "Hz", "")
	})
}

func limitedByFirmware() *host.Facts {
	return change(func(p *host.Policy) {
		p.Governor = host.Known("performance", "", "")
		p.BIOSLimit = host.Known[int64](2_400_000_000, "Hz", "")
	})
}

func pstate() *host.Facts {
	return change(func(p *host.Policy) {
		p.Driver = host.Known("intel_pstate", "", "")
		p.PStates = host.Fact[[]int64]{}
	})
}

func windowsCap() *host.Facts {
	return &host.Facts{Windows: &host.Windows{ThrottleMax: host.Known[int64](60, "%", "")}}
}

func TestFrequency(t *testing.T) {
	const f, db = Clock, result.Measured
	alu := func(v, lo, hi, floor float64) result.Measurement {
		return ratio("wakeup.alu.10ms.cpu0", v, lo, hi, floor)
	}
	slow, same := alu(1.42, 1.31, 1.55, 0.02), alu(1, 0.99, 1.01, 0.01)
	busy := func(hz float64) result.Measurement { return hertz("wakeup.frequency.busy.cpu0", hz) }
	pwr := func(id string) []check.Result {
		return []check.Result{finding(f, id, "high", governor, "cpupower frequency-set -g performance")}
	}
	decisions(t, []decision{
		{name: "penalty beyond noise, governor found", lever: f, facts: metal(), outcomes: ran(slow),
			results: pwr("PWR-001"), cost: true,
			want: Costs, evidence: db, says: []string{"1.42x [1.31, 1.55] as long (n 24)",
				"cpupower frequency-set -g performance"}, bound: 1 - 1/1.55, from: Measured},
		{name: "penalty in a guest without a knob", lever: f, facts: guest(), outcomes: ran(slow), cost: true,
			want: Costs, evidence: db, says: []string{"no knob for it", "the owner of the kvm hypervisor sets it"},
			bound: 1 - 1/1.55},
		{name: "penalty, nothing found", lever: f, facts: metal(), outcomes: ran(slow), cost: true,
			want: Costs, evidence: db, says: []string{"firmware", "hostlab watch"}, bound: 1 - 1/1.55},
		{name: "penalty in development", lever: f, role: check.Development, facts: metal(), outcomes: ran(slow), cost: true,
			want: OtherRole, evidence: db, says: []string{"1.42x", "energy"}, bound: 1 - 1/1.55},
		{name: "penalty on the shortest burst only", lever: f, facts: metal(), cost: true,
			outcomes: ran(slow, ratio("wakeup.alu.100ms.cpu0", 1.02, 0.99, 1.05, 0.02)),
			want:     Costs, evidence: db, says: []string{"longer bursts do not show it"}, bound: 1 - 1/1.55},
		{name: "one of twelve, beyond floor and margin", lever: f, facts: metal(), outcomes: ran(luckyTwelve()...),
			cost: true,
			want: Costs, evidence: db, says: []string{"1 of 12 comparisons show it"}, bound: 1 - 1/1.2},
		{name: "interval contains 1", lever: f, facts: metal(), outcomes: ran(alu(1.1, 0.98, 1.2, 0.01)),
			want: undecided, evidence: db, says: []string{"95 % confidence interval includes 1",
				"hostlab assess --role production-db"}, bound: 1 - 1/1.2},
		{name: "penalty below the floor", lever: f, facts: metal(), outcomes: ran(alu(1.1, 1.06, 1.14, 0.2)),
			want: undecided, evidence: db, says: []string{"noise"}, bound: 1 - 1/1.14},
		{name: "no noise floor", lever: f, facts: metal(), outcomes: ran(alu(1.5, 1.4, 1.6, nan)),
			want: undecided, evidence: db, says: []string{"no noise floor"}, bound: 1 - 1/1.6},
		{name: "no interval", lever: f, facts: metal(), outcomes: ran(alu(1.5, nan, nan, 0.01)),
			want: undecided, evidence: db, says: []string{"too few rounds"}, bound: -1},
		{name: "certain but under the margin", lever: f, facts: guest(), outcomes: ran(alu(1.03, 1.02, 1.04, 0.005)),
			want: NoEffect, evidence: db, says: []string{"at most 1.04x as long", "This test cannot see a permanent cap"},
			bound: 1 - 1/1.04},
		{name: "certain, straddles the margin", lever: f, facts: metal(), outcomes: ran(alu(1.05, 1.03, 1.08, 0.005)),
			cost: true,
			want: undecided, evidence: db, says: []string{"less than 5 %"}, bound: 1 - 1/1.08},
		{name: "too noisy for no effect", lever: f, facts: metal(), outcomes: ran(alu(1, 0.99, 1.01, 0.2)),
			want: undecided, evidence: db, bound: 1 - 1/1.01},
		{name: "faster after the pause", lever: f, facts: guest(), outcomes: ran(alu(0.6, 0.5, 0.7, 0.02)),
			want: Elsewhere, evidence: db, says: []string{"faster after the pause (0.60x [0.50, 0.70])",
				"measurement is wrong"}, bound: -1},
		{name: "faster in one comparison", lever: f, facts: guest(),
			outcomes: ran(same, ratio("wakeup.alu.10ms.cpu1", 0.6, 0.5, 0.7, 0.02)),
			want:     Elsewhere, evidence: db, bound: -1},
		{name: "never idle", lever: f, facts: guest(), outcomes: ran(with(same, "disturbed",
			"the CPU was not idle in 15 of 15 pauses")),
			want: Elsewhere, evidence: db, says: []string{"not idle in 15 of 15 pauses"}, bound: -1},
		{name: "penalty while disturbed", lever: f, facts: metal(),
			outcomes: ran(with(alu(1.42, 1.31, 1.55, 0.02), "disturbed", "the CPU was not idle in 9 of 12 pauses")),
			want:     undecided, evidence: db, says: []string{"9 of 12"}, bound: -1},
		{name: "one CPU disturbed, one quiet", lever: f, facts: guest(),
			outcomes: ran(alu(1, 0.99, 1.01, 0.01), with(ratio("wakeup.alu.10ms.cpu1", 1, 0.99, 1.01, 0.01), "disturbed",
				"the CPU was not idle in 9 of 12 pauses")),
			want: Elsewhere, evidence: db, says: []string{"9 of 12"}, bound: -1},
		// 10 of 24 pauses of an idle CPU are at least 22 % of all (Clopper and Pearson), 23 of 24 at least 79 %.
		{name: "hardly any pause", lever: f, facts: metal(), outcomes: beside(with(alu(1, 0.99, 1.03, 0.01), "awake", "24")),
			want: undecided, evidence: db, says: []string{"the CPU was idle in only 0 of 24 pauses"}, bound: 1 - 1/1.03},
		{name: "few pauses", lever: f, facts: metal(), outcomes: beside(with(alu(1, 0.99, 1.02, 0.01), "awake", "14")),
			want: undecided, evidence: db, says: []string{"idle in only 10 of 24 pauses"},
			bound: 1 - 1/(1+0.02/0.22109690534667847)},
		{name: "nearly all pauses", lever: f, facts: metal(), outcomes: beside(with(alu(1, 0.99, 1.02, 0.01), "awake", "1")),
			want: NoEffect, evidence: db, says: []string{"while other work took 63 % of the CPUs"},
			bound: 1 - 1/(1+0.02/0.7887983165430231)},
		{name: "at least a cost", lever: f, facts: metal(), outcomes: beside(with(alu(1.42, 1.31, 1.55, 0.02), "awake",
			"14")), cost: true,
			want: Costs, evidence: db, bound: 1 - 1/1.55},
		{name: "no pause of an idle CPU", lever: f, facts: metal(),
			outcomes: beside(with(alu(1.08, 1.04, 1.11, 0.01), "awake", "24")), want: undecided, evidence: db,
			says: []string{"the CPU was idle in only 0 of 24 pauses"}, bound: 1 - 1/1.11},
		{name: "reference still ramping", lever: f, facts: guest(),
			outcomes: ran(with(alu(1, 0.99, 1.01, 0.01), "ramping", "true")),
			want:     Elsewhere, evidence: db, says: []string{"still getting faster"}, bound: -1},
		{name: "penalty with a ramping reference", lever: f, facts: metal(),
			outcomes: ran(with(alu(1.42, 1.31, 1.55, 0.02), "ramping", "true")), cost: true,
			want: Costs, evidence: db, says: []string{"may be more"}, bound: -1},

		// A clock that is always low shows nothing in a ratio of a CPU with itself.
		{name: "pinned at its lowest, found", lever: f, facts: pinned(), outcomes: ran(same, busy(1.49e9)),
			results: pwr("PWR-001"),
			want:    Recommended, evidence: result.Cited, says: []string{"PWR-001",
				"holds the clock at its lowest, 1.50 GHz of 3.00 GHz", "this test cannot see a permanent cap", "cpupower"},
			never: []string{"nothing that matters", "takes at most"}, bound: 1 - 0.5/1.01, from: Computed},
		{name: "pinned, nothing measured", lever: f, facts: pinned(), outcomes: skipped("wakeup", "interrupted"),
			results: pwr("PWR-001"),
			want:    Recommended, evidence: result.Cited, says: []string{"interrupted"}, bound: 0.5, from: Computed},
		{name: "pinned, a penalty on top", lever: f, facts: pinned(), outcomes: ran(slow), results: pwr("PWR-001"),
			cost: true,
			want: Costs, evidence: db, bound: 1 - 0.5/1.55, from: Computed},
		{name: "pinned in development", lever: f, facts: pinned(), role: check.Development, outcomes: ran(same),
			want: OtherRole, evidence: db, says: []string{"1.50 GHz of 3.00 GHz", "energy"}, bound: 1 - 0.5/1.01,
			from: Computed},
		{name: "capped, no check found it", lever: f, facts: capped(), outcomes: ran(same, busy(2.39e9)),
			want: undecided, evidence: db, says: []string{"scaling_max_freq", "2.40 GHz of 3.00 GHz"}, bound: 1 - 0.8/1.01,
			from: Computed},
		{name: "power plan with a cap", lever: f, facts: windowsCap(), outcomes: ran(same), results: pwr("PWR-010"),
			want: Recommended, evidence: result.Cited, says: []string{"60 %"}, bound: 1 - 0.6/1.01, from: Computed},
		{name: "powersave under intel_pstate is an algorithm", lever: f, facts: pstate(),
			outcomes: ran(same, busy(2.95e9)), results: pwr("PWR-002"),
			want: Recommended, evidence: result.Cited, never: []string{"lowest"}, bound: -1},
		{name: "an EPP that is found is never dismissed", lever: f, facts: free(), outcomes: ran(same, busy(2.95e9)),
			results: pwr("PWR-003"),
			want:    Recommended, evidence: result.Cited, says: []string{"this test cannot see a permanent cap"}, bound: -1},
		{name: "full clock, nothing found", lever: f, facts: free(), outcomes: ran(same, busy(2.9e9)),
			want: NoEffect, evidence: db, never: []string{"cap"}, bound: 1 - 1/1.01, from: Measured},
		{name: "the clock stays under its maximum", lever: f, facts: free(), outcomes: ran(same, busy(1.5e9)),
			want: undecided, evidence: db, says: []string{"about 1.50 GHz of the 3.00 GHz", "permanent cap"},
			bound: 1 - 0.5/1.01, from: Computed},
		{name: "the firmware caps it", lever: f, facts: limitedByFirmware(), outcomes: ran(same),
			want: Elsewhere, evidence: db, says: []string{"the firmware caps the clock at 2.40 GHz of 3.00 GHz",
				"the firmware sets it, not this host"}, bound: 1 - 0.8/1.01, from: Computed},
		{name: "maximum known, clock not measured", lever: f, facts: free(),
			outcomes: ran(same, unknown("wakeup.frequency.busy.cpu0", "no round")),
			want:     undecided, evidence: db, says: []string{"permanent cap"}, bound: 1 - 1/1.01},

		{name: "undecided, finding", lever: f, facts: metal(), outcomes: ran(alu(1.1, 0.98, 1.2, 0.01)),
			results: pwr("PWR-001"),
			want:    Recommended, evidence: result.Cited, says: []string{"decides nothing"}, bound: -1},
		{name: "skipped, all checks pass", lever: f, facts: metal(), outcomes: skipped("wakeup", "interrupted"),
			results: []check.Result{answer(f, check.OK)},
			want:    Settled, evidence: result.Cited, says: []string{"nothing to change", "interrupted"}, bound: -1},
		{name: "skipped, info finding only", lever: f, facts: metal(),
			results: []check.Result{finding(f, "PWR-009", "info", "x", "do")},
			want:    Settled, evidence: result.Cited, bound: -1},
		{name: "skipped, check could not look", lever: f, facts: metal(), results: []check.Result{answer(f, check.Unknown)},
			want: Untested, says: []string{"could not look", "check --explain CHK-unknown"}, bound: -1},
		{name: "a guest, nothing measured", lever: f, facts: guest(), outcomes: skipped("wakeup", "interrupted"),
			want: Elsewhere, evidence: result.Cited, says: []string{"the owner of the kvm hypervisor sets it, not this host",
				"not measured: interrupted", "ask the owner"}, bound: -1},
		{name: "a machine without a driver", lever: f, facts: &host.Facts{Virt: host.Virt{Hypervisor: host.Known("none",
			"", "")}}, outcomes: ran(alu(1.1, 0.98, 1.2, 0.01)),
			want: Elsewhere, evidence: db, says: []string{"the firmware sets it, not this host",
				"power profile in the firmware's setup"}, bound: 1 - 1/1.2},
		{name: "nothing at all", lever: f, want: Untested, says: []string{"hostlab assess"}, bound: -1},
	})
}
