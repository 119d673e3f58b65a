package main

import (
	"math"
	"math/rand/v2"
	"time"

	"hostlab/internal/workload"
)

// service is a simulated service that others use. Its load goes up and down by 60 % in a day and has noise of
// its own with a memory of 5 minutes. A transaction costs less where more is asked for; that has such noise too. A job
// comes every 10 minutes for half a minute. Changes settle with a time constant.
type service struct {
	rng               *rand.Rand
	tau               float64                  // seconds in which it settles
	effect            float64                  // of the level, logarithm: CPU time and latency
	calm              float64                  // share of the noise of latency that is there
	only              bool                     // the effect is on latency alone
	from              float64                  // seconds, from which on the level has it
	learned           bool                     // how long it takes to settle is learned from the first pairs
	closed            bool                     // clients wait for answers: what is slower is asked for less
	noise             float64                  // of load and cost, in its usual one
	at                float64                  // seconds
	phase             float64                  // of the day, radians
	other             func(at float64) float64 // what else slows it down, whatever the level: logarithm
	slow              ar                       // noise of latency of its own memory
	slowness          float64                  // its standard deviation
	job               float64                  // seconds since the last one at the start
	state             float64                  // share of the effect that is in force
	asked, cost, wait ar
}

// look is how long one lasts, in seconds.
const look = 10

func newService(rng *rand.Rand) *service {
	return &service{rng: rng, tau: 30, phase: 2 * math.Pi * rng.Float64(), job: 600 * rng.Float64(), noise: 1, calm: 1,
		asked: ar{memory: 300}, cost: ar{memory: 300}, wait: ar{memory: 120}}
}

// ar is noise with a memory in seconds, of standard deviation 1.
type ar struct {
	memory, last float64
	begun        bool
}

func (a *ar) next(rng *rand.Rand) float64 {
	keep := math.Exp(-look / a.memory)
	if !a.begun {
		keep, a.begun = 0, true
	}
	a.last = keep*a.last + math.Sqrt(1-keep*keep)*rng.NormFloat64()
	return a.last
}

// bin lets the service work for a look: CPU seconds, transactions and the 99th percentile of latency.
func (s *service) bin(level bool) (b workload.Bin) {
	to := 0.0
	if level && s.at >= s.from {
		to = 1
	}
	s.state += (to - s.state) * (1 - math.Exp(-look/s.tau))
	s.at += look
	jobs := 0.0
	if math.Mod(s.at+s.job, 600) < 30 {
		jobs = 1
	}
	load := math.Log(1+0.6*math.Sin(2*math.Pi*s.at/86400+s.phase)) + 0.1*s.noise*s.asked.next(s.rng)
	slow := s.state*s.effect + 0.022*s.noise*s.cost.next(s.rng)
	if s.closed {
		load -= 0.5 * slow
	}
	noise := 0.1*s.wait.next(s.rng) + 0.2*s.rng.NormFloat64()
	if s.only {
		slow -= s.state * s.effect
	}
	cpu := math.Log(0.001) - 0.15*load + slow + 0.15*jobs + 0.03*s.rng.NormFloat64()
	p99 := math.Log(0.010) + 0.3*load + s.state*s.effect + s.calm*noise + 0.6*jobs
	if s.other != nil {
		p99 += s.other(s.at)
	}
	if s.slowness > 0 {
		p99 += s.slowness * s.slow.next(s.rng)
	}
	n := 100 * look * math.Exp(load)
	return workload.Bin{Lasted: look * time.Second, Values: map[string]float64{
		"cpu_s": n * math.Exp(cpu), "transactions": n, "latency_p99": math.Exp(p99), "transactions_per_s": n / look}}
}
