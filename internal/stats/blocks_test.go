package stats

import (
	"math"
	"math/rand/v2"
	"testing"

	"hostlab/internal/result"
)

// triples are blocks of three normal values, and a covariate of them.
func triples(rng *rand.Rand, n int) (values, covariate [][]float64) {
	values, covariate = make([][]float64, 3), make([][]float64, 3)
	for c := range values {
		for range n {
			x := rng.NormFloat64()
			covariate[c] = append(covariate[c], x)
			values[c] = append(values[c], rng.NormFloat64()+2*x)
		}
	}
	return values, covariate
}

// tail is the probability of ranks as high as they are at theta (side 1), or as low (-1).
func (a *aligned) tail(theta float64, side int) float64 { return a.exact(a.short(theta, side)) }

// The tail is the share of all 3^n ways in which coins could have fallen that give ranks as extreme.
func TestRandomisedIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for trial := range 40 {
		const n = 5
		values, covariate := triples(rng, n)
		theta := rng.NormFloat64()
		if trial%2 == 0 { // ties, which theta would break by rounding
			theta = 0
			for c := range values {
				for b := range values[c] {
					values[c][b] = math.Round(values[c][b])
				}
			}
		}
		if trial%4 < 2 {
			covariate = nil
		}
		for b := range values[0] {
			values[0][b] -= theta
		}
		ranks := Ranks(align(values, covariate).z)
		seen, all, below, above := 0.0, 1, 0, 0
		for b := range n {
			seen += ranks[3*b]
			all *= 3
		}
		for way := range all {
			sum := 0.0
			for b, w := 0, way; b < n; b, w = b+1, w/3 {
				sum += ranks[3*b+w%3]
			}
			if sum >= seen {
				above++
			}
			if sum <= seen {
				below++
			}
		}
		for b := range values[0] {
			values[0][b] += theta
		}
		a := align(values, covariate)
		if up, down := a.tail(theta, 1), a.tail(theta, -1); math.Abs(up-float64(above)/243) > 1e-12 || math.Abs(down-float64(below)/243) > 1e-12 {
			t.Errorf("trial %d: tails %v and %v, of all ways %v and %v", trial, up, down, float64(above)/243, float64(below)/243)
		}
	}
}

// The interval holds what is not refused, and nothing more: just inside, no tail is below alpha/2, and just outside, one is.
func TestRandomisedInvertsTheTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for range 30 {
		values, covariate := triples(rng, 6+rng.IntN(10))
		for _, with := range [][][]float64{nil, covariate} {
			iv, slope := Randomised(values, with, 0.05)
			a := align(values, with)
			const e = 1e-9
			if a.tail(iv.Low-e, 1) > 0.025 || a.tail(iv.Low+e, 1) <= 0.025 || a.tail(iv.High+e, -1) > 0.025 || a.tail(iv.High-e, -1) <= 0.025 {
				t.Errorf("%v: tails %v %v, %v %v", iv, a.tail(iv.Low-e, 1), a.tail(iv.Low+e, 1), a.tail(iv.High+e, -1), a.tail(iv.High-e, -1))
			}
			if !(iv.Low < iv.Value && iv.Value < iv.High) || with == nil != (slope == 0) || with != nil && math.Abs(slope-2) > 1.5 {
				t.Errorf("%v, slope %v", iv, slope)
			}
			// A shift of one cell is a shift of the effect, one of all of a block is nothing.
			for c := range values {
				for b := range values[c] {
					values[c][b] += float64(b * b)
				}
			}
			for b := range values[0] {
				values[0][b] += 3
			}
			if moved, _ := Randomised(values, with, 0.05); math.Abs(moved.Low-iv.Low-3) > 1e-9 || math.Abs(moved.High-iv.High-3) > 1e-9 || math.Abs(moved.Value-iv.Value-3) > 1e-9 {
				t.Errorf("%v moved by 3 is %v", iv, moved)
			}
		}
	}
}

func TestRandomisedOfOddValues(t *testing.T) {
	same := []float64{1, 1, 1, 1, 1, 1}
	if iv, _ := Randomised([][]float64{same, same, same}, nil, 0.05); iv != (result.Estimate{N: 6}) {
		t.Errorf("of values that are all the same: %v", iv)
	}
	if iv, _ := Randomised([][]float64{same, same, same}, [][]float64{same, same, same}, 0.05); iv != (result.Estimate{N: 6}) {
		t.Errorf("with a covariate that is all the same: %v", iv)
	}
	few := [][]float64{{1, 2, 3}, {1, 1, 1}, {2, 2, 2}}
	if iv, _ := Randomised(few, nil, 0.05); !math.IsNaN(iv.Low) || math.IsNaN(iv.Value) || minRandomised(0.05, 2) != 4 {
		t.Errorf("3 blocks have an interval: %v", iv)
	}
	few[1][1] = math.Inf(1)
	if iv, _ := Randomised(few, nil, 0.05); !math.IsNaN(iv.Value) {
		t.Errorf("of infinity: %v", iv)
	}
	if iv, _ := Randomised([][]float64{nil, nil, nil}, nil, 0.05); !math.IsNaN(iv.Value) || iv.N != 0 {
		t.Errorf("of nothing: %v", iv)
	}
}

// The intervals of all looks hold the truth together as LookAlphas promises. With 20,000
// experiments: 5.00 % are left without a covariate.
func TestRandomisedCoversAtAllLooks(t *testing.T) {
	looks := []int{7, 8, 9, 10, 12, 14, 17, 20, 25, 30}
	alphas := LookAlphas(0.05, looks, false)
	rng := rand.New(rand.NewPCG(1, 2))
	const times = 2000
	for _, adjust := range []bool{false, true} {
		left := 0
		for range times {
			values, covariate := triples(rng, looks[len(looks)-1])
			for k, n := range looks {
				first := func(x [][]float64) [][]float64 { return [][]float64{x[0][:n], x[1][:n], x[2][:n]} }
				var with [][]float64
				if adjust {
					with = first(covariate)
				}
				if a := align(first(values), with); min(a.tail(0, 1), a.tail(0, -1)) <= alphas[k]/2 {
					left++
					break
				}
			}
		}
		if low, high := Share(left, times, 0.001); low > 0.05 || high < 0.04 {
			t.Errorf("covariate %v: %d of %d left", adjust, left, times)
		}
	}
}

// Where the exact law ends, the normal one differs by a few hundredths of alpha.
func TestRandomisedOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 20 {
		values, _ := triples(rng, maxExactBlocks)
		a := align(values, nil)
		iv, _ := Randomised(values, nil, 0.01)
		for _, c := range []struct {
			theta float64
			side  int
		}{{iv.Low, 1}, {iv.High, -1}} {
			short, seen := a.short(c.theta, c.side)
			if p, q := a.exact(short, seen), a.normal(short, seen); q < 0.95*p || q > 1.15*p {
				t.Errorf("at %v, %v by the exact law and %v by the normal one", c.theta, p, q)
			}
		}
	}
	values, _ := triples(rng, 300)
	for b := range values[0] {
		values[0][b] += 10
	}
	// The standard error of the estimate is 0.16.
	if iv, _ := Randomised(values, nil, 0.05); iv.Low > 10.2 || iv.High < 9.8 || iv.High-iv.Low < 0.5 || iv.High-iv.Low > 0.8 {
		t.Errorf("of 300 blocks: %v", iv)
	}
}
