package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"hostlab/internal/assess"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/proc"
	"hostlab/internal/workload/logcommit"
)

// gentle is the share of the CPUs that probes may use where others use them too.
const gentle = 0.1

// busyShare is the part of the CPUs' time that others may take during a probe
// before the report says so.
const busyShare = 0.05

// probe runs all probes. On a host that others use they take little of it, and stop where the
// service that was watched becomes slower.
func (o *assessOptions) probe(ctx context.Context, seen *observed, cfg probe.Config, w *watched, p *progress) error {
	m := seen.Minute
	all, probing, guard := o.budget, ctx, (*assess.Guard)(nil)
	if m != nil {
		all, cfg.Share = o.behind, gentle
		var harmed context.CancelFunc
		probing, harmed = context.WithCancel(ctx)
		defer harmed()
		guard = assess.NewGuard(ctx, m, w.of, w.source, harmed)
		defer guard.Stop()
	} else if inUse(ctx, cfg.CPUs) {
		cfg.Share = gentle
	}
	began := time.Now()
	for _, pr := range probe.All() {
		cfg.Budget = time.Duration(float64(all) * pr.Share())
		cfg.Report = p.step(pr.Title, cfg.Budget)
		out, err := runProbe(probing, pr, cfg)
		switch {
		case ctx.Err() != nil && m != nil:
			return nil // what was watched stands without the probes
		case ctx.Err() != nil:
			return err
		case probing.Err() != nil:
			out = probe.Outcome{Probe: pr.Name, Title: pr.Title,
				Skipped: "the probes were stopped, because " + m.Service.Name + " became slower"}
		}
		seen.Runs, seen.Probes = append(seen.Runs, out), append(seen.Probes, out.Measurements)
	}
	if guard == nil {
		return nil
	}
	switch said, stopped := guard.Stop(); {
	case stopped:
		seen.Warnings = append(seen.Warnings, fmt.Sprintf("The probes were stopped after %.0f s, because %s became slower: %s.",
			time.Since(began).Seconds(), m.Service.Name, said))
	case said != "":
		seen.Warnings = append(seen.Warnings, fmt.Sprintf("The probes used at most %.0f %% of the CPUs. Seen in %s meanwhile: %s.",
			100*gentle, m.Service.Name, said))
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
	return ok && share > busyShare
}

// runProbe runs one probe. Only cancellation is an error: a probe that breaks is
// reported in its outcome, and the others go on.
func runProbe(ctx context.Context, pr probe.Probe, cfg probe.Config) (probe.Outcome, error) {
	others := proc.Watch(cfg.CPUs)
	out, err := pr.Run(ctx, cfg)
	if ctx.Err() != nil {
		// Probes join what they could not clean up to the context's error.
		var several interface{ Unwrap() []error }
		if errors.As(err, &several) {
			for _, e := range several.Unwrap() {
				if !errors.Is(e, ctx.Err()) {
					return out, fmt.Errorf("%w; %w", ctx.Err(), e)
				}
			}
		}
		return out, ctx.Err()
	}
	if err != nil {
		out.Failed = err.Error()
	}
	if share, ok := others.Share(); ok && share > busyShare && out.Skipped == "" {
		out.Busy = share
	}
	slog.Info("probe done", "probe", out.Probe, "seconds", out.Seconds, "measurements", len(out.Measurements), "skipped",
		out.Skipped, "failed", out.Failed)
	return out, nil
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
