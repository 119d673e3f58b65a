package lever

import (
	"testing"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

func TestIdle(t *testing.T) {
	const l = Idle
	cold := func(v, lo, hi float64) result.Measurement { return ratio("wakeup.cold.10ms.cpu0", v, lo, hi, 0.01) }
	dear, warm := with(cold(1.5, 1.4, 1.6), "loss", "0.0039"), cold(1.01, 1.0, 1.02)
	both := func(m result.Measurement, late, control float64) []result.Measurement {
		return append(wakes(late, control), m)
	}
	// seconds gives intervals of 0.9 to 1.1 of the value.
	high := func(late, control float64) float64 { return 1e-6 * (1.1*late - 0.9*control) }
	pwr := []check.Result{finding(l, "PWR-020", "medium", "x", "limit it")}
	decisions(t, []decision{
		{name: "cold caches with a deep state", lever: l, facts: metal(), outcomes: ran(both(dear, 60, 1)...), cost: true,
			want: Costs, evidence: result.Measured, says: []string{"up to 1.50x [1.40, 1.60]", "beyond what frequency costs",
				"3.90 ms for each burst", "60.0 us"}, bound: 1 - 0.01/(0.016+high(60, 1)), from: Measured},
		{name: "cold caches, lateness not measured", lever: l, facts: metal(), outcomes: ran(dear), cost: true,
			want: Costs, evidence: result.Measured, bound: 1 - 0.01/(0.016+133e-6), from: Computed},
		{name: "cold caches in development", lever: l, facts: metal(), role: check.Development, outcomes: ran(dear),
			cost: true,
			want: OtherRole, evidence: result.Measured, bound: 1 - 0.01/(0.016+133e-6)},
		{name: "cold caches in a guest", lever: l, facts: guest(), outcomes: ran(dear), cost: true,
			want: Elsewhere, evidence: result.Measured, says: []string{"cause is not known",
				"ask the owner of the kvm hypervisor"}, never: []string{"other tenants"}, bound: -1},
		{name: "cold caches while others ran", lever: l, facts: guest(),
			outcomes: ran(with(cold(1.73, 1.6, 1.9), "disturbed", "the CPU was not idle in 11 of 15 pauses")),
			want:     Elsewhere, evidence: result.Measured, says: []string{"1.73x", "11 of 15 pauses", "repeat when it is quiet"},
			bound: -1},
		{name: "cited latency only", lever: l, facts: metal(), results: pwr,
			want: Recommended, evidence: result.Cited, says: []string{"PWR-020", "limit it"},
			bound: 133e-6 / (133e-6 + 0.010), from: Cited},
		{name: "latency limit keeps C6 out", lever: l, facts: limited(), want: Untested, says: []string{"did not run"},
			bound: 2e-6 / (2e-6 + 0.010), from: Cited},
		{name: "warm caches without a lateness are no answer", lever: l, facts: metal(), outcomes: ran(warm),
			want: undecided, evidence: result.Measured, says: []string{"how late a thread wakes was not measured"},
			bound: 1 - 0.01/(0.0102+133e-6)},
		{name: "warm and prompt", lever: l, facts: metal(), outcomes: ran(both(warm, 4, 1)...),
			want: NoEffect, evidence: result.Measured, says: []string{"4.00 us"}, bound: 1 - 0.01/(0.0102+high(4, 1)),
			from: Measured},
		{name: "warm, wakes 2 ms late", lever: l, facts: &host.Facts{Idle: deepIdle(2e-3)},
			outcomes: ran(both(warm, 2000, 1)...), cost: true,
			want: Costs, evidence: result.Measured, says: []string{"2.00 ms"}, bound: 1 - 0.01/(0.0102+high(2000, 1))},
		{name: "warm, wakes 2 ms late in a guest", lever: l, facts: guest(), outcomes: ran(both(warm, 2000, 1)...),
			cost: true,
			want: Elsewhere, evidence: result.Measured, says: []string{"2.00 ms", "ask the owner of"},
			bound: 1 - 0.01/(0.0102+high(2000, 1))},
		{name: "warm, wakes 60 us late", lever: l, facts: guest(), outcomes: ran(both(warm, 60, 1)...),
			want: Elsewhere, evidence: result.Measured, says: []string{"60.0 us", "how often the work sleeps"},
			bound: 1 - 0.01/(0.0102+high(60, 1))},
		{name: "warm, wakes 60 us late in a guest with haltpoll", lever: l, facts: haltpoll(),
			outcomes: ran(both(warm, 60, 1)...),
			want:     Elsewhere, evidence: result.Measured, says: []string{"the owner of the kvm hypervisor sets it, not this host"}, bound: 1 - 0.01/(0.0102+high(60, 1))},
		{name: "a guest that may enter deep states itself", lever: l, facts: deepGuest(), outcomes: ran(both(warm, 60, 1)...),
			want: undecided, evidence: result.Measured, never: []string{"not this host"}, bound: 1 - 0.01/(0.0102+high(60, 1))},
		{name: "lateness without a control", lever: l, facts: guest(),
			outcomes: ran(warm, seconds("wakeup.latency.p50.cpu0", 4e-6)),
			want:     Elsewhere, evidence: result.Measured, says: []string{"no control"}, bound: -1},
		{name: "late with others on the CPU", lever: l, facts: guest(),
			outcomes: ran(warm, with(seconds("wakeup.latency.p50.cpu0", 4e-6), "awake", "9"),
				seconds("wakeup.latency.floor.cpu0", 1e-6)),
			want: Elsewhere, evidence: result.Measured, says: []string{"other work ran on the CPU in the pauses"},
			bound: 1 - 0.01/(0.0102+high(4, 0))},
		{name: "cold caches are no cost beside others", lever: l, facts: metal(),
			outcomes: ran(append(wakes(4, 1), with(cold(1.2, 1.15, 1.3), "awake", "9"))...),
			want:     undecided, evidence: result.Measured, says: []string{"may have emptied the caches"},
			bound: 1 - 0.01/(0.013+high(4, 1))},
		{name: "a finding is not dismissed by warm caches", lever: l, facts: metal(), outcomes: ran(both(warm, 4, 1)...),
			results: pwr,
			want:    Recommended, evidence: result.Cited, says: []string{"PWR-020", "4.00 us"},
			bound: 1 - 0.01/(0.0102+high(4, 1))},
		{name: "older data without a cold ratio", lever: l, facts: guest(),
			outcomes: ran(ratio("wakeup.mixed.10ms.cpu0", 1.5, 1.4, 1.6, 0.01)),
			want:     Elsewhere, evidence: result.Cited, says: []string{"the wakeup probe measured no value for it"}, bound: -1},
	})
}

// haltpoll is a guest whose states are POLL and a halt, after which the host decides.
func haltpoll() *host.Facts {
	f := guest()
	f.Idle = deepIdle(1e-6)
	return f
}

func deepGuest() *host.Facts {
	f := guest()
	f.Idle = deepIdle(133e-6)
	return f
}

func deepIdle(latency float64) host.Idle {
	return host.Idle{States: []host.IdleState{{Index: 1, Name: host.Known("C6", "", ""),
		Latency: host.Known(latency, "s", ""), CPUs: []int{0, 1}}}}
}
