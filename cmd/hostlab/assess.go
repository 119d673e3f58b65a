package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/lever"
	"hostlab/internal/probe"
	"hostlab/internal/proc"
	"hostlab/internal/report"
	"hostlab/internal/workload/cpus"
	"hostlab/internal/workload/logcommit"
)

// busyShare is the part of the CPUs' time that others may take during a probe
// before the report says so.
const busyShare = 0.05

// alpha gives the 95 % intervals of all probes.
const alpha = 0.05

func inspect(ctx context.Context, o assessOptions, p *progress) (*report.Assessment, error) {
	started := time.Now()
	tree := host.Tree{}
	if err := host.Look(tree); err != nil {
		return nil, cannotLook{err}
	}
	facts := host.Collect(ctx, host.Options{Tree: tree})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	place := logPlace{dir: o.logDir, why: "named with --log-dir"}
	if !o.asked {
		place = findLog(tree, facts.Databases, o.logDir, serverCPU)
	}
	cfg := probe.Config{
		Facts: facts, LogDir: place.dir, LogFound: place.found, MemDir: memoryDir(tree), CPUs: cpus.Usable(facts),
		Seed: uint64(started.UnixNano()), Alpha: alpha,
	}
	if place.dir == "" {
		cfg.NoLog, place.why = o.noLog, ""
	} else {
		s := host.StorageOf(tree, place.dir)
		s.Purpose = "log-dir"
		facts.Storage = append([]host.Storage{s}, facts.Storage...)
		if err := logcommit.Preflight(s, place.dir, probe.CommitRoom); err != nil {
			if o.asked {
				return nil, usageError{err}
			}
			slog.Info("no commit probe", "why", err)
			cfg.LogDir, cfg.NoLog, place.why = "", err.Error(), ""
		}
	}
	a := &report.Assessment{
		Schema: report.Schema, Tool: versionText(), Started: started, Host: facts.Identity.Hostname.Or("unknown host"),
		Role: o.role, Facts: facts, Results: check.Run(facts, o.role, check.All()),
		LogDir: cfg.LogDir, LogDirWhy: place.why,
	}
	m, err := o.serve(ctx, facts, place.dir, p)
	if err != nil {
		return nil, err
	}
	all := o.budget
	if m != nil {
		all = o.behind
	}
	for _, pr := range probe.All() {
		if m != nil && pr.Wide {
			a.Runs = append(a.Runs, probe.Outcome{Probe: pr.Name, Title: pr.Title, Skipped: "it takes whole CPUs, and " + m.Service.Name + " is at work here; --service none runs it"})
			continue
		}
		budget := time.Duration(float64(all) * pr.Share)
		cfg.Budget, cfg.Report = budget, p.step(pr.Title, budget)
		out, err := runProbe(ctx, pr, cfg)
		if err != nil {
			return nil, err
		}
		a.Runs = append(a.Runs, out)
		a.Probes = append(a.Probes, out.Measurements...)
	}
	a.Probed = lever.Join(o.role, facts, a.Results, a.Runs)
	if m == nil {
		a.Levers, a.Verdict.Text = ofProbes(a.Probed), lever.VerdictLine(o.role, a.Probed)
	} else {
		a.Minute, a.Service, a.Time, a.Levers = m, m.About(), m.Time(), join(m, a.Probed)
		a.Verdict.Text = m.Verdict(a.Levers)
	}
	a.Warnings = report.BusyWarnings(a.Runs)
	if m != nil && m.Ended != "" {
		a.Warnings = append([]string{fmt.Sprintf("Watching ended early, after %.0f s: %s.", m.Report.Wall, m.Ended)}, a.Warnings...)
	}
	if place.wrong != "" && cfg.LogDir != "" {
		a.Warnings = append(a.Warnings, fmt.Sprintf("Commits were timed in %s: %s. Name a directory with --log-dir, or run it as root.", place.dir, place.wrong))
	}
	a.Seconds = time.Since(started).Seconds()
	return a, nil
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
		out.Busy = fmt.Sprintf("others took %.0f %% of these CPUs' time meanwhile", 100*share)
	}
	slog.Info("probe done", "probe", out.Probe, "seconds", out.Seconds, "measurements", len(out.Measurements), "skipped", out.Skipped, "failed", out.Failed)
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
