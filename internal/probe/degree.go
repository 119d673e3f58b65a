package probe

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"hostlab/internal/proc"
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
type degreeProbe struct {
	load  func(cpus []int) (map[int]proc.Load, bool)
	stops func(file string) (stops, bool)
}

// degrees are the powers of two below n, and n. A limit in force leaves out what
// lies between the first degree that reaches it and n: each takes long to run.
func degrees(n int, limit float64) []int {
	var d []int
	reached := false
	for k := 1; k < n && !reached; k *= 2 {
		d = append(d, k)
		reached = limit > 0 && float64(k) >= limit
	}
	return append(d, n)
}

// condition is one degree. The first is degree 1, the second the same again, for the
// noise floor.
type condition struct {
	degree int
	passes int // scans in one run
}

// degreeRound is one run of each condition.
type degreeRound struct {
	seconds []float64 // of one scan
	cpu     []float64 // s on CPUs, of one scan
	stops   []*stops  // under a quota; nil where they cannot be read
	foreign float64   // share of the CPUs' time that others took
}

type degreeRun struct {
	cfg    Config
	limit  cpuLimit
	table  *xmlquery.Table
	conds  []condition
	rounds []degreeRound
}

func (p degreeProbe) Run(ctx context.Context, cfg Config) (out Outcome, err error) {
	began := time.Now()
	if len(cfg.CPUs) < 2 {
		out.Skipped = "this process may use one CPU only, and parallelism takes two: run it where more are allowed (see taskset -p, " +
			"and the container's CPU set)"
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

	r := &degreeRun{cfg: cfg, limit: limitOf(cfg.Facts, len(cfg.CPUs))}
	if err := r.plan(ctx); err != nil {
		return out, err
	}
	if err := p.measure(ctx, r, began); err != nil {
		return out, err
	}
	if len(r.rounds) == 0 {
		out.Skipped = fmt.Sprintf(
			"not one round fitted into %s: the host is too slow or too busy; give it longer by --service none, "+
				"without --quick", cfg.Budget.Round(time.Second))
		return out, nil
	}
	out.Method = fmt.Sprintf(
		"The query shreds %d generated orders (%.0f MiB of XML, in memory) into rows and typed columns: row "+
			"path, values, a node kept as XML. Workers take rows in small chunks and are placed by the operating system. Each round runs "+
			"every degree once, in random order, and degree 1 twice for the noise floor; speed-up is the time at degree 1 over that at "+
			"degree d in the same round.",
		r.table.Rows(), float64(r.table.Bytes())/(1<<20))
	if r.limit.cpus > 0 {
		out.Method += fmt.Sprintf(" Under the quota of %.3g CPUs each run lasts at least %d of its periods.", r.limit.cpus,
			quotaPeriods)
	}
	r.summarise(&out)
	return out, nil
}

// plan generates the table: as large as lets degree 1 take about degreeTarget and
// enough rounds for an interval fit into the budget. A small one tells the speed.
func (r *degreeRun) plan(ctx context.Context) error {
	cfg := r.cfg
	began, own := time.Now(), proc.Own()
	table, err := xmlquery.Generate(ctx, degreeLeast, cfg.Seed)
	if err != nil {
		return err
	}
	var once time.Duration
	for range 2 { // the first one touches the memory
		if _, once, err = xmlquery.Query(ctx, table, 1, 1); err != nil {
			return err
		}
	}
	r.conds = []condition{{degree: 1}}
	cost := 1.0 // of a round, in queries at degree 1
	for _, d := range degrees(len(cfg.CPUs), r.limit.cpus) {
		r.conds = append(r.conds, condition{degree: d})
		cost += 1 / float64(min(d, 8)) // no more speed-up is counted on
	}
	if cfg.Share > 0 { // the CPU time of all degrees is alike, and that is what there is little of
		cost = max(cost, float64(len(r.conds))/cfg.power())
	}
	target := min(float64(degreeTarget), 0.8*float64(cfg.Budget)/cost/float64(2*stats.MinBlocks(cfg.Alpha)))
	if scale := min(target/float64(once), float64(degreeData)/degreeLeast); scale > 1 {
		if table, err = xmlquery.Generate(ctx, int(scale*degreeLeast), cfg.Seed); err != nil {
			return err
		}
		once = time.Duration(scale * float64(once))
	}
	r.table = table
	for i := range r.conds {
		r.conds[i].passes = passes(r.conds[i].degree, once, r.limit)
	}
	return proc.Sleep(ctx, cfg.rest(proc.Own()-own, time.Since(began).Seconds()))
}

// passes is how many scans of once each make a run long enough.
func passes(degree int, once time.Duration, limit cpuLimit) int {
	least, cpus := float64(degreeShort), float64(degree)
	if limit.cpus > 0 {
		// One period more than wanted, for the first may hold unused quota, and the host
		// may be faster than it was just now.
		least, cpus = float64(limit.period)*(quotaPeriods+1), min(cpus, limit.cpus)
	}
	return max(1, int(math.Ceil(least*cpus/float64(max(once, 1)))))
}

func (p degreeProbe) measure(ctx context.Context, r *degreeRun, began time.Time) error {
	rng := rand.New(rand.NewPCG(r.cfg.Seed, 0x646567726565))
	one, _, err := xmlquery.Query(ctx, r.table, 1, 1)
	if err != nil {
		return err
	}
	warm := false
	return pace{now: time.Now, began: began, budget: r.cfg.Budget}.run(func() (bool, error) {
		start := time.Now()
		round, err := p.round(ctx, r, one, rng.Perm(len(r.conds)))
		if err != nil {
			return false, err
		}
		if !warm && time.Since(start) < r.cfg.Budget/8 {
			warm = true // threads, caches and frequency, if there is time for it
			return false, nil
		}
		warm, r.rounds = true, append(r.rounds, round)
		if r.cfg.Report != nil {
			r.cfg.Report(min(time.Since(began), r.cfg.Budget), r.cfg.Budget)
		}
		return true, nil
	})
}

// round runs every condition once. one is what a scan returns.
func (p degreeProbe) round(ctx context.Context, r *degreeRun, one xmlquery.Sum, order []int) (degreeRound, error) {
	out := degreeRound{seconds: make([]float64, len(r.conds)), cpu: make([]float64, len(r.conds)),
		stops: make([]*stops, len(r.conds))}
	start, own := time.Now(), proc.Own()
	before, _ := p.load(r.cfg.CPUs)
	for _, i := range order {
		c := r.conds[i]
		was, known := p.stops(r.limit.file)
		sum, took, err := xmlquery.Query(ctx, r.table, c.degree, c.passes)
		if err != nil {
			return out, err
		}
		if sum.Check != one.Check*uint64(c.passes) || sum.Rows != one.Rows*int64(c.passes) {
			return out, fmt.Errorf("degree %d returned %v in %d scans, one scan %v: the query is broken", c.degree, sum,
				c.passes,
				one)
		}
		out.seconds[i], out.cpu[i] = took.Seconds()/float64(c.passes), sum.CPU.Seconds()/float64(c.passes)
		if is, still := p.stops(r.limit.file); known && still {
			out.stops[i] = &stops{is.periods - was.periods, is.throttled - was.throttled}
		}
		if err := proc.Sleep(ctx, r.cfg.rest(sum.CPU.Seconds(), took.Seconds())); err != nil {
			return out, err
		}
	}
	if after, ok := p.load(r.cfg.CPUs); ok {
		out.foreign = proc.Share(before, after, proc.Own()-own, time.Since(start).Seconds())
	}
	return out, nil
}

// disturbance says how many of the rounds that count others disturbed: "" for none, or
// where enough were left without them.
func (r *degreeRun) disturbance(used, clean int) string {
	if used == clean {
		return ""
	}
	return fmt.Sprintf("other work took more than %.0f %% of these CPUs in %d of %d rounds, and %.0f %% in half of them",
		100*disturbedShare, used-clean, used,
		100*stats.Median(column(r.rounds, func(x degreeRound) float64 { return x.foreign })))
}

func (r *degreeRun) summarise(out *Outcome) {
	cfg := r.cfg
	rounds, clean := undisturbed(r.rounds, func(x degreeRound) bool { return x.foreign <= disturbedShare }, cfg.Alpha)
	disturbed := r.disturbance(len(rounds), clean)
	seconds := func(cond int) []float64 {
		return column(rounds, func(x degreeRound) float64 { return x.seconds[cond] })
	}
	noise := floor(seconds(1), seconds(0), cfg.Alpha)
	// Both runs at degree 1 of a round are equally its baseline.
	base := column(rounds, func(x degreeRound) float64 { return math.Sqrt(x.seconds[0] * x.seconds[1]) })
	labels := func(degree int) result.Labels { return result.Labels{Degree: degree, Disturbed: disturbed} }
	var warnings []string
	switch left := len(r.rounds) - len(rounds); {
	case disturbed != "":
		warnings = []string{disturbed + ": this is what they left"}
		out.Warnings = append(out.Warnings, disturbed)
	case left > 0:
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d more rounds, in which others took part of the CPUs, are left out",
			left))
	}
	bytes := slices.Repeat([]float64{float64(r.table.Bytes())}, len(base))
	throughput := blank(Throughput, ".1", "XML scanned per second by one worker", "B/s", labels(1))
	throughput.Estimate, throughput.Warnings = ratio(bytes, base, cfg.Alpha), warnings
	throughput.NoiseFloor = noise * throughput.Estimate.Value
	out.Measurements = append(out.Measurements, throughput)
	for i, c := range r.conds {
		if i < 2 {
			continue
		}
		d := strconv.Itoa(c.degree)
		speedup := blank(SpeedUp, "."+d, "Speed-up of "+d+" workers over one", "ratio", labels(c.degree))
		speedup.Warnings = slices.Clone(warnings)
		r.throttling(&speedup, c.degree, column(rounds, func(x degreeRound) *stops { return x.stops[i] }))
		efficiency := speedup
		efficiency.Kind, efficiency.Name, efficiency.Title = Efficiency, string(Efficiency)+"."+d,
			"Speed-up of "+d+" workers over "+d+" times one"
		cpu := func(cond int) []float64 { return column(rounds, func(x degreeRound) float64 { return x.cpu[cond] }) }
		if speedup.Reason == "" {
			up, k := ratio(base, seconds(i), cfg.Alpha), float64(c.degree)
			speedup.Estimate, speedup.NoiseFloor = up, noise*up.Value // the baseline's noise scales with it
			efficiency.Estimate = new(up.Map(func(v float64) float64 { return v / k }))
			efficiency.NoiseFloor = speedup.NoiseFloor / k
			if disturbed != "" && r.limit.cpus == 0 && !slices.Contains(cpu(0), 0) && len(base) >= stats.MinBlocks(cfg.Alpha) {
				// What others took is no loss of parallelism: the CPU time of the workers tells that. In a guest it counts
				// the hypervisor's pauses, too, which takes a median of many rounds to leave out.
				efficiency.Estimate, efficiency.NoiseFloor = ratio(cpu(0), cpu(i), cfg.Alpha), floor(cpu(1), cpu(0), cfg.Alpha)
				efficiency.Labels.Disturbed, efficiency.Warnings = "", nil
				efficiency.Title += ", by their CPU time"
			}
		} else {
			speedup.Warnings, efficiency.Warnings = nil, nil
		}
		out.Measurements = append(out.Measurements, speedup, efficiency)
	}
	if r.limit.cpus > 0 {
		last := out.Measurements[len(out.Measurements)-1]
		text := fmt.Sprintf("the control group allows %.3g of %d CPUs", r.limit.cpus, len(cfg.CPUs))
		if got := last.Labels.Throttled; got != "" {
			text += fmt.Sprintf("; at degree %d it stopped the query in %s periods", last.Labels.Degree, got)
		}
		out.Warnings = append(out.Warnings, text)
	}
	if n := len(base); n < stats.MinBlocks(cfg.Alpha) {
		out.Warnings = append(out.Warnings,
			fmt.Sprintf("rounds that fitted into the time: %d; an interval takes %d: omit --quick, add --service none, "+
				"or run it on a quieter host", n, stats.MinBlocks(cfg.Alpha)))
	}
}

// throttling says what a quota did to a degree above it. Without the kernel's count
// over enough periods the figure would be of no known condition: it is unknown.
func (r *degreeRun) throttling(m *result.Measurement, degree int, seen []*stops) {
	if r.limit.cpus == 0 || float64(degree) <= r.limit.cpus {
		return
	}
	m.Labels.Quota = r.limit.cpus
	var total stops
	for _, s := range seen {
		if s != nil {
			total.periods += s.periods
			total.throttled += s.throttled
		}
	}
	switch {
	case slices.Contains(seen, nil):
		file := cmp.Or(r.limit.file, "cpu.stat")
		m.Reason = fmt.Sprintf("the limit is %.3g CPUs, and whether it stopped the query is not known: %s cannot be read",
			r.limit.cpus, file)
	case total.periods < quotaPeriods*len(seen):
		m.Reason = fmt.Sprintf(
			"the limit is %.3g CPUs, and the runs were too short for it: %d periods in %d of them, and each takes %d",
			r.limit.cpus, total.periods, len(seen), quotaPeriods)
	default:
		m.Labels.Throttled = fmt.Sprintf("%d of %d", total.throttled, total.periods)
		m.Warnings = append(m.Warnings, fmt.Sprintf("the limit is %.3g CPUs; it stopped the query in %s periods",
			r.limit.cpus,
			m.Labels.Throttled))
	}
}
