package explain

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"hostlab/internal/result"
	"hostlab/internal/stats"
)

// Change is how the time of a transaction differs between two recordings of a service.
type Change struct {
	Before float64 `json:"before"` // active s a transaction
	After  float64 `json:"after"`
	// of After to Before, with the 95 % interval by how stretches of each differ; N are those of both
	Ratio result.Estimate `json:"ratio"`
	Part  PartName        `json:"part"` // that moved most in the direction of the change
	By    float64         `json:"by"`   // s a transaction
	// Days is by how much equal times of days differ, a standard deviation of the logarithm, which the interval allows
	// for; 0: not known.
	Days float64 `json:"days"`
}

// blocks is how many stretches of a recording stand for it: neighbours go together, and so are no samples of their own.
const blocks = 10

// ChangeOf compares two recordings; false where one of them counted no transactions, or nothing ran. days is by how
// much equal times of days differ, as a standard deviation of the logarithm; 0: that is not known, and the interval
// speaks of these times alone.
func ChangeOf(before, after *Report, days float64) (c Change, ok bool) {
	if before.Transactions <= 0 || after.Transactions <= 0 || before.Busy <= 0 || after.Busy <= 0 {
		return c, false
	}
	b, a := float64(before.Transactions), float64(after.Transactions)
	c.Before, c.After = before.Busy/b, after.Busy/a
	one, two := before.each(), after.each()
	sum := one.variance + two.variance // of the logarithm
	half := math.NaN()
	if one.n > 1 && two.n > 1 {
		// Welch and Satterthwaite's degrees of freedom
		df := float64(one.n + two.n - 2)
		if sum > 0 {
			df = sum * sum / (one.variance*one.variance/float64(one.n-1) + two.variance*two.variance/float64(two.n-1))
		}
		half = distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(0.975) * math.Sqrt(sum)
	}
	half = math.Hypot(half, 1.96*days)
	c.Days = days
	ratio := math.Log(c.After / c.Before)
	c.Ratio = result.Estimate{Value: ratio, Low: ratio - half, High: ratio + half, N: one.n + two.n,
		Evidence: result.Measured}.Map(math.Exp)
	for _, p := range PartNames {
		moved := after.Part(p).Seconds/a - before.Part(p).Seconds/b
		if p != Idle && math.Abs(moved) > math.Abs(c.By) && (moved > 0) == (ratio > 0) {
			c.Part, c.By = p, moved
		}
	}
	return c, true
}

// scatter is that of the logarithm of the time of a transaction, by n stretches.
type scatter struct {
	variance float64
	n        int
}

func (r *Report) each() scatter {
	var busy, done []float64
	n := min(blocks, len(r.Course))
	for i, s := range r.Course {
		if at := i * n / len(r.Course); at == len(busy) {
			busy, done = append(busy, 0), append(done, 0)
		}
		for p, seconds := range s.Parts {
			if p != Idle {
				busy[len(busy)-1] += seconds
			}
		}
		done[len(done)-1] += float64(max(0, s.Transactions))
	}
	e := stats.RatioOfSums(busy, done, 0.05)
	if n < 2 || !(e.Value > 0) || math.IsNaN(e.High) {
		return scatter{math.NaN(), 0}
	}
	sd := (e.High - e.Low) / 2 / distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(0.975) / e.Value
	return scatter{sd * sd, n}
}
