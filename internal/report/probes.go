package report

import (
	"context"
	"fmt"
	"os"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/proc"
	"hostlab/internal/workload/logcommit"
)

// gentle is the share of the CPUs that probes may use where others use them too.
const gentle = 0.1

// config is what probes take.
func (o *Options) config(tree host.Tree, facts *host.Facts, t *target, started time.Time) probe.Config {
	cfg := probe.Config{Facts: facts, LogDir: t.log.dir, LogFound: t.log.found, NoLog: t.log.none, MemDir: memoryDir(tree),
		CPUs: cpus.Usable(facts), Seed: uint64(started.UnixNano()), Alpha: probe.Alpha} //nolint:gosec // any number will do
	if t.log.none != "" {
		cfg.LogDir = ""
	}
	return cfg
}

// probe runs all probes. On a host that others use they take little of it, and stop where the
// service that was watched becomes slower.
func (o *Options) probe(ctx context.Context, seen *Observed, t *target, cfg probe.Config) error {
	m := seen.Minute
	all, probing, guard := o.Budget, ctx, (*assess.Guard)(nil)
	if m != nil {
		all = o.Behind
	}
	if m != nil && t.demo == nil { // which has ended
		cfg.Share = gentle
		var harmed context.CancelFunc
		probing, harmed = context.WithCancel(ctx)
		defer harmed()
		guard = assess.NewGuard(ctx, m, t.of, t.source, harmed)
		defer guard.Stop()
	} else if inUse(ctx, cfg.CPUs) {
		cfg.Share = gentle
	}
	began := time.Now()
	for _, pr := range probe.All() {
		cfg.Budget = time.Duration(float64(all) * pr.Share())
		cfg.Report = o.Step(pr.Title, cfg.Budget)
		out, err := probe.Run(probing, pr, cfg)
		switch {
		case ctx.Err() != nil && m != nil:
			return nil // what was watched stands without the probes
		case ctx.Err() != nil:
			return err
		case probing.Err() != nil:
			out = probe.Outcome{Probe: pr.Name, Title: pr.Title,
				Skipped: "the probes were stopped, because they may have slowed " + m.Service.Name}
		}
		seen.Runs, seen.Probes = append(seen.Runs, out), append(seen.Probes, out.Measurements)
	}
	if guard == nil {
		return nil
	}
	if why := guard.Stop(); why != "" {
		seen.Warnings = append(seen.Warnings,
			fmt.Sprintf("hostlab stopped its own probes after %.0f s, because they may have slowed %s: %s.",
				time.Since(began).Seconds(), m.Service.Name, why))
	}
	return nil
}

// inUse looks for a second whether others use the CPUs.
func inUse(ctx context.Context, cpus []int) bool {
	others := proc.Watch(cpus)
	select {
	case <-ctx.Done():
	case <-time.After(time.Second):
	}
	share, ok := others.Share()
	return ok && share > probe.BusyShare
}

// memoryDir returns a directory in memory to compare the log device with, or "".
func memoryDir(t host.Tree) string {
	for _, dir := range []string{"/dev/shm", "/run/user/" + fmt.Sprint(os.Getuid())} {
		s := host.StorageOf(t, dir)
		if s.Class.Or("") == host.ClassMemory && logcommit.Preflight(s, dir, probe.MemoryRoom) == nil {
			return dir
		}
	}
	return ""
}
