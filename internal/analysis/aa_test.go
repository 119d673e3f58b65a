package analysis

import (
	"math"
	"testing"

	"hostlab/internal/result"
)

// pairs puts pairs of the baseline with itself behind the plan, with the second's log ratio to the first.
func (l *lab) pairs(d []float64) *lab {
	for _, v := range d {
		b := len(l.x.Blocks)
		l.x.Blocks = append(l.x.Blocks, result.Block{Plots: [][]int{{0, 0}}})
		for slot, y := range []float64{math.Exp(v), 1} {
			l.runs = append(l.runs, result.Run{Block: b, Slot: slot, Status: result.OK, Values: map[string]float64{"wall": y}})
		}
	}
	l.x.Design.AA = len(d)
	return l
}

// Pairs of the baseline with itself give the noise floor and what the plan finds, and change no effect.
func TestPairsOfTheBaseline(t *testing.T) {
	plain := newLab().fill(10, noisy(1, 0.02, 0.05)).analyse()
	a := newLab().fill(10, noisy(1, 0.02, 0.05)).pairs(about(0, 0.03, 7)).analyse()
	e, aa := a.Effects[0], a.AA[0]
	if e.Estimate != plain.Effects[0].Estimate || a.Blocks != 10 || len(a.Used) != 20 ||
		len(a.Warnings) != len(plain.Warnings) {
		t.Errorf("%v with pairs, %v without; %d blocks, %d runs, %q", e.Estimate, plain.Effects[0].Estimate, a.Blocks,
			len(a.Used), a.Warnings)
	}
	if aa.N != 7 || !(aa.Floor > 0.02 && aa.Floor < 0.04) || !(aa.Finds > 0.02) || e.NoiseFloor != aa.Floor {
		t.Errorf("%+v, floor of the effect %v", aa, e.NoiseFloor)
	}
	if len(plain.AA) > 0 || !math.IsNaN(plain.Effects[0].NoiseFloor) {
		t.Errorf("without pairs: %+v", plain.AA)
	}
}
