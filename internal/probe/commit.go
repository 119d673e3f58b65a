package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/stats"
	"hostlab/internal/workload/logcommit"
)

// How the commit probe spends its budget. The limits keep it polite to a device
// that others commit to at the same time.
const (
	commitBlock      = 50   // timed commits of a block
	commitSettle     = 5    // commits before them, not timed: the pause and the other condition are forgotten
	commitMost       = 5000 // timed commits on the log directory
	commitMinRounds  = 12   // a slow device gets smaller blocks rather than fewer rounds
	commitLeastBlock = 5
	commitPause      = 40 * time.Millisecond // the longest between rounds: sees more of the device's time, in no step with it
	commitSlack      = 500 * time.Millisecond
)

// What the commit probe needs to find free, in bytes. Of a file system that others
// need it leaves them 64 MiB at the least.
const (
	CommitRoom = 64<<20 + commitFile // on the log directory
	MemoryRoom = 2 * memoryFile      // in memory; a container's /dev/shm is small

	commitFile = 16 << 20
	memoryFile = 1 << 20 // memory is the same at every offset, and counts against the control group
)

// commitProbe measures the latency of a durable append on the log directory and,
// as the bound of any faster device, in memory.
type commitProbe struct{}

// NewCommit returns the probe of commit latency.
func NewCommit() Probe { return commitProbe{} }

// Name implements Probe.
func (commitProbe) Name() string { return "commit" }

// Title implements Probe.
func (commitProbe) Title() string { return "Latency of a durable commit" }

// Share implements Probe.
func (commitProbe) Share() float64 { return 0.20 }

// commitRuns is what the rounds gave: seconds of single commits by round. A and B
// are the two blocks on the log directory, which differ in nothing.
type commitRuns struct {
	a, b, mem [][]float64
}

// evenOut drops what a round that was cut short left.
func (r *commitRuns) evenOut(withMemory bool) {
	n := min(len(r.a), len(r.b))
	if withMemory {
		n = min(n, len(r.mem))
		r.mem = r.mem[:n]
	}
	r.a, r.b = r.a[:n], r.b[:n]
}

// Run implements Probe.
func (p commitProbe) Run(ctx context.Context, cfg Config) (Outcome, error) {
	began := time.Now()
	out := Outcome{Probe: p.Name(), Title: p.Title()}
	if cfg.LogDir == "" && cfg.NoLog != "" {
		out.Skipped = cfg.NoLog
		return out, nil
	}
	runs, layout, warnings, err := p.measure(ctx, cfg, began)
	out.Seconds = time.Since(began).Seconds()
	out.Warnings = warnings
	if _, ok := errors.AsType[*logcommit.DirError](err); ok && ctx.Err() == nil {
		out.Skipped = err.Error()
		return out, nil
	}
	if err != nil {
		return out, err
	}
	if len(runs.a) == 0 {
		out.Skipped = fmt.Sprintf("not one round fitted into %s: the device is too slow or stalled; run it again without --quick", cfg.Budget.Round(time.Second))
		return out, nil
	}
	out.Method = fmt.Sprintf("Each commit writes 4 KiB and waits for fdatasync, as fio --rw=write --bs=4k --fdatasync=1 does "+
		"(file layout: %s). Every round holds two blocks of %d commits on the log directory, which differ in nothing and give the "+
		"noise floor, and one in memory, in random order; the first %d of each block are not counted. Intervals allow for "+
		"commits of one round being alike.", layout, len(runs.a[0]), commitSettle)
	p.summarise(&out, runs, cfg, layout)
	return out, nil
}

func (commitProbe) measure(ctx context.Context, cfg Config, began time.Time) (runs commitRuns, layout logcommit.Layout, warnings []string, err error) {
	logCfg := logcommit.DefaultConfig(cfg.LogDir)
	logCfg.Seed, logCfg.Bytes = cfg.Seed, commitFile
	storage := storageOf(cfg.Facts, cfg.LogDir)
	if err := logcommit.Preflight(storage, cfg.LogDir, CommitRoom); err != nil {
		return runs, "", nil, err
	}
	if storage.Class.Or("") == host.ClassMemory || logcommit.MemoryDir(cfg.LogDir) {
		warnings = append(warnings, "the log directory is in memory: nothing there survives a power cut; name a directory on a device with --log-dir")
	}
	disk, err := logcommit.Open(logCfg)
	if err != nil {
		return runs, "", warnings, err
	}
	layout = disk.Layout()
	defer func() { err = errors.Join(err, disk.Close()) }()

	var mem *logcommit.Log
	if logcommit.MemoryDir(cfg.MemDir) {
		memCfg := logCfg
		memCfg.Dir, memCfg.Bytes = cfg.MemDir, memoryFile
		if mem, err = logcommit.Open(memCfg); err != nil {
			warnings = append(warnings, "no upper bound in memory: "+err.Error())
			mem, err = nil, nil
		} else {
			defer func() { err = errors.Join(err, mem.Close()) }()
		}
	}

	// A device that stalls must not hold the user up: what was measured until then
	// counts, if whole rounds were.
	inTime, cancel := context.WithDeadline(ctx, began.Add(cfg.Budget))
	defer cancel()
	defer func() {
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			err = nil
		}
		runs.evenOut(mem != nil)
	}()

	rng := rand.New(rand.NewPCG(cfg.Seed, 0x636f6d6d6974))
	each := func(l *logcommit.Log, n int, into *[][]float64) error {
		if _, err := l.Block(inTime, commitSettle, nil); err != nil {
			return err
		}
		times, err := l.Block(inTime, n, make([]float64, 0, n))
		if err == nil && into != nil {
			*into = append(*into, times)
		}
		return err
	}
	// The warm-up tells how slow the device is.
	warm := time.Now()
	if err := each(disk, commitLeastBlock, nil); err != nil {
		return runs, layout, warnings, err
	}
	perCommit := time.Since(warm) / (commitSettle + commitLeastBlock)
	if mem != nil {
		if err := each(mem, commitBlock, nil); err != nil {
			return runs, layout, warnings, err
		}
	}
	block := blockSize(cfg.Budget, perCommit)
	end := began.Add(cfg.Budget - min(commitSlack, cfg.Budget/10))
	longest := perCommit * time.Duration(2*(block+commitSettle))
	for n := 0; n+2*block <= commitMost && !time.Now().Add(longest).After(end); n += 2 * block {
		round := time.Now()
		conds := []func() error{
			func() error { return each(disk, block, &runs.a) },
			func() error { return each(disk, block, &runs.b) },
		}
		if mem != nil {
			conds = append(conds, func() error { return each(mem, block, &runs.mem) })
		}
		rng.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
		for _, run := range conds {
			if err := run(); err != nil {
				return runs, layout, warnings, err
			}
		}
		longest = max(longest, time.Since(round))
		if err := sleep(inTime, time.Duration(rng.Int64N(int64(commitPause)))); err != nil {
			return runs, layout, warnings, err
		}
		commitProgress(cfg, began, n+2*block)
	}
	return runs, layout, warnings, nil
}

// blockSize is how many commits a block holds so that enough rounds fit into the
// budget at so much time a commit.
func blockSize(budget, perCommit time.Duration) int {
	if perCommit <= 0 {
		return commitBlock
	}
	fit := int(budget/(commitMinRounds*2*perCommit)) - commitSettle
	return min(max(fit, commitLeastBlock), commitBlock)
}

// commitProgress reports the larger of the shares of commits and of time, since
// whichever is used up first ends the probe.
func commitProgress(cfg Config, began time.Time, commits int) {
	if cfg.Report == nil {
		return
	}
	spent := time.Since(began)
	total := min(time.Duration(float64(spent)*commitMost/float64(commits)), cfg.Budget)
	cfg.Report(min(spent, total), total)
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

// sleep waits for d or until ctx is cancelled.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// medians are the medians of each round.
func medians(rounds [][]float64) []float64 {
	out := make([]float64, len(rounds))
	for i, r := range rounds {
		out[i] = stats.Median(r)
	}
	return out
}
