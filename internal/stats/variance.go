package stats

import "math"

// Components splits the variance of a balanced nested sample by level, lowest
// first, as Kalibera and Jones do ("Rigorous benchmarking in reasonable time",
// ISMM 2013, section 6): x holds runs within boots within superblocks, say, with
// counts {runs a boot, boots a superblock, superblocks}, the runs of one boot side
// by side. Each component is unbiased, and may come out below 0 where its level
// hardly varies; it is NaN where a level was not repeated. It returns nil when the
// product of counts is not len(x).
func Components(x []float64, counts ...int) []float64 {
	product := 1
	for _, c := range counts {
		product *= c
	}
	if len(counts) == 0 || product != len(x) || product == 0 {
		return nil
	}
	t := make([]float64, 0, len(counts))
	below, repeats := 0.0, 1.0 // S^2 of the level below and how many of it are averaged
	for _, c := range counts {
		means := make([]float64, len(x)/c)
		s := 0.0
		for i := range means {
			m, v := moments(x[i*c : (i+1)*c])
			means[i] = m
			s += v / float64(len(means))
		}
		t = append(t, s-below/repeats)
		x, below, repeats = means, s, float64(c)
	}
	return t
}

// Repeats returns how often each level but the highest is best repeated, lowest
// first, so that an experiment of a given length gives the narrowest interval:
// sqrt(c[i+1]/c[i] * t[i]/t[i+1]), rounded up (Kalibera and Jones 2013, section 7),
// where t are variance components and c is what one repetition of a level costs
// beyond those below it (a run; then a boot with its warm-up). 1 where the level
// itself does not vary, 0 where that above does not: then repeats are as good as
// any. It returns nil when the two have not the same length, or a cost is not above 0.
func Repeats(components, costs []float64) []int {
	if len(components) != len(costs) || len(components) == 0 {
		return nil
	}
	for _, c := range costs {
		if !(c > 0) || math.IsInf(c, 1) {
			return nil
		}
	}
	r := make([]int, len(components)-1)
	for i := range r {
		low, high := components[i], components[i+1]
		switch {
		case math.IsNaN(low) || math.IsNaN(high) || low <= 0:
			r[i] = 1
		case high <= 0:
			r[i] = 0
		default:
			r[i] = int(min(math.Ceil(math.Sqrt(costs[i+1]/costs[i]*(low/high))), maxBlocks))
		}
	}
	return r
}
