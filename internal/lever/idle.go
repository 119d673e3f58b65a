package lever

import (
	"fmt"
	"math"
	"strings"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

// burst is the length of work that a cited exit latency is set against: the
// shortest slice that the wake-up probe measures.
const burst = 0.010 // s

// deepLatency separates C1 and C1E, which keep the caches, from states that may
// not: intel_idle.c (6.12) has C1E at 10 us and the next states from 33 us on.
const deepLatency = 20e-6 // s

// idle is moved by C-states. What the mixed slice loses after a sleep beyond
// what arithmetic loses is cold caches and the like, not clock.
func (in *input) idle() Lever {
	l := in.new(check.LeverIdle, "Idle states")
	r := decide(in.coldness())
	deep := in.deepest()
	l.BoundOf = "a 10 ms burst of work after a pause"
	l.Measurement = r.m
	switch {
	case r.m != nil && !math.IsNaN(r.worst):
		l.Bound = saving(r.worst)
		l.BoundWhy = "what work with memory loses after a pause beyond what arithmetic loses, at its worst; other tenants that empty the caches are in it too"
	case deep != nil:
		lat := deep.Latency.Or(0)
		b := lat / (lat + burst)
		l.Bound = &b
		l.BoundWhy = fmt.Sprintf("the kernel states %s to leave %s, the deepest state in use; for one wake-up in each 10 ms of work",
			result.Format(lat, "s"), deep.Name.Or("it"))
	default:
		l.BoundWhy = "unknown: no idle state with a latency is visible here"
	}
	todo := actionable(in.findings(l.Name))
	switch {
	case r.call == costs && (deep == nil || deep.Latency.Or(0) <= deepLatency):
		l.Verdict = Unresolved
		l.Summary = fmt.Sprintf("caches go cold over 100 ms of sleep (%s), but no deep idle state is visible here: other tenants may be the cause",
			result.Format(r.m.Estimate.Value, "ratio"))
		l.Next = in.assess()
		if len(todo) > 0 {
			l.Next = remedy(todo)
		}
	case r.call == costs && in.role == check.Development:
		l.Verdict = NotForRole
		l.Summary = fmt.Sprintf("memory work takes %s as long after a pause, beyond what frequency costs; a development system should save the energy instead",
			result.Format(r.m.Estimate.Value, "ratio"))
	case r.call == costs:
		l.Verdict = Worthwhile
		l.Summary = fmt.Sprintf("memory work takes %s as long after a pause, beyond what frequency costs (%d of %d comparisons)",
			result.Format(r.m.Estimate.Value, "ratio"), r.beyond, r.of)
		if l.Next = remedy(todo); l.Next == "" {
			l.Next = "hostlab facts"
		}
	case r.call == small && len(todo) == 0:
		l.Verdict = NoEffect
		l.Summary = "memory work after a pause loses nothing that matters beyond what frequency costs"
	case r.call == undecided && len(todo) == 0:
		l.Verdict, l.Summary = Unresolved, r.why
		l.Next = in.assess()
	default:
		// A slice of 10 ms hides an exit latency of 0.1 ms, so a small reading does
		// not settle a finding about latency.
		why := ""
		if r.call == unmeasured {
			why = in.whyUnmeasured("wakeup", "wakeup.mixed.")
		}
		in.rest(&l, why)
	}
	return l
}

// deepest is the enabled idle state with the longest known exit latency within the
// limit in force (/dev/cpu_dma_latency).
func (in *input) deepest() *host.IdleState {
	var out *host.IdleState
	states := in.facts.Idle.States
	for i := range states {
		s := &states[i]
		lat, ok := s.Latency.Get()
		if limit, limited := in.facts.Idle.DMALatency.Get(); limited && lat > limit {
			continue
		}
		if ok && len(s.Disabled) < len(s.CPUs) && (out == nil || lat > out.Latency.Value) {
			out = s
		}
	}
	return out
}

// coldness pairs mixed and arithmetic slices of the same length on the same CPU
// and divides them. The interval takes the far ends of both, which is wider than
// a joint one would be: it errs towards "undecided".
func (in *input) coldness() []result.Measurement {
	var out []result.Measurement
	for _, mixed := range in.known("wakeup.mixed.") {
		rest := strings.TrimPrefix(mixed.Name, "wakeup.mixed.")
		alu := in.named("wakeup.alu." + rest)
		if alu == nil || !alu.Known() {
			continue
		}
		x, a := mixed.Estimate, alu.Estimate
		out = append(out, result.Measurement{
			Probe: mixed.Probe, Name: "wakeup.cold." + rest, Unit: "ratio",
			Title:      "wake-up penalty of memory work over that of arithmetic",
			Estimate:   &result.Estimate{Value: x.Value / a.Value, Low: x.Low / a.High, High: x.High / a.Low, N: min(x.N, a.N)},
			NoiseFloor: mixed.NoiseFloor + alu.NoiseFloor,
			Evidence:   result.Measured, Labels: mixed.Labels,
			Warnings: []string{"interval from the far ends of two intervals; wider than a joint one"},
		})
	}
	return out
}
