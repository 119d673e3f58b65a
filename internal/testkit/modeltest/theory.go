package modeltest

import "math"

// ErlangC is the probability that an arrival at M/M/c waits, for an offered load
// of a erlangs (a < c). It goes through Erlang B's recursion, which is stable.
func ErlangC(c int, a float64) float64 {
	b := 1.0
	for k := 1; k <= c; k++ {
		b = a * b / (float64(k) + a*b)
	}
	rho := a / float64(c)
	return b / (1 - rho*(1-b))
}

// MMC is the mean response time of M/M/c in seconds.
func MMC(c int, rate, service float64) float64 {
	a := rate * service
	return service + ErlangC(c, a)*service/(float64(c)-a)
}

// MG1 is the mean response of M/G/1 first come first served (Pollaczek and
// Khinchine) for a service with the given mean and coefficient of variation.
func MG1(rate, mean, cv float64) float64 {
	rho := rate * mean
	return mean + rho*mean*(1+cv*cv)/(2*(1-rho))
}

// MG1PS is the mean response of M/G/1 under processor sharing: it depends on the
// mean service only.
func MG1PS(rate, mean float64) float64 { return mean / (1 - rate*mean) }

// HyperMoments are mean and coefficient of variation of HyperExponential.
func HyperMoments(p, short, long float64) (mean, cv float64) {
	mean = p*short + (1-p)*long
	second := 2 * (p*short*short + (1-p)*long*long)
	return mean, math.Sqrt(second/(mean*mean) - 1)
}

// MVA is exact mean value analysis (Reiser and Lavenberg 1980) of a closed network
// of single-server stations and a think time: mean response over all stations and
// throughput, in seconds and 1/s.
func MVA(users int, think float64, stations []float64) (response, throughput float64) {
	length := make([]float64, len(stations))
	visit := make([]float64, len(stations))
	for n := 1; n <= users; n++ {
		response = 0
		for k, s := range stations {
			visit[k] = s * (1 + length[k])
			response += visit[k]
		}
		throughput = float64(n) / (think + response)
		for k := range stations {
			length[k] = throughput * visit[k]
		}
	}
	return response, throughput
}

// Repair is the mean response at c servers with exponential service when users
// think exponentially between visits (the machine repairman, M/M/c//N), in
// seconds: the birth-death process solved from its balance equations.
func Repair(users, c int, think, service float64) (response, throughput float64) {
	p := 1.0 // of k users present, not yet normalised
	total, busy, present := 1.0, 0.0, 0.0
	for k := 1; k <= users; k++ {
		p *= float64(users-k+1) * service / (think * float64(min(k, c)))
		total += p
		present += float64(k) * p
		busy += float64(min(k, c)) * p
	}
	throughput = busy / total / service
	return present / total / throughput, throughput
}
