package explain

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Method says in a sentence how intervals come about.
const Method = "95 % Wilson intervals. Samples correlate, so n is the effective sample size, from batch means of the " +
	"recording. What was never seen has the exact upper limit for that n (Clopper and Pearson)"

// most is how many batches an interval is made from: stretches should be long against
// the time over which samples correlate, and 20 to 30 of them are enough for a variance.
const most = 30

// ratio is the share that num has of den, both in session seconds by stretch, with
// its 95 % interval and the number of independent samples that it is worth. looks is
// how many snapshots there were in all, over wall seconds.
//
// Sessions that are seen together, and snapshots that follow each other, hold the same
// information twice. The variance of the ratio is therefore taken between stretches (Cochran,
// Sampling Techniques, ratio estimator), turned into the number of independent samples
// that would have it, and that number goes into Wilson's interval. Student's quantile
// stands for the normal one, as the variance is estimated from few stretches. What was
// seen never or always has no variance: there every snapshot counts as one sample,
// however many sessions it has, and unseen has the limit.
func ratio(num, den []float64, looks int, wall float64) (p, low, high, n float64) {
	num, den = merge(num), merge(den)
	var sn, sd float64
	for i := range num {
		sn, sd = sn+num[i], sd+den[i]
	}
	if sd <= 0 || looks == 0 {
		return 0, 0, 1, 0
	}
	p = min(1, max(0, sn/sd))
	n, z := float64(looks), 1.96
	if p == 0 {
		return p, 0, unseen(n), n
	}
	if b := float64(len(num)); b >= 2 {
		var ss float64
		for i := range num {
			e := num[i] - p*den[i]
			ss += e * e
		}
		z = distuv.StudentsT{Mu: 0, Sigma: 1, Nu: b - 1}.Quantile(0.975)
		if v := ss * b / (b - 1) / (sd * sd); v > 0 && p > 0 && p < 1 {
			n = p * (1 - p) / v
			// Never more than if every snapshot were worth all its sessions, of which there
			// were sd/wall in the mean.
			sessions := 1.0
			if wall > 0 {
				sessions = max(1, sd/wall)
			}
			n = max(1, min(n, float64(looks)*sessions))
		}
	}
	low, high = wilson(p, n, z)
	return p, min(p, low), max(p, high), n
}

// Vary widens the intervals of parts by how much their shares differ between stretches: what
// was counted is exact for its seconds, and a sample of the hour around them.
func (r *Report) Vary() {
	all := make([]float64, len(r.Course))
	for i, s := range r.Course {
		for _, seconds := range s.Parts {
			all[i] += seconds
		}
	}
	for i := range r.Parts {
		by, p := make([]float64, len(all)), &r.Parts[i].Share
		for j, s := range r.Course {
			by[j] = s.Parts[r.Parts[i].Name]
		}
		half := varies(by, all)
		p.Low, p.High = max(0, min(p.Low, p.Value-half)), min(1, max(p.High, p.Value+half))
	}
}

// varies is half of the 95 % interval of the share that num has of den, by how it differs
// between stretches, where both were counted; 0 for a single one.
func varies(num, den []float64) float64 {
	num, den = merge(num), merge(den)
	b, all := float64(len(num)), floats.Sum(den)
	if b < 2 || all <= 0 {
		return 0
	}
	p, ss := floats.Sum(num)/all, 0.0
	for i := range num {
		e := num[i] - p*den[i]
		ss += e * e
	}
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: b - 1}.Quantile(0.975) * math.Sqrt(ss*b/(b-1)) / all
}

// unseen is the upper end of the 95 % interval of what none of n samples saw (Clopper
// and Pearson): about 3.7 of n.
func unseen(n float64) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(0.025, 1/n)
}

// neverSeen is the upper end of the share of all sessions' elapsed time, s, that none of n snapshots saw. Idle sessions had
// none of it, and a snapshot without a session at work says nothing of it: active, s, is the time of those, over wall
// seconds.
func neverSeen(n, active, wall, elapsed float64) float64 {
	if active <= 0 || wall <= 0 {
		return unseen(n)
	}
	return unseen(n*min(1, active/wall)) * min(1, active/elapsed)
}

// wilson is Wilson's interval of a share p of n samples.
func wilson(p, n, z float64) (low, high float64) {
	d := 1 + z*z/n
	mid := (p + z*z/(2*n)) / d
	half := z / d * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return max(0, mid-half), min(1, mid+half)
}

// merge joins neighbours so that most are left.
func merge(x []float64) []float64 {
	if len(x) <= most {
		return x
	}
	out := make([]float64, most)
	for i, v := range x {
		out[i*most/len(x)] += v
	}
	return out
}
