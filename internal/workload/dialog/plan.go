package dialog

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"hostlab/internal/model"
	"hostlab/internal/workload"
)

// length is a distribution of times.
type length struct {
	Mean float64 // s
	Exp  bool    // exponential, else fixed
}

func (l length) draw(r *rand.Rand) float64 {
	if l.Exp {
		return l.Mean * r.ExpFloat64()
	}
	return l.Mean
}

func (l length) model() model.Dist {
	if l.Exp {
		return model.Dist{Kind: model.DistExponential, Mean: l.Mean}
	}
	return model.Dist{Kind: model.DistFixed, Mean: l.Mean}
}

// plan is what one run does, as the worker is asked for it.
type plan struct {
	CPUs               []int
	Packed             bool
	Users              int // closed; 0 is open
	Load               float64
	Slices             int
	Slice, Wait, Think length
	WarmUp, Duration   float64 // s
	Policy             string  // as the model reads it; empty: the host's own clock
	Floor              float64
	Rate               float64 // operations a second at full speed; 0 asks for a calibration
	Seed               uint64
}

// The distributions, and the policy that leaves the clock alone.
const (
	fixed = "fixed"
	exp   = "exp"
	none  = "none"
)

// planOf reads parameters. The error is a *workload.ParamError.
func planOf(v *Params) (p plan, err error) {
	p = plan{Packed: v.Placement == "packed", Users: v.Users, Load: v.Load, Slices: v.Slices,
		Slice: length{v.Slice.Seconds(), v.SliceDist == exp}, Wait: length{v.Wait.Seconds(), v.WaitDist == exp},
		Think: length{v.Think.Seconds(), v.ThinkDist == exp}, WarmUp: v.WarmUp.Seconds(), Duration: v.Duration.Seconds(),
		Floor: v.Floor}
	if p.CPUs, err = chosen(v.CPUs); err != nil {
		return p, err
	}
	if p.Load == 0 && p.Users == 0 {
		p.Users = len(p.CPUs)
	}
	if v.Policy != none {
		policy, err := policyOf(v.Policy, v.Check.Duration)
		if err != nil {
			return p, err
		}
		p.Policy = policy.String()
	}
	return p, p.validate()
}

// policyOf is a policy of the model with its check interval.
func policyOf(text string, check time.Duration) (model.Policy, error) {
	p, err := model.ParsePolicy(text)
	if err != nil {
		return p, workload.Wrong("policy", err.Error(), "none leaves the clock to the host")
	}
	if check == 0 {
		return p, nil
	}
	for _, q := range p.Parameters {
		switch q.Name {
		case "PERFCHECK", "sampling_rate", "tick":
			if p, err = p.With(q.Name, check.Seconds()); err != nil {
				return p, workload.Wrong("check", err.Error(), "")
			}
			return p, nil
		}
	}
	return p, nil // its clock never changes
}

// maxSlices bounds what a run keeps in memory.
const maxSlices = 1_000_000

func (p plan) validate() error {
	switch {
	case p.Load > 0 && p.Users > 0:
		return workload.Wrong("users", "arrivals are open with a load, and closed with users", "give one of the two")
	case p.Load != 0 && (p.Load < 0.05 || p.Load > 0.95):
		return workload.Wrong("load", "open arrivals need 0.05 to 0.95 of the CPUs", "0 is a closed loop of users")
	}
	// The most that can happen: all CPUs busy, or all users without thinking.
	if n := (p.WarmUp + p.Duration) * float64(len(p.CPUs)) / p.Slice.Mean; n > maxSlices {
		return workload.Wrong("slice", "a run could have more than a million slices",
			"make slices longer, duration shorter, or cpus fewer")
	}
	if p.Policy == "" {
		return nil
	}
	c, err := p.Case()
	if err == nil {
		err = c.Validate()
	}
	if e, ok := errors.AsType[*model.UnstableError](err); ok {
		return workload.Wrong("policy", e.Short(), "make load less, or 0, which is a closed loop of users")
	}
	if err != nil {
		return workload.Wrong("policy", err.Error(), "")
	}
	return nil
}

// Case is the run as the model simulates it, with full speed for nominal. Without a
// policy it has that of High performance.
func (p plan) Case() (model.Case, error) {
	c := model.Case{Machine: model.Stepped(len(p.CPUs), p.Floor), Load: p.Load,
		Workload: model.Workload{Name: "dialog", Source: "the workload dialog",
			Kind: model.Dialog, Users: p.Users, Slices: p.Slices, Slice: p.Slice.model(), Wait: p.Wait.model(),
			Placement: model.Spread}}
	if p.Users > 0 {
		c.Workload.Think = p.Think.model()
	}
	if p.Packed {
		c.Workload.Placement = model.Packed
	}
	name := cmp.Or(p.Policy, "high-performance")
	var err error
	c.Policy, err = model.ParsePolicy(name)
	return c, err
}

// gap is the mean time between open arrivals, s.
func (p plan) gap() float64 {
	return float64(p.Slices) * p.Slice.Mean / (p.Load * float64(len(p.CPUs)))
}

// Purposes of random numbers: none depends on how fast anything goes.
const (
	forArrivals = 1 << 32
	forDemand   = forArrivals + 1
	forPhase    = forArrivals + 2
)

func stream(seed, purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, purpose)) }

// ns turns seconds into nanoseconds.
func ns(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// Case is what the model is to simulate to predict runs with these parameters, with
// full speed for nominal. The error is a *workload.ParamError.
func Case(v workload.Params) (model.Case, error) {
	p, err := planOf(v.(*Params))
	if err != nil {
		return model.Case{}, err
	}
	return p.Case()
}
