package assess

import "math"

// erlangC is the chance that a job has to wait for one of c CPUs that are busy for a share
// rho of the time, where jobs come at random (M/M/c; Erlang, 1917).
func erlangC(c int, rho float64) float64 {
	if rho >= 1 {
		return 1
	}
	if rho <= 0 || c < 1 {
		return 0
	}
	// The blocking formula by its recursion, which does not overflow.
	a, b := rho*float64(c), 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	return b / (1 - rho*(1-b))
}

// waiting is the mean wait of a job for one of c CPUs, as a multiple of the time that it
// needs one.
func waiting(c int, rho float64) float64 {
	if rho >= 1 {
		return math.Inf(1)
	}
	return erlangC(c, rho) / (float64(c) * (1 - rho))
}

// relief is the share of waits for a CPU that goes away with twice as many CPUs under the
// same load, by the same law.
func relief(c int, rho float64) float64 {
	rho = min(max(rho, 0), 0.99)
	now := waiting(c, rho)
	if now == 0 {
		return 0
	}
	return 1 - waiting(2*c, rho/2)/now
}
