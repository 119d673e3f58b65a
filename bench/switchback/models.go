package main

import (
	"math"
	"math/rand/v2"
)

// disturbance is what troubles a service that no level harms.
type disturbance struct {
	name string
	make func(s *service, rng *rand.Rand, end float64)
}

// jobs come every so many seconds, from a random time on, last for so long, and multiply latency.
func jobs(every, lasts, times float64) func(*service, *rand.Rand, float64) {
	return func(s *service, rng *rand.Rand, _ float64) {
		from := every * rng.Float64()
		s.other = func(at float64) float64 {
			// The share of a look that the job takes: a percentile is that of a job which takes any.
			if math.Mod(at+from, every) < lasts {
				return math.Log(times)
			}
			return 0
		}
	}
}

// chance has jobs whose distances and lengths are exponential.
func chance(every, lasts, times float64) func(*service, *rand.Rand, float64) {
	return func(s *service, rng *rand.Rand, _ float64) {
		from, to := every*rng.ExpFloat64(), 0.0
		to = from + lasts*rng.ExpFloat64()
		s.other = func(at float64) float64 {
			for at > to {
				from = to + every*rng.ExpFloat64()
				to = from + lasts*rng.ExpFloat64()
			}
			if at > from {
				return math.Log(times)
			}
			return 0
		}
	}
}

// regime changes once, for good.
func regime(times float64) func(*service, *rand.Rand, float64) {
	return func(s *service, rng *rand.Rand, end float64) {
		from := end * rng.Float64()
		s.other = func(at float64) float64 {
			if at > from {
				return math.Log(times)
			}
			return 0
		}
	}
}

func slow(memory, sd float64) func(*service, *rand.Rand, float64) {
	return func(s *service, _ *rand.Rand, _ float64) { s.slow, s.slowness = ar{memory: memory}, sd }
}

var disturbances = []disturbance{
	{"none", func(*service, *rand.Rand, float64) {}},
	{"a job of 1 of 10 min, x2", jobs(600, 60, 2)},
	{"2.5 of 10 min, x2", jobs(600, 150, 2)},
	{"5 of 60 min, x3", jobs(3600, 300, 3)},
	{"30 of 360 min, x3", jobs(21600, 1800, 3)},
	{"+50 % for good at a random time", regime(1.5)},
	{"+100 % for good at a random time", regime(2)},
	{"slow noise, 30 %, memory 30 min", slow(1800, 0.3)},
	{"slow noise, 30 %, memory 5 min", slow(300, 0.3)},
	{"slow noise, 50 %, memory 2 h", slow(7200, 0.5)},
	{"1.5 of 20 min, x3", jobs(1200, 90, 3)},
	{"3 of 20 min, x3", jobs(1200, 180, 3)},
	{"2 of 15 min, x2", jobs(900, 120, 2)},
	{"7 of 14 min, x2 (a job as long as a period)", jobs(840, 420, 2)},
	{"jobs at random, 3 min each 30, x3", chance(1800, 180, 3)},
	{"jobs at random, 2 min each 10, x2", chance(600, 120, 2)},
}
