package modeltest

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"

	"hostlab/internal/model"
	"hostlab/internal/testkit"
)

// replications of textbook queues, and jobs in each. 1 % of a mean response at
// load 0.8 needs some 10 million jobs.
const (
	queueReplications = 10
	queueJobs         = 1_200_000
)

func interval(x []float64) Answer {
	mean, sd := stat.MeanStdDev(x, nil)
	n := float64(len(x))
	half := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(1-(1-level)/2) * sd / math.Sqrt(n)
	return Answer{Mean: mean, Low: mean - half, High: mean + half, N: len(x)}
}

func replicated(f func(replication int) float64) func(context.Context) (Answer, error) {
	return func(ctx context.Context) (Answer, error) {
		x := make([]float64, queueReplications)
		g, ctx := errgroup.WithContext(ctx)
		g.SetLimit(runtime.NumCPU())
		for i := range x {
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				x[i] = f(i)
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return Answer{}, err
		}
		return interval(x), nil
	}
}

func theory() []Case {
	// Nine of ten services are short.
	const p, short, long = 0.9, 0.5, 5.5
	mean, cv := HyperMoments(p, short, long)
	name := func(text string) string { return fmt.Sprintf("%s, cv %.4g", text, cv) }
	hyper := HyperExponential(p, short, long)
	config := func(servers int, load, service float64, s Service, replication int) Config {
		return Config{Servers: servers, Rate: load * float64(servers) / service, Service: s,
			Jobs: queueJobs, WarmUp: queueJobs / 10, Seed: seed, Replication: replication}
	}
	engine := func(name, source string, expected float64, run func(replication int) float64) Case {
		return Case{Name: name + ", engine", Group: Theory, Source: source, What: "mean response", Unit: "s",
			Expected: expected, Tolerance: 0.01, Run: replicated(run)}
	}
	stations := []float64{0.04, 0.1}
	mva, _ := MVA(20, 1, stations)
	cases := []Case{
		engine("M/M/1 at 0.8", "1/(mu-lambda)", MMC(1, 0.8, 1), func(i int) float64 {
			return FIFO(config(1, 0.8, 1, Exponential(1), i)).Response.Mean()
		}),
		engine("M/M/8 at 0.8", "Erlang C", MMC(8, 6.4, 1), func(i int) float64 {
			return FIFO(config(8, 0.8, 1, Exponential(1), i)).Response.Mean()
		}),
		engine(name("M/G/1 first come first served at 0.6"), "Pollaczek and Khinchine", MG1(0.6/mean, mean, cv), func(i int) float64 {
			return FIFO(config(1, 0.6, mean, hyper, i)).Response.Mean()
		}),
		engine(name("M/G/1 processor sharing at 0.6"), "E[S]/(1-rho)", MG1PS(0.6/mean, mean), func(i int) float64 {
			return PS(config(1, 0.6, mean, hyper, i)).Response.Mean()
		}),
		engine("closed network of 20 users, 2 stations", "exact mean value analysis", mva, func(i int) float64 {
			return Closed(Network{Users: 20, Think: 1, Stations: stations, Cycles: 200_000, WarmUp: 5000,
				Seed: seed, Replication: i}).Response.Mean()
		}),
	}
	return append(cases, machineTheory()...)
}

// flat is a machine on which policies and sharing do nothing: a bank of servers.
func flat(cpus int) model.Machine {
	return model.Machine{Name: "flat", Sockets: 1, CoresPerSocket: cpus, ThreadsPerCore: 1, PStates: []float64{1e9},
		Nominal: 1e9, Domain: model.PerThread, Power: model.Power{LowVolts: 1, NominalVolts: 1}}
}

// machineTheory takes the same forms through the whole model: machine, placement,
// workload, meter and statistics.
func machineTheory() []Case {
	exp := model.Dist{Kind: model.DistExponential, Mean: 0.1}
	open := func(cpus int, load float64, slice model.Dist, steps int) Case {
		return Case{Group: Theory, What: "mean step time", Unit: "s", Tolerance: 0.01,
			Run: response(func() model.Case {
				return model.Case{Machine: flat(cpus), Policy: policy("performance"), Load: load,
					Workload: model.Workload{Name: "steps", Kind: model.Dialog, Slices: 1, Slice: slice, Placement: model.Spread}}
			}, model.Options{Replications: 10, Steps: steps}, model.StepTime)}
	}
	name := func(c Case, name, source string, expected float64) Case {
		c.Name, c.Source, c.Expected = name+", machine", source, expected
		return c
	}
	const users, think = 60, 1.0
	closed := Case{Group: Theory, What: "mean step time", Unit: "s", Tolerance: 0.01,
		Run: response(func() model.Case {
			return model.Case{Machine: flat(4), Policy: policy("performance"), Workload: model.Workload{Name: "users", Kind: model.Dialog,
				Users: users, Slices: 1, Slice: exp, Think: model.Dist{Kind: model.DistExponential, Mean: think}, Placement: model.Packed}}
		}, model.Options{Replications: 10, Steps: 200_000}, model.StepTime)}
	repair, _ := Repair(users, 4, think, exp.Mean)
	const cv = 0.5
	return []Case{
		name(open(1, 0.8, exp, 1_000_000), "M/M/1 at 0.8", "1/(mu-lambda)", MMC(1, 8, 0.1)),
		name(open(8, 0.8, exp, 500_000), "M/M/8 at 0.8", "Erlang C", MMC(8, 64, 0.1)),
		name(open(1, 0.7, model.Dist{Kind: model.DistLognormal, Mean: 0.1, CV: cv}, 500_000),
			"M/G/1 first come first served at 0.7, cv "+strconv.FormatFloat(cv, 'g', 3, 64), "Pollaczek and Khinchine", MG1(7, 0.1, cv)),
		name(closed, "60 users at 4 CPUs", "machine repairman, balance equations", repair),
	}
}

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
	testkit.Check(t, rapid.Check, func(t *rapid.T) {
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
