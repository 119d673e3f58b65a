package analysis

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

var voidTimes = flag.Int("void.experiments", 2000, "experiments for each figure of TestFalseVoidOfFew")

// A duplicate that differs must void however few blocks there are, also where ranks
// have no interval at 99 %.
func TestVoidOfFew(t *testing.T) {
	for n, want := range map[int]bool{5: false, 6: true, 7: true, 8: true} {
		l := newLab()
		l.x.Design.Looks = []int{n}
		l.fill(n, exactly(about(0, 0.01, n), about(0.5, 0.01, n)))
		a := l.analyse()
		if a.AA[0].Void != want || want && a.Effects[0].Verdict != VoidVerdict {
			t.Errorf("%d blocks: void %v, want %v: %+v", n, a.AA[0].Void, want, a.Effects[0].Reason)
		}
		if want && a.AA[0].VoidStudent != (n < 8) {
			t.Errorf("%d blocks: %+v", n, a.AA[0].Reason)
		}
	}
	// A share of alpha may take more blocks than the rule does.
	l := newLab()
	l.x.Responses[0].Primary = false // the effect is at 5 %, and has an interval
	l.x.Design.Looks = []int{7}
	if a := l.fill(7, exactly(about(0, 0.01, 7), about(0.5, 0.01, 7))).analyse(); a.Effects[0].Verdict != VoidVerdict {
		t.Errorf("secondary: %+v", a.Effects[0].Reason)
	}
}

// Without a difference, studies of 6 to 8 blocks are void in 1 % or less. In %, at 6,
// 7 and 8 blocks, `go test ./internal/analysis -run FalseVoidOfFew -v
// -void.experiments 200000` gave: normal 0.98, 1.00, 0.77; outliers 0.66, 0.62, 0.79;
// skewed 0.49, 0.52, 0.80; heavy 0.51, 0.50, 0.82; whole ticks 0.61, 0.96, 0.06;
// uniform 1.07, 1.13, 0.80.
func TestFalseVoidOfFew(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for _, noise := range []struct {
		name string
		z    func() float64
	}{
		{"normal", rng.NormFloat64},
		{"outliers", func() float64 {
			z := 0.02 * rng.NormFloat64()
			if rng.Float64() < 0.05 {
				z += math.Log1p(0.2 * rng.ExpFloat64())
			}
			return z
		}},
		{"skewed", rng.ExpFloat64},
		{"heavy", func() float64 { return rng.NormFloat64() / math.Sqrt(rng.ExpFloat64()) }},
		{"whole ticks", func() float64 { return math.Round(rng.NormFloat64()) }},
		{"uniform", rng.Float64},
	} {
		for _, n := range []int{6, 7, 8} {
			j := judge{record: &record{x: newLab().x}, judged: true, primary: 0.05, secondary: 0.05}
			void := 0
			for range *voidTimes {
				d := make([]float64, n)
				for i := range d {
					d[i] = noise.z() - noise.z()
				}
				if iv, _ := j.voided(d); iv.Low > 0 || iv.High < 0 {
					void++
				}
			}
			share := float64(void) / float64(*voidTimes)
			t.Logf("%s, %d blocks: %.2f %%", noise.name, n, 100*share)
			if limit := 0.012 + 3*math.Sqrt(0.012/float64(*voidTimes)); share > limit {
				t.Errorf("%s, %d blocks: %.2f %% void without a difference, want at most 1.2", noise.name, n, 100*share)
			}
		}
	}
}
