package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"hostlab/internal/result"
)

// Unit is a host of a roll-out in waves. Values are logarithms of what is measured, so that effects are ratios.
type Unit struct {
	Stratum int       // hosts of one stratum were drawn into waves together
	Wave    int       // from 1 on; it has the change from the period of this number on
	Before  float64   // before any host had the change
	After   []float64 // by period, all of equal number
}

// Waved is what a roll-out shows.
type Waved struct {
	// difference of logarithms; each limit at a one-sided risk of alpha; infinite where orders are too few
	Effect result.Estimate
	// Above and Below are how likely an effect at least as high, or as low, is by the draw of waves alone.
	Above, Below float64
	Orders       float64 // in which the waves could have been drawn
}

// mostOrders is the number of orders up to which all are looked at; of more, so many are drawn.
const mostOrders = 10000

// Rollout compares hosts that have a change with those that do not have it yet, within strata and periods, each host
// against its own earlier value (difference in differences). The draw of waves is the test, as in Thompson, Davey,
// Fielding, Hargreaves and Hayes 2018 (DOI 10.1002/sim.7668):
// whatever moves the load of all hosts, or of some, was there in any order.
// Most is the number of orders that are drawn where there are more; 0 is the usual one. Without a period in which some
// hosts have the change and others of their stratum do not, the effect is unknown.
func Rollout(units []Unit, alpha float64, most int, rng *rand.Rand) Waved {
	most = cmp.Or(most, mostOrders)
	d := newDraw(units)
	out := Waved{Effect: result.Unknown(), Above: 1, Below: 1, Orders: d.orders()}
	out.Effect.N = len(units)
	if !d.compares {
		return out
	}
	observed, _ := d.of(d.waves)
	limits := []float64{} // of each other order: the effect from which on it is as extreme as the one that was drawn
	d.each(most, rng, func(waves []int) {
		value, shared := d.of(waves)
		if shared > 1-1e-9 { // it is the drawn one, by what compares
			return
		}
		limits = append(limits, (observed-value)/(1-shared))
	})
	slices.Sort(limits)
	n := min(d.orders(), float64(most))
	same := n - float64(len(limits)) // the drawn order, and those that are equal to it
	const tie = 1e-12
	below, _ := slices.BinarySearch(limits, tie)
	above, _ := slices.BinarySearch(limits, -tie)
	out.Above, out.Below = (same+float64(below))/n, (same+float64(len(limits)-above))/n
	out.Effect.Value, out.Effect.Low, out.Effect.High = observed, math.Inf(-1), math.Inf(1)
	if k := int(math.Floor(alpha*n*(1+1e-12)) - same + 1); k >= 1 && k <= len(limits) {
		out.Effect.Low, out.Effect.High = limits[k-1], limits[len(limits)-k]
	}
	return out
}

// Orders is the number of ways in which the waves of hosts could have been drawn within strata, as far as periods tell
// them apart.
func Orders(units []Unit) float64 { return newDraw(units).orders() }

// Showable is the smallest harm that is found with a probability, where a value of one host scatters by sd around what
// moves all. before is on how many values the earlier one rests. It is infinite where orders are too few.
func Showable(units []Unit, alpha, sd, power float64, before int, rng *rand.Rand) float64 {
	const most = 1000
	trials := min(200, max(40, 40000/max(1, len(units)))) // of a thousand hosts each takes long, and fewer tell as much
	if newDraw(units).orders()*alpha < 1-1e-9 {
		return math.Inf(1)
	}
	needs := make([]float64, trials)
	for i := range needs {
		for j := range units {
			units[j].Before = rng.NormFloat64() * sd / math.Sqrt(float64(before))
			for p := range units[j].After {
				units[j].After[p] = rng.NormFloat64() * sd
			}
		}
		// The effect only moves the drawn order's value: it is found from the size on at which the lower limit passes 0.
		needs[i] = -Rollout(units, alpha, most, rng).Effect.Low
		if math.IsNaN(needs[i]) {
			return math.Inf(1)
		}
	}
	return Quantile(needs, power)
}

// draw is the waves of hosts, and what each host adds to the effect in each wave that it could have been in.
type draw struct {
	waves    []int       // by unit, where all behind the last period are one
	strata   [][]int     // units
	add      [][]float64 // by unit and wave
	shared   [][]float64 // the same where the effect alone is measured
	compares bool
}

func newDraw(units []Unit) *draw {
	d := &draw{}
	if len(units) == 0 {
		return d
	}
	periods := len(units[0].After)
	for i, u := range units {
		for u.Stratum >= len(d.strata) {
			d.strata = append(d.strata, nil)
		}
		d.strata[u.Stratum] = append(d.strata[u.Stratum], i)
		d.waves = append(d.waves, min(u.Wave, periods+1))
		d.add, d.shared = append(d.add, make([]float64, periods+2)), append(d.shared, make([]float64, periods+2))
	}
	type cell struct{ with, without float64 }
	cells, total := make([][]cell, periods+1), 0.0
	weight := func(c cell) float64 {
		if c.with == 0 || c.without == 0 {
			return 0
		}
		return c.with * c.without / (c.with + c.without)
	}
	for p := 1; p <= periods; p++ {
		cells[p] = make([]cell, len(d.strata))
		for s, members := range d.strata {
			for _, i := range members {
				if d.waves[i] <= p {
					cells[p][s].with++
				} else {
					cells[p][s].without++
				}
			}
			total += weight(cells[p][s])
		}
	}
	if d.compares = total > 0; !d.compares {
		return d
	}
	for i, u := range units {
		for p := 1; p <= periods; p++ {
			c := cells[p][u.Stratum]
			w := weight(c) / total
			if w == 0 {
				continue
			}
			for wave := 1; wave <= periods+1; wave++ {
				part := -w / c.without
				if wave <= p {
					part = w / c.with
				}
				d.add[i][wave] += part * (u.After[p-1] - u.Before)
				if d.waves[i] <= p {
					d.shared[i][wave] += part
				}
			}
		}
	}
	return d
}

// of is the effect that an order would show, and how much of a true effect it would.
func (d *draw) of(waves []int) (value, shared float64) {
	for i, w := range waves {
		value += d.add[i][w]
		shared += d.shared[i][w]
	}
	return value, shared
}

func (d *draw) orders() float64 {
	log := 0.0
	for _, members := range d.strata {
		counts := map[int]int{}
		for _, i := range members {
			counts[d.waves[i]]++
		}
		log += logFactorial(len(members))
		for _, n := range counts {
			log -= logFactorial(n)
		}
	}
	n := math.Exp(log)
	if n < 1e9 {
		return math.Round(n)
	}
	return n
}

func logFactorial(n int) float64 {
	v, _ := math.Lgamma(float64(n) + 1)
	return v
}

// each visits all orders, or the drawn one and so many others of them less one.
func (d *draw) each(most int, rng *rand.Rand, visit func(waves []int)) {
	now := slices.Clone(d.waves)
	if d.orders() > float64(most) {
		visit(now)
		for range most - 1 {
			for _, members := range d.strata {
				rng.Shuffle(len(members), func(a, b int) { now[members[a]], now[members[b]] = now[members[b]], now[members[a]] })
			}
			visit(now)
		}
		return
	}
	var stratum func(s int)
	stratum = func(s int) {
		if s == len(d.strata) {
			visit(now)
			return
		}
		labels := make([]int, len(d.strata[s]))
		for k, i := range d.strata[s] {
			labels[k] = d.waves[i]
		}
		slices.Sort(labels)
		for more := true; more; more = nextOrder(labels) {
			for k, i := range d.strata[s] {
				now[i] = labels[k]
			}
			stratum(s + 1)
		}
	}
	stratum(0)
}

// nextOrder makes the next distinct order of labels, and reports whether there is one.
func nextOrder(labels []int) bool {
	i := len(labels) - 2
	for i >= 0 && labels[i] >= labels[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	j := len(labels) - 1
	for labels[j] <= labels[i] {
		j--
	}
	labels[i], labels[j] = labels[j], labels[i]
	slices.Reverse(labels[i+1:])
	return true
}
