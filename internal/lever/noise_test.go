package lever

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/testkit"
)

// Whatever was measured, no lever is worthwhile whose deciding interval does not
// exclude no effect by more than the noise floor and the margin, or that was
// disturbed; nothing disturbed has no effect; no frequency finding and no lateness that was not
// measured is dismissed; and a bound is a share.
func TestNeverWorthwhileWithinNoise(t *testing.T) {
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
		names := []string{"wakeup.alu.10ms.cpu0", "wakeup.alu.30ms.cpu0", "wakeup.cold.10ms.cpu0", "siblings.harm.sibling",
			"siblings.harm.other", "commit.p50", "commit.overwritten.p50", "commit.memory.p50", "commit.gain",
			"degree.efficiency.2", "degree.efficiency.4",
			"wakeup.latency.p50.cpu0", "wakeup.latency.floor.cpu0"}
		number := rapid.OneOf(rapid.Float64Range(0.001, 3), rapid.Just(nan))
		var ms []result.Measurement
		for _, n := range names {
			v := rapid.Float64Range(0.01, 3).Draw(t, n)
			lo, hi, floor := number.Draw(t, "below"), number.Draw(t, "above"), number.Draw(t, "floor")
			m := ratio(n, v, v/(1+lo), v*(1+hi), floor)
			switch rapid.IntRange(0, 9).Draw(t, "kind") {
			case 0:
				m.Estimate = nil
			case 1:
				if m = with(m, "disturbed", "others ran in 9 of 12 rounds"); m.Probe == "wakeup" {
					m.Labels.Disturbed, m.Labels.Awake = "", rapid.IntRange(1, m.Estimate.N).Draw(t, "awake")
				}
			case 2:
				m = with(m, "ramping", "true")
			}
			ms = append(ms, m)
		}
		facts := rapid.SampledFrom([]*host.Facts{nil, metal(), guest(), pinned(), capped()}).Draw(t, "facts")
		role := rapid.SampledFrom(check.Roles).Draw(t, "role")
		var results []check.Result
		if rapid.Bool().Draw(t, "found") {
			results = []check.Result{finding(Clock, "PWR-001", "high", governor, "do")}
		}
		drafts := newInput(role, facts, results, ran(ms...)).judge()
		for _, l := range drafts {
			if l.bound.AtMost != nil && !(*l.bound.AtMost >= 0 && *l.bound.AtMost <= 1) {
				t.Fatalf("%s: bound %v", l.name, *l.bound.AtMost)
			}
			spoiled := l.measurement != nil && l.measurement.Labels.Disturbed != ""
			if spoiled && (l.reason == NoEffect || l.cost) {
				t.Fatalf("%s: %s, cost %v, though disturbed", l.name, l.reason, l.cost)
			}
			if m := l.measurement; m != nil && m.Labels.Awake > 0 && l.cost && m.Kind != probe.WakeALU {
				t.Fatalf("%s costs, though others may be the cause: %s", l.name, l.text)
			}
			if m := l.measurement; m != nil && m.Labels.Awake > 20 && l.reason == NoEffect {
				t.Fatalf("%s has no effect, though the CPU was idle in %d of %d pauses", l.name, m.Estimate.N-m.Labels.Awake,
					m.Estimate.N)
			}
			if l.reason == NoEffect && (l.name == Clock && (results != nil || l.held != "") ||
				l.name == Idle && !(&input{measured: ms}).lateness().complete) {
				t.Fatalf("%s is dismissed with a finding, a held clock or no lateness: %s", l.name, l.text)
			}
			if l.reason != Costs {
				continue
			}
			if role == check.Development && (l.name == Clock || l.name == Idle) {
				t.Fatalf("%s is advised in development", l.name)
			}
			m := l.measurement
			if m == nil || !m.Known() || !m.Estimate.HasInterval() || spoiled || !l.cost {
				t.Fatalf("%s is worthwhile without an interval, or disturbed, or without a cost", l.name)
			}
			switch m.Kind {
			case probe.LateMedian:
				if f := (&input{measured: ms}).first(probe.LateControl); !(m.Estimate.Low-f.Estimate.Value > Margin*burst) {
					t.Fatalf("%s is worthwhile with %s over %s", l.name, Figure(m), Figure(f))
				}
			default:
				up, down := m.Estimate.Low-1, 1-m.Estimate.High
				if m.Unit == "ratio" && l.name == Degree {
					down = 1/m.Estimate.High - 1
				}
				if !(max(up, down) > m.NoiseFloor || l.name == Degree && 1-m.Estimate.High > m.NoiseFloor) ||
					!(max(up, down) > Margin) {
					t.Fatalf("%s is worthwhile with %s and a floor of %v", l.name, Figure(m), m.NoiseFloor)
				}
			}
		}
		brief(t, headline(role, drafts))
	})
}

// noise is how a host scatters the times of equal work.
type noise struct {
	name     string
	sd       float64 // of the logarithm
	outliers float64 // share of samples that take up to 3 times as long
	drift    float64 // of the whole host from round to round, sd of the logarithm
}

var hosts = []noise{
	{"quiet", 0.005, 0, 0}, {"usual", 0.02, 0.05, 0}, {"drifting", 0.02, 0.05, 0.1},
	{"stalling", 0.03, 0.25, 0}, {"noisy", 0.1, 0.05, 0.05}, {"wild", 0.3, 0.1, 0},
}

func (h noise) sample(rng *rand.Rand) float64 {
	z := math.Exp(h.sd * rng.NormFloat64())
	if rng.Float64() < h.outliers {
		z *= 1 + 2*rng.Float64()
	}
	return z
}

// compare simulates a wake-up comparison of n rounds with its own A/A.
func (h noise) compare(rng *rand.Rand, name string, n int, effect float64) result.Measurement {
	var busy, again, after []float64
	for range n {
		host := math.Exp(h.drift * rng.NormFloat64())
		busy, again = append(busy, host*h.sample(rng)), append(again, host*h.sample(rng))
		after = append(after, effect*host*h.sample(rng))
	}
	iv := stats.PairedRatio(after, busy, 0.05)
	return ratio(name, iv.Value, iv.Low, iv.High, stats.Floor(stats.PairedRatio(again, busy, 0.05)))
}

// share simulates many runs on a host and says how often the frequency or idle
// lever is worthwhile.
func (h noise) share(seed uint64, cpus int, effect float64) float64 {
	runs := testkit.Times(300, 100)
	rng := rand.New(rand.NewPCG(seed, 7))
	hits := 0
	for range runs {
		var ms []result.Measurement
		for cpu := range cpus {
			for _, slice := range []string{"10", "30", "100"} {
				ms = append(ms, h.compare(rng, fmt.Sprintf("wakeup.alu.%sms.cpu%d", slice, cpu), 12, effect),
					h.compare(rng, fmt.Sprintf("wakeup.cold.%sms.cpu%d", slice, cpu), 12, 1))
			}
		}
		for _, l := range platform(check.ProductionDB, metal(), nil, ran(ms...)) {
			if l.Verdict == Worthwhile {
				hits++
				break
			}
		}
	}
	return float64(hits) / float64(runs)
}

// A host without any effect is told to change something in fewer than 5 % of
// runs, though the worst of up to 24 comparisons decides; and a penalty of 15 %
// is found on a usual host.
func TestNullHosts(t *testing.T) {
	for i, h := range hosts {
		for _, cpus := range []int{1, 4} {
			got := h.share(uint64(100*i+cpus), cpus, 1)
			t.Logf("%s, %d CPUs: %.1f %% worthwhile without an effect", h.name, cpus, 100*got)
			if got >= 0.05 {
				t.Errorf("%s, %d CPUs: %.1f %% worthwhile without an effect", h.name, cpus, 100*got)
			}
		}
	}
	if got := hosts[1].share(1, 1, 1.15); got < 0.8 {
		t.Errorf("a penalty of 15 %% is found in %.0f %% of runs", 100*got)
	}
}
