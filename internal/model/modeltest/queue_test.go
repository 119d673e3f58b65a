package modeltest

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"hostlab/internal/testkit"
)

func TestClosedForms(t *testing.T) {
	near := func(name string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	near("M/M/1 as M/M/c", MMC(1, 0.8, 1), 5)
	near("M/M/2 at 0.5: 1/(1-rho^2)", MMC(2, 1, 1), 4.0/3)
	near("Erlang C at 8 servers, 6.4 erlangs", ErlangC(8, 6.4), erlangCByDefinition(8, 6.4))
	near("M/D/1", MG1(0.8, 1, 0), 3)
	near("M/M/1 as M/G/1", MG1(0.8, 1, 1), 5)
	r, x := MVA(1, 4, []float64{1, 2})
	near("MVA with one user", r, 3)
	near("its throughput", x, 1.0/7)
	a, ax := MVA(20, 5, []float64{0.5})
	b, bx := Repair(20, 1, 5, 0.5)
	near("MVA against the birth-death process", a, b)
	near("their throughputs", ax, bx)
	m, cv := HyperMoments(0.5, 1, 1)
	near("mean of two equal branches", m, 1)
	near("their variation", cv, 1)
}

func erlangCByDefinition(c int, a float64) float64 {
	sum, term := 0.0, 1.0
	for k := range c {
		sum += term
		term *= a / float64(k+1)
	}
	top := term * float64(c) / (float64(c) - a)
	return top / (sum + top)
}

// With equal services the two disciplines serve in the same order, and on every
// path sharing can only delay each job; both must be busy within their horizon.
func TestSharingDelaysEqualJobs(t *testing.T) {
	testkit.Check(t, func(t *rapid.T) {
		c := Config{Servers: 1, Rate: rapid.Float64Range(0.1, 0.9).Draw(t, "rate"), Service: Fixed(1),
			Jobs: 400, Seed: rapid.Uint64().Draw(t, "seed")}
		f, p := FIFO(c), PS(c)
		if f.Horizon > p.Horizon+1e-6 || f.Response.Mean() > p.Response.Mean()+1e-6 {
			t.Fatalf("FIFO ends at %v with mean %v, PS at %v with mean %v", f.Horizon, f.Response.Mean(), p.Horizon, p.Response.Mean())
		}
		if f.Busy < 400 || p.Busy < 400-1e-6 || p.Busy > p.Horizon {
			t.Fatalf("busy for %v and %v s of %v and %v s", f.Busy, p.Busy, f.Horizon, p.Horizon)
		}
		if again := FIFO(c); again.Horizon != f.Horizon || again.Response.Mean() != f.Response.Mean() {
			t.Fatal("the same seed gave another run")
		}
	})
}

// BenchmarkMM8 reports jobs per CPU second on M/M/8 at load 0.8, the figure by
// which engines are compared.
func BenchmarkMM8(b *testing.B) {
	r := FIFO(Config{Servers: 8, Rate: 6.4, Service: Exponential(1), Jobs: b.N, Seed: 1})
	if b.N > 1e6 && math.Abs(r.Response.Mean()/MMC(8, 6.4, 1)-1) > 0.05 {
		b.Fatalf("mean response %v, theory %v", r.Response.Mean(), MMC(8, 6.4, 1))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
}
