package explain

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// next is the time until the next sample, some seconds after the start: random around its
// mean, so that it does not fall into step with what the server does at regular times.
func (r *recorder) next(s Server, since float64) time.Duration {
	mean := r.Interval
	if mean == 0 {
		part := cmp.Or(r.Part, 1)
		mean = time.Duration(float64(Pace(r.costs)) / part)
		// What counters take is not in the costs of samples, so samples come more seldom for
		// as long as all of it together is too much.
		if r.paid > part*enough*since && r.covered >= 1 {
			r.slower = min(1.1*max(1, r.slower), 10)
		} else {
			r.slower = max(1, 0.97*r.slower)
		}
		mean = max(mean, min(time.Duration(float64(mean)*r.slower), rarest))
	}
	if s.OwnRate > 0 {
		mean = max(mean, time.Duration(2*s.OwnRate*float64(time.Second)))
	}
	return time.Duration(float64(mean) * float64(r.Rarely) * (0.5 + rand.Float64()))
}

// rarest is the longest mean time between samples. A server of thousands of sessions takes
// tens of milliseconds for one, and says much with each.
const rarest = 4 * time.Second

// enough is the share of one CPU that asking may take, in the server and here: below the 1 % that is promised.
const enough = 0.007

// Pace is the time between samples at which they take about half a percent of one CPU,
// from the CPU time of the last ones, in s: 10 to 100 ms, and more where one takes more
// than a millisecond. The lower quartile is what one takes when it does not wait for a
// CPU itself.
func Pace(costs []float64) time.Duration {
	if len(costs) == 0 {
		return 20 * time.Millisecond
	}
	c := slices.Clone(costs)
	slices.Sort(c)
	cost := time.Duration(c[len(c)/4] * float64(time.Second))
	if cost > time.Millisecond {
		return min(100*cost, rarest)
	}
	return min(max(200*cost, 10*time.Millisecond), 100*time.Millisecond)
}

// pay counts what was asked since then, and returns the CPU time that this took, in s: at
// most the time until the answer came.
func (r *recorder) pay(since time.Time) float64 {
	cost := time.Since(since).Seconds()
	r.asked += cost
	if used, ok := r.own(); ok {
		// What we use here is about as much again.
		cost, r.cpu = min(cost, 2*(used-r.cpu)), used
	}
	r.paid += cost
	return cost
}

// own is what the server's side has used, where it reports it. Of one that has gone
// the last report stands.
func (r *recorder) own() (float64, bool) {
	if c, ok := r.src.(Costed); ok {
		if used, ok := c.OwnCPU(); ok {
			r.used, r.reports = used, true
		}
	}
	return r.used, r.reports
}
