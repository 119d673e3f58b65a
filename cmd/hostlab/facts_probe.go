package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/workload/cpus"
)

// pairsBudget is how long pairs of CPUs are measured at most, but for those that stay
// undecided; a pair takes about a third of a second.
const pairsBudget = 10 * time.Second

// probePairs measures which CPUs share a core.
func probePairs(cmd *cobra.Command, std streams, format string) error {
	for _, other := range []struct{ flag, why string }{
		{"root", "a recorded machine cannot be measured"}, {"record", "a recording holds what is reported only"}, {"path", "it measures CPUs only"}} {
		if cmd.Flags().Changed(other.flag) {
			return usagef("--probe and --%s exclude each other: %s", other.flag, other.why)
		}
	}
	m := machine{}
	started := time.Now()
	facts, err := m.collect(cmd.Context(), "")
	if err != nil {
		return err
	}
	usable := cpus.Usable(facts)
	p := newProgress(std.err, false, pairsBudget)
	defer p.clear()
	pairs := probe.Pairs()
	cfg := probe.Config{Facts: facts, CPUs: usable, Budget: pairsBudget, Seed: uint64(started.UnixNano()), Alpha: alpha, Report: p.step("Pairs of CPUs", pairsBudget)}
	out, err := runProbe(cmd.Context(), pairs, cfg)
	p.clear()
	if err != nil {
		return err
	}
	if out.Failed != "" {
		return errors.New("the pairs of CPUs could not be measured: " + out.Failed)
	}
	r := probe.NewPairsReport(out, &facts.Topology, usable)
	r.Tool, r.Host, r.Started = versionText(), facts.Identity.Hostname.Or("unknown host"), started
	if out.Skipped != "" {
		r.Evidence = result.Evidence("")
	}
	return printDocument(std, r.Document(), format)
}
