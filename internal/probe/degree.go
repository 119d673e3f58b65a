package probe

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload/xmlquery"
)

// How large the degree probe's query is.
const (
	degreeData   = 24 << 20               // B of XML at most: beyond level 2 caches, at ease in memory
	degreeLeast  = 4 << 20                // B of it at least, on a slow host
	degreeTarget = 150 * time.Millisecond // of the query at degree 1
	degreeShort  = 10 * time.Millisecond  // a run at a high degree repeats the scan to last as long
	degreeMemory = 192 << 20              // B, the collector runs beyond it
)

// degreeProbe measures what parallelism makes of a CPU-bound cached query.
type degreeProbe struct{}

// NewDegree returns the probe of the degree of parallelism.
func NewDegree() Probe { return degreeProbe{} }

// Name implements Probe.
func (degreeProbe) Name() string { return "degree" }

// Title implements Probe.
func (degreeProbe) Title() string { return "Speed-up of a cached query with its degree of parallelism" }

// Share implements Probe.
func (degreeProbe) Share() float64 { return 0.20 }

// degrees are the powers of two below n, and n.
func degrees(n int) []int {
	var d []int
	for k := 1; k < n; k *= 2 {
		d = append(d, k)
	}
	return append(d, n)
}

// condition is one degree and the seconds that one scan took in each round. The
// first condition is degree 1, the second the same again, for the noise floor.
type condition struct {
	degree int
	passes int // scans in one run
	times  []float64
}

// Run implements Probe.
func (p degreeProbe) Run(ctx context.Context, cfg Config) (Outcome, error) {
	began := time.Now()
	out := Outcome{Probe: p.Name(), Title: p.Title()}
	if len(cfg.CPUs) < 2 {
		out.Skipped = "this process may use one CPU only, and parallelism takes two: run it where more are allowed (see taskset -p, and the container's CPU set)"
		return out, nil
	}
	// Go would use no more threads than the cgroup's quota allows; that it is the
	// quota which limits the speed-up shall be measured, not assumed. And the
	// garbage collector has no part in the query, which does not allocate.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(len(cfg.CPUs)))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if limit := debug.SetMemoryLimit(-1); limit > degreeMemory {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(degreeMemory))
	}

	table, conds, err := plan(ctx, cfg)
	if err != nil {
		return out, err
	}
	if err := measureDegrees(ctx, cfg, began, table, conds); err != nil {
		return out, err
	}
	out.Seconds = time.Since(began).Seconds()
	if len(conds[0].times) == 0 {
		out.Skipped = fmt.Sprintf("not one round fitted into %s: the host is too slow or too busy; run it again without --quick", cfg.Budget.Round(time.Second))
		return out, nil
	}
	out.Method = fmt.Sprintf("The query shreds %d generated orders (%.0f MiB of XML, in memory) into rows and typed columns: row path, values, a node "+
		"kept as XML. Workers take rows in small chunks and are placed by the operating system. Each round runs every degree once, in "+
		"random order, and degree 1 twice for the noise floor; speed-up is the time at degree 1 over that at degree d in the same round.",
		table.Rows(), float64(table.Bytes())/(1<<20))
	summariseDegrees(&out, cfg, table, conds)
	return out, nil
}

// plan generates the table: as large as lets degree 1 take about degreeTarget and
// enough rounds for an interval fit into the budget. A small one tells the speed.
func plan(ctx context.Context, cfg Config) (*xmlquery.Table, []condition, error) {
	table, err := xmlquery.Generate(ctx, degreeLeast, cfg.Seed)
	if err != nil {
		return nil, nil, err
	}
	var once time.Duration
	for range 2 { // the first one touches the memory
		if _, once, err = xmlquery.Query(ctx, table, 1, 1); err != nil {
			return nil, nil, err
		}
	}
	conds := []condition{{degree: 1}}
	cost := 1.0 // of a round, in queries at degree 1
	for _, d := range degrees(len(cfg.CPUs)) {
		conds = append(conds, condition{degree: d})
		cost += 1 / float64(min(d, 8)) // no more speed-up is counted on
	}
	target := min(float64(degreeTarget), 0.8*float64(cfg.Budget)/cost/float64(2*stats.MinBlocks(cfg.Alpha)))
	if scale := min(target/float64(once), float64(degreeData)/degreeLeast); scale > 1 {
		if table, err = xmlquery.Generate(ctx, int(scale*degreeLeast), cfg.Seed); err != nil {
			return nil, nil, err
		}
		once = time.Duration(scale * float64(once))
	}
	for i := range conds {
		ideal := once / time.Duration(conds[i].degree)
		conds[i].passes = int((degreeShort + ideal - 1) / max(ideal, 1))
	}
	return table, conds, nil
}

func measureDegrees(ctx context.Context, cfg Config, began time.Time, table *xmlquery.Table, conds []condition) error {
	rng := rand.New(rand.NewPCG(cfg.Seed, 0x646567726565))
	end := began.Add(cfg.Budget)
	var want xmlquery.Sum
	var longest time.Duration
	for round := 0; !time.Now().Add(longest).After(end); round++ {
		start := time.Now()
		times := make([]float64, len(conds))
		for _, i := range rng.Perm(len(conds)) {
			c := conds[i]
			sum, took, err := xmlquery.Query(ctx, table, c.degree, c.passes)
			if err != nil {
				return err
			}
			sum = xmlquery.Sum{Rows: sum.Rows / int64(c.passes), Check: sum.Check}
			if c.passes == 1 {
				if want.Rows != 0 && sum != want {
					return fmt.Errorf("degree %d returned %v, another one %v: the query is broken", c.degree, sum, want)
				}
				want = sum
			}
			times[i] = took.Seconds() / float64(c.passes)
		}
		longest = max(longest, time.Since(start))
		if round == 0 && longest < cfg.Budget/8 {
			continue // warm-up of threads, caches and frequency, if there is time for it
		}
		for i := range conds {
			conds[i].times = append(conds[i].times, times[i])
		}
		if cfg.Report != nil {
			cfg.Report(min(time.Since(began), cfg.Budget), cfg.Budget)
		}
	}
	return nil
}

func summariseDegrees(out *Outcome, cfg Config, table *xmlquery.Table, conds []condition) {
	base := conds[0].times
	floor := stats.Floor(stats.PairedRatio(conds[1].times, base, cfg.Alpha))
	// Both runs at degree 1 of a round are equally its baseline.
	for i := range base {
		base[i] = math.Sqrt(base[i] * conds[1].times[i])
	}
	quota, limited := cpuQuota(cfg.Facts)
	if limited && quota < float64(len(cfg.CPUs)) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the control group allows %.3g of %d CPUs: higher degrees are throttled (cpu.max)", quota, len(cfg.CPUs)))
	}
	bytes := slices.Repeat([]float64{float64(table.Bytes())}, len(base))
	throughput := result.Measurement{Probe: "degree", Name: "degree.throughput.1", Title: "XML scanned per second by one worker", Unit: "B/s",
		Estimate: interval(stats.PairedRatio(bytes, base, cfg.Alpha)), Evidence: result.Measured, Labels: map[string]string{"degree": "1"}}
	throughput.NoiseFloor = floor * throughput.Estimate.Value
	out.Measurements = append(out.Measurements, throughput)
	for _, c := range conds[2:] {
		d := strconv.Itoa(c.degree)
		up := stats.PairedRatio(base, c.times, cfg.Alpha)
		m := result.Measurement{Probe: "degree", Unit: "ratio", Evidence: result.Measured, Labels: map[string]string{"degree": d}}
		if limited && float64(c.degree) > quota {
			m.Labels = map[string]string{"degree": d, "quota": strconv.FormatFloat(quota, 'g', 3, 64)}
			m.Warnings = []string{fmt.Sprintf("above the control group's limit of %.3g CPUs", quota)}
		}
		speedup, efficiency := m, m
		speedup.Name, speedup.Title = "degree.speedup."+d, "Speed-up of "+d+" workers over one"
		speedup.Estimate, speedup.NoiseFloor = interval(up), floor*up.Estimate // the baseline's noise scales with it
		k := float64(c.degree)
		efficiency.Name, efficiency.Title = "degree.efficiency."+d, "Speed-up of "+d+" workers over "+d+" times one"
		efficiency.Estimate = &result.Estimate{Value: up.Estimate / k, Low: up.Low / k, High: up.High / k, N: up.N}
		efficiency.NoiseFloor = speedup.NoiseFloor / k
		out.Measurements = append(out.Measurements, speedup, efficiency)
	}
	if n := len(base); n < stats.MinBlocks(cfg.Alpha) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d rounds fitted into the time and an interval takes %d: run it again without --quick, or on a quieter host", n, stats.MinBlocks(cfg.Alpha)))
	}
}

func cpuQuota(facts *host.Facts) (float64, bool) {
	if facts == nil {
		return 0, false
	}
	return facts.Limits.CPUQuota.Get()
}
