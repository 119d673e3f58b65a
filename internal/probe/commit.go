package probe

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/stats"
	"hostlab/internal/workload"
	"hostlab/internal/workload/logcommit"
)

// How the commit probe spends its budget. The limits keep it polite to a device
// that others commit to at the same time.
const (
	commitBlock      = 25   // timed commits of a block
	commitBlocks     = 4    // of a round on the log directory: two of each layout
	commitSettle     = 5    // commits before them, not timed: the pause and the other condition are forgotten
	commitMost       = 5000 // timed commits on the log directory
	commitMinRounds  = 12   // a slow device gets smaller blocks rather than fewer rounds
	commitLeastBlock = 5
	// the longest between rounds where there is no time to spare: in no step with the device
	commitPause = 40 * time.Millisecond
	commitSlack = 500 * time.Millisecond
)

// What the commit probe needs to find free, in bytes. Of a file system that others
// need it leaves them 64 MiB at the least.
const (
	CommitRoom = 64<<20 + 2*commitFile // on the log directory, one file of each layout
	MemoryRoom = 2 * memoryFile        // in memory; a container's /dev/shm is small

	commitFile = 8 << 20
	memoryFile = 1 << 20 // memory is the same at every offset, and counts against the control group
)

// commitRuns is what the rounds gave.
type commitRuns struct {
	layout  logcommit.Layout // of new
	rounds  []commitRound
	seconds float64 // from the first round to the last
}

// commitRound holds seconds of single commits. The two blocks of a layout differ in nothing.
type commitRound struct {
	new, old [2][]float64 // on the log directory: blocks allocated only; a recycled log
	mem      []float64
}

// runCommit measures the latency of a durable append on the log directory and, as the
// bound of any faster device, in memory.
func runCommit(ctx context.Context, cfg Config) (out Outcome, err error) {
	began := time.Now()
	if cfg.LogDir == "" && cfg.NoLog != "" {
		out.Skipped = cfg.NoLog
		return out, nil
	}
	runs, warnings, err := commits(ctx, cfg, began)
	out.Warnings = warnings
	if _, ok := errors.AsType[*logcommit.DirError](err); ok && ctx.Err() == nil {
		out.Skipped = err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if len(runs.rounds) == 0 {
		out.Skipped = fmt.Sprintf(
			"not one round fitted into %s: the device is too slow or stalled; give it longer by --service "+
				"none, without --quick", cfg.Budget.Round(time.Second))
		return out, nil
	}
	out.Method = fmt.Sprintf(
		"Each commit writes 4 KiB and waits for fdatasync, as fio --rw=write --bs=4k --fdatasync=1 does "+
			"(file layout: %s), or does so over blocks that were written before, as databases do with recycled log files. "+
			"Every round holds two blocks of %d commits in each of the two files on the log directory, which differ in nothing and give the "+
			"noise floor, and one in memory, in random order; the first %d of each block are not counted. Rounds are spread over the probe's "+
			"whole time. Intervals allow for commits of one round, and rounds that follow each other, being alike.",
		runs.layout, len(runs.rounds[0].new[0]), commitSettle)
	summarise(&out, runs, cfg)
	return out, nil
}

// bed are the logs that commits go to.
type bed struct {
	disk, recycled *logcommit.Log
	mem            *logcommit.Log // nil: there is no memory to compare with
}

// openBed opens them. Whether commits can be timed in the log directory was found before.
func openBed(cfg Config) (b *bed, warnings []string, err error) {
	b = &bed{}
	c := logcommit.DefaultConfig(cfg.LogDir)
	c.Seed, c.Bytes, c.NoLinks = cfg.Seed, commitFile, cfg.LogFound
	if storageOf(cfg.Facts, cfg.LogDir).Class.Or("") == host.ClassMemory || logcommit.MemoryDir(cfg.LogDir) {
		warnings = append(warnings,
			"the log directory is in memory: nothing there survives a power cut; name a directory on a "+
				"device with --log-dir")
	}
	if b.disk, err = logcommit.Open(c); err != nil {
		return b, warnings, err
	}
	old := c
	old.Layout = logcommit.Overwritten
	if b.recycled, err = logcommit.Open(old); err != nil || !logcommit.MemoryDir(cfg.MemDir) {
		return b, warnings, err
	}
	c.Dir, c.Bytes, c.NoLinks = cfg.MemDir, memoryFile, false
	mem, none := logcommit.Open(c)
	if none != nil {
		return b, append(warnings, "no upper bound in memory: "+none.Error()), nil //nolint:nilerr // it is said
	}
	b.mem = mem
	return b, warnings, nil
}

func (b *bed) close() (err error) {
	for _, l := range []*logcommit.Log{b.mem, b.recycled, b.disk} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// block times n commits, after some that are not timed.
func block(ctx context.Context, l *logcommit.Log, n int) ([]float64, error) {
	if _, err := l.Block(ctx, commitSettle, nil); err != nil {
		return nil, err
	}
	return l.Block(ctx, n, make([]float64, 0, n))
}

// warm commits to each log, and says how long one takes on the device.
func (b *bed) warm(ctx context.Context) (each time.Duration, err error) {
	began := time.Now()
	_, err = block(ctx, b.disk, commitLeastBlock)
	each = time.Since(began) / (commitSettle + commitLeastBlock)
	if err == nil {
		_, err = block(ctx, b.recycled, commitLeastBlock)
	}
	if err == nil && b.mem != nil {
		_, err = block(ctx, b.mem, commitBlock)
	}
	return each, err
}

// round times n commits of each condition, in random order.
func (b *bed) round(ctx context.Context, rng *rand.Rand, n int) (r commitRound, err error) {
	conditions := []struct {
		log  *logcommit.Log
		into *[]float64
	}{{b.disk, &r.new[0]}, {b.disk, &r.new[1]}, {b.recycled, &r.old[0]}, {b.recycled, &r.old[1]}, {b.mem, &r.mem}}
	if b.mem == nil {
		conditions = conditions[:4]
	}
	rng.Shuffle(len(conditions), func(i, j int) { conditions[i], conditions[j] = conditions[j], conditions[i] })
	for _, c := range conditions {
		if *c.into, err = block(ctx, c.log, n); err != nil {
			return r, err
		}
	}
	return r, nil
}

func commits(ctx context.Context, cfg Config, began time.Time) (runs commitRuns, warnings []string, err error) {
	b, warnings, err := openBed(cfg)
	defer func() { err = errors.Join(err, b.close()) }()
	if err != nil {
		return runs, warnings, err
	}
	runs.layout = b.disk.Layout()
	// A device that stalls must not hold the user up: what was measured until then
	// counts, if whole rounds were.
	inTime, cancel := context.WithDeadline(ctx, began.Add(cfg.Budget))
	defer cancel()
	if err = b.rounds(inTime, cfg, began, &runs); errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	return runs, warnings, err
}

// rounds fills the probe's time with rounds.
func (b *bed) rounds(ctx context.Context, cfg Config, began time.Time, runs *commitRuns) error {
	perCommit, err := b.warm(ctx)
	if err != nil {
		return err
	}
	n := blockSize(cfg.Budget, perCommit)
	rng, most, first := rand.New(rand.NewPCG(cfg.Seed, 0x636f6d6d6974)), commitMost/(commitBlocks*n), time.Now() //nolint:gosec // no secret
	// others commit to the device
	if cfg.Share > 0 {
		most = max(commitMinRounds, most/4)
	}
	pace := pace{now: time.Now, began: began, budget: cfg.Budget - min(commitSlack, cfg.Budget/10), planned: most}
	pace.pause = func(done int, each, left time.Duration) error {
		return proc.Sleep(ctx, spread(rng, most-done, each, left))
	}
	return pace.run(func() (bool, error) {
		round, err := b.round(ctx, rng, n)
		if err != nil {
			return false, err
		}
		runs.rounds, runs.seconds = append(runs.rounds, round), time.Since(first).Seconds()
		if cfg.Report != nil {
			cfg.Report(min(time.Since(began), cfg.Budget), cfg.Budget)
		}
		return true, nil
	})
}

// spread is how long to wait before the next of some rounds of so long each, with so much
// time left: on average what spreads them evenly. A device is not the same in one second as
// in the next, and a figure from a few of them holds for those.
func spread(rng *rand.Rand, rounds int, each, left time.Duration) time.Duration {
	spare := left/time.Duration(max(1, rounds)) - each
	if spare <= 0 {
		return time.Duration(rng.Int64N(int64(commitPause)))
	}
	return min(spare/2+time.Duration(rng.Int64N(int64(spare)+1)), left-each)
}

// blockSize is how many commits a block holds so that enough rounds fit into the
// budget at so much time a commit.
func blockSize(budget, perCommit time.Duration) int {
	if perCommit <= 0 {
		return commitBlock
	}
	fit := int(budget/(commitMinRounds*commitBlocks*perCommit)) - commitSettle
	return min(max(fit, commitLeastBlock), commitBlock)
}

// storageOf finds the facts about the storage of dir; without them Preflight asks
// the kernel.
func storageOf(facts *host.Facts, dir string) host.Storage {
	if facts != nil {
		for _, s := range facts.Storage {
			if s.Path == dir {
				return s
			}
		}
	}
	return host.Storage{Path: dir}
}

// summarise turns the rounds into measurements and distributions. Both blocks of
// a round in one file are one: they differ in nothing.
func summarise(out *Outcome, runs commitRuns, cfg Config) {
	during := fmt.Sprintf("in %.0f s", math.Max(1, runs.seconds))
	medians := func(rounds [][]float64) []float64 { return column(rounds, stats.Median) }
	both := func(file func(commitRound) [2][]float64) (rounds [][]float64, aa result.Estimate) {
		block := func(i int) []float64 {
			return column(runs.rounds, func(r commitRound) float64 { return stats.Median(file(r)[i]) })
		}
		together := func(r commitRound) []float64 { return slices.Concat(file(r)[0], file(r)[1]) }
		return column(runs.rounds, together), stats.PairedRatio(block(1), block(0), cfg.Alpha)
	}
	disk, aa := both(func(r commitRound) [2][]float64 { return r.new })
	old, oldAA := both(func(r commitRound) [2][]float64 { return r.old })
	var mem [][]float64
	if len(runs.rounds[0].mem) > 0 {
		mem = column(runs.rounds, func(r commitRound) []float64 { return r.mem })
	}
	labels := result.Labels{Device: "log-dir", Layout: string(runs.layout), Seconds: math.Round(10*runs.seconds) / 10}
	oldLabels := labels
	oldLabels.Layout = string(logcommit.Overwritten)
	memLabels := result.Labels{Device: "memory", Seconds: labels.Seconds}
	out.Measurements = append(out.Measurements, device(disk, NewBlocks, "on the log directory, "+during, labels,
		stats.Floor(aa),
		cfg.Alpha)...)
	recycled := device(old, Recycled, "on the log directory over blocks written before, as in a recycled log, "+during,
		oldLabels,
		stats.Floor(oldAA), cfg.Alpha)
	out.Measurements = append(out.Measurements, recycled[:3]...)
	out.Measurements = append(out.Measurements, drift(column(runs.rounds,
		func(r commitRound) []float64 { return slices.Concat(r.new[0], r.new[1], r.old[0], r.old[1]) }), during, labels,
		cfg.Alpha))

	gain := blank(CommitGain, "", "Commit in memory over commit to a recycled log: what remains with the fastest device",
		"ratio",
		result.Labels{Device: "memory"})
	gain.NoiseFloor = stats.Floor(oldAA)
	memory := device(mem, InMemory, "in memory, "+during, memLabels, math.NaN(), cfg.Alpha)
	if len(mem) > 0 {
		gain.Estimate = ratio(medians(mem), medians(old), cfg.Alpha)
	} else {
		gain.Reason = "no tmpfs that this user may write to, such as /dev/shm"
		for i := range memory {
			memory[i].Reason = gain.Reason
		}
	}
	out.Measurements = append(append(out.Measurements, memory...), gain,
		twice(NewBlocks, "on the log directory", aa, labels), twice(Recycled, "in a recycled log", oldAA, oldLabels))

	edges := workload.Edges(slices.Concat(slices.Concat(disk...), slices.Concat(old...), slices.Concat(mem...)), 10)
	out.Distributions = append(out.Distributions, workload.Histogram(string(NewBlocks), "Commits on the log directory",
		edges,
		disk...))
	if len(mem) > 0 {
		out.Distributions = append(out.Distributions, workload.Histogram(string(InMemory), "Commits in memory", edges,
			mem...))
	}
	out.Distributions = append(out.Distributions, workload.Histogram(string(Recycled), "Commits to a recycled log",
		edges, old...))
}

func twice(f CommitFile, where string, aa result.Estimate, labels result.Labels) result.Measurement {
	m := blank(f.Of(Twice), "", "Second block over first "+where+": the noise floor", "ratio", labels)
	m.Estimate = &aa
	if !m.Known() {
		m.Reason = "no block had a time"
	} else if m.Estimate.HasInterval() && !m.Estimate.Contains(1) {
		m.Warnings = []string{"two blocks that differ in nothing differ: other load on the device; run it again when the host is quieter"}
	}
	return m
}

// device describes the commits on one of them. floor is the A/A ratio's.
func device(rounds [][]float64, f CommitFile, where string, labels result.Labels, floor,
	alpha float64) []result.Measurement {
	all := slices.Concat(rounds...)
	slices.Sort(all)
	n := len(all)
	labels.Commits = n
	m := func(s Stat, title, unit string) result.Measurement {
		return blank(f.Of(s), "", title+" "+where, unit, labels)
	}
	mean := m(Mean, "Mean commit", "s")
	p50 := m(Median, "Median commit", "s")
	p99 := m(Tail, "99th percentile of commits", "s")
	longest := m(Longest, "Longest commit", "s")
	rate := m(Rate, "Typical rate of commits between stalls, one after another,", "1/s")
	if n > 0 {
		mean.Estimate = clusterMean(rounds, alpha)
		mean.Warnings = worth(mean.Estimate)
		p50.Estimate = clusterQuantile(rounds, all, 0.50, alpha)
		p50.Warnings = worth(p50.Estimate)
		p50.NoiseFloor = floor * p50.Estimate.Value
		longest.Estimate = single(all[n-1], n)
		longest.Warnings = []string{"no interval: the next run may see a longer one"}
		// Rounds that follow each other are joined: they are alike.
		joined := thinned(rounds, stats.Median, alpha)
		counts, sums := make([]float64, len(joined)), make([]float64, len(joined))
		for i, r := range joined {
			counts[i] = float64(len(r))
			sums[i] = counts[i] * stats.Mean(r)
		}
		rate.Estimate = ratio(counts, sums, alpha)
		rate.NoiseFloor = floor * rate.Estimate.Value
		if float64(n)*(1-0.99) >= 10 {
			p99.Estimate = clusterQuantile(rounds, all, 0.99, alpha)
			p99.Warnings = worth(p99.Estimate)
		} else {
			p99.Reason = fmt.Sprintf("%d commits fitted into the time; a 99th percentile takes 1000", n)
		}
	}
	return []result.Measurement{mean, p99, p50, longest, rate}
}

// drifted is the change between the first and the last third from which on it is said: less
// is not worth a line.
const drifted = 1.05

// drift compares the last third of the rounds with the first. One figure for a device that
// changes meanwhile holds for neither part.
func drift(rounds [][]float64, during string, labels result.Labels, alpha float64) result.Measurement {
	m := blank(CommitDrift, "", "Mean commit on the log directory in the last third of the time over that in the first, "+
		during,
		"ratio", labels)
	if m.Estimate = thirds(rounds, alpha); m.Estimate == nil {
		m.Reason = fmt.Sprintf("%d rounds are too few for thirds", len(rounds))
		return m
	}
	if !m.Estimate.HasInterval() {
		m.Warnings = []string{tooFew(m.Estimate.N, alpha)}
	}
	if e := m.Estimate; e.HasInterval() && !e.Contains(1) && max(e.Value, 1/e.Value) >= drifted {
		m.Labels.Drift = true
		third := len(rounds) / 3
		m.Warnings = []string{fmt.Sprintf(
			"the device was not the same all the time: the mean commit took %s at first and %s at last",
			result.Format(stats.Mean(slices.Concat(rounds[:third]...)), "s"),
			result.Format(stats.Mean(slices.Concat(rounds[len(rounds)-third:]...)), "s"))}
	}
	return m
}

// worth says why there is no interval, where there is none.
func worth(e *result.Estimate) []string {
	if e.HasInterval() {
		return nil
	}
	return []string{fmt.Sprintf("no interval: commits close in time are alike, and these count only as %d", e.N)}
}
