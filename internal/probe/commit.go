package probe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"hostlab/internal/host"
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
		out.Skipped = fmt.Sprintf("not one round fitted into %s: the device is too slow or stalled; give it longer by --service "+
			"none, without --quick", cfg.Budget.Round(time.Second))
		return out, nil
	}
	out.Method = fmt.Sprintf("Each commit writes 4 KiB and waits for fdatasync, as fio --rw=write --bs=4k --fdatasync=1 does "+
		"(file layout: %s), or does so over blocks that were written before, as databases do with recycled log files. "+
		"Every round holds two blocks of %d commits in each of the two files on the log directory, which differ in nothing and give the "+
		"noise floor, and one in memory, in random order; the first %d of each block are not counted. Rounds are spread over the probe's "+
		"whole time. Intervals allow for commits of one round, and rounds that follow each other, being alike.",
		runs.layout, len(runs.rounds[0].new[0]), commitSettle)
	summarise(&out, runs, cfg)
	return out, nil
}

func commits(ctx context.Context, cfg Config, began time.Time) (runs commitRuns, warnings []string, err error) {
	logCfg := logcommit.DefaultConfig(cfg.LogDir)
	logCfg.Seed, logCfg.Bytes, logCfg.NoLinks = cfg.Seed, commitFile, cfg.LogFound
	storage := storageOf(cfg.Facts, cfg.LogDir)
	if err := logcommit.Preflight(storage, cfg.LogDir, CommitRoom); err != nil {
		return runs, nil, err
	}
	if storage.Class.Or("") == host.ClassMemory || logcommit.MemoryDir(cfg.LogDir) {
		warnings = append(warnings, "the log directory is in memory: nothing there survives a power cut; name a directory on a "+
			"device with --log-dir")
	}
	disk, err := logcommit.Open(logCfg)
	if err != nil {
		return runs, warnings, err
	}
	runs.layout = disk.Layout()
	defer func() { err = errors.Join(err, disk.Close()) }()
	oldCfg := logCfg
	oldCfg.Layout = logcommit.Overwritten
	recycled, err := logcommit.Open(oldCfg)
	if err != nil {
		return runs, warnings, err
	}
	defer func() { err = errors.Join(err, recycled.Close()) }()

	var mem *logcommit.Log
	if logcommit.MemoryDir(cfg.MemDir) {
		memCfg := logCfg
		memCfg.Dir, memCfg.Bytes, memCfg.NoLinks = cfg.MemDir, memoryFile, false
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
	}()

	each := func(l *logcommit.Log, n int, into *[]float64) error {
		_, err := l.Block(inTime, commitSettle, nil)
		if err == nil {
			*into, err = l.Block(inTime, n, make([]float64, 0, n))
		}
		return err
	}
	// The warm-up tells how slow the device is.
	var unused []float64
	warm := time.Now()
	if err := each(disk, commitLeastBlock, &unused); err != nil {
		return runs, warnings, err
	}
	perCommit := time.Since(warm) / (commitSettle + commitLeastBlock)
	if err := each(recycled, commitLeastBlock, &unused); err != nil {
		return runs, warnings, err
	}
	var round commitRound
	block := blockSize(cfg.Budget, perCommit)
	conds := []func() error{
		func() error { return each(disk, block, &round.new[0]) },
		func() error { return each(disk, block, &round.new[1]) },
		func() error { return each(recycled, block, &round.old[0]) },
		func() error { return each(recycled, block, &round.old[1]) },
	}
	if mem != nil {
		if err := each(mem, commitBlock, &unused); err != nil {
			return runs, warnings, err
		}
		conds = append(conds, func() error { return each(mem, block, &round.mem) })
	}
	rng, most, first := rand.New(rand.NewPCG(cfg.Seed, 0x636f6d6d6974)), commitMost/(commitBlocks*block), time.Now()
	if cfg.Share > 0 { // others commit to the device
		most = max(commitMinRounds, most/4)
	}
	pace := pace{now: time.Now, began: began, budget: cfg.Budget - min(commitSlack, cfg.Budget/10), planned: most}
	pace.pause = func(done int, each, left time.Duration) error {
		return sleep(inTime, spread(rng, most-done, each, left))
	}
	err = pace.run(func() (bool, error) {
		round = commitRound{}
		rng.Shuffle(len(conds), func(i, j int) { conds[i], conds[j] = conds[j], conds[i] })
		for _, run := range conds {
			if err := run(); err != nil {
				return false, err
			}
		}
		runs.rounds, runs.seconds = append(runs.rounds, round), time.Since(first).Seconds()
		if cfg.Report != nil {
			cfg.Report(min(time.Since(began), cfg.Budget), cfg.Budget)
		}
		return true, nil
	})
	return runs, warnings, err
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
