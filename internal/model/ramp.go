package model

import (
	"math"

	"hostlab/internal/result"
)

// rampPhases is how many positions within the check interval Ramp averages over.
const rampPhases = 32

// rampLimit is how long Ramp waits for the highest frequency.
const rampLimit = 60 * Second

// Ramp measures how long a CPU that was idle takes, from the start of a long
// slice, to reach the policy's highest frequency: the mean over phases of the check
// interval, with the shortest and the longest as Low and High. Infinite when it never does.
func Ramp(m Machine, p Policy) (result.Estimate, error) {
	c := Case{Machine: m, Policy: p, Workload: Workload{Name: "ramp", Kind: Batch, Users: 1,
		Slice: Dist{Mean: 10 * Seconds(rampLimit)}, Work: 10 * Seconds(rampLimit), Placement: Packed}}
	if err := c.Validate(); err != nil {
		return result.Estimate{}, err
	}
	g, err := compileGovernor(p, m)
	if err != nil {
		return result.Estimate{}, err
	}
	e := result.Estimate{Low: math.Inf(1), High: math.Inf(-1), N: rampPhases, Unit: "s"}
	for k := range rampPhases {
		s := newSim(c, g, 0, 0)
		s.meter.warmUp, s.meter.steps = 0, 1
		for i := range s.cpus {
			s.cpus[i].phase = Time((float64(k) + 0.5) / rampPhases * float64(g.period))
		}
		t := rampOnce(s)
		e.Value += t / rampPhases
		e.Low, e.High = min(e.Low, t), max(e.High, t)
	}
	return e, nil
}

func rampOnce(s *sim) float64 {
	for s.step() && s.now < rampLimit {
		k := &s.cpus[0]
		if k.proc >= 0 && (s.hw.held >= 0 || s.hw.domains[0].request == int32(s.g.top)) {
			return Seconds(max(0, s.now))
		}
	}
	return math.Inf(1)
}
