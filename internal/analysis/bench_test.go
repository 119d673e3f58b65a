package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"hostlab/internal/result"
)

// A record of 100,000 runs: 50,000 blocks of baseline and level.
func BenchmarkAnalyse(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	l := newLab().fill(50_000, func(int, result.Cell) []float64 { return []float64{math.Exp(rng.NormFloat64())} })
	for i := range l.runs {
		run := &l.runs[i]
		run.Boot = "5c1d"
		run.Before = l.x.Cells[run.Cell].Levels
		run.After = run.Before
		run.Conditions = map[string]float64{"foreign_cpu": 0.01, "steal": 0.001, "throttled": 0}
	}
	b.ResetTimer()
	for b.Loop() {
		if a := l.ended("looks"); a.Effects[0].N != 50_000 {
			b.Fatalf("%+v", a.Effects[0].Reason)
		}
	}
}
