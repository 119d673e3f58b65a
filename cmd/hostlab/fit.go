package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/workload"
)

// placesBudget is how long it may take to measure which CPUs share a core.
const placesBudget = 4 * time.Second

// machineFor reads what this host is to a study whose workload asks for it; for
// others, it is nothing.
func machineFor(ctx context.Context, st *experiment.Study) (m workload.Machine, err error) {
	if _, ok := st.Work.(workload.Offering); !ok {
		return m, nil
	}
	facts := host.Collect(ctx, host.Options{})
	return workload.Machine{Topology: &facts.Topology, Allowed: cpus.Usable(facts)}, ctx.Err()
}

// measuredPairs finds by measurement which CPUs share a core, which a hypervisor may
// hide; nil where that cannot be measured.
func measuredPairs(ctx context.Context, m workload.Machine) ([][2]int, error) {
	out, err := pairsAmong(ctx, m.Topology, m.Allowed)
	if err != nil || out.Skipped != "" {
		return nil, err
	}
	pairs := [][2]int{}
	for _, p := range out.Pairs {
		if p.Relation == probe.Siblings {
			pairs = append(pairs, [2]int{p.A, p.B})
		}
	}
	return pairs, nil
}

// pairsAmong measures what some CPUs share, pair by pair.
func pairsAmong(ctx context.Context, top *host.Topology, among []int) (probe.Outcome, error) {
	return probe.Pairs().Run(ctx, probe.Config{Facts: &host.Facts{Topology: *top}, CPUs: among, Budget: placesBudget,
		Seed: uint64(time.Now().UnixNano()), Alpha: probe.Alpha})
}

// fitHere returns a study without the levels that this host does not have, by what it
// reports of itself.
func fitHere(ctx context.Context, st *experiment.Study) (*experiment.Study, error) {
	m, err := machineFor(ctx, st)
	if err != nil {
		return nil, err
	}
	return experiment.Fit(st, m, runner.Look)
}

// settable adds to what is wrong with a parameter of the workload the flag that sets it.
func settable(err error) error {
	if p, ok := errors.AsType[*workload.ParamError](err); ok {
		return fmt.Errorf("%w; set it with --set workload.%s=VALUE", err, p.Name)
	}
	return err
}

// needs looks for the programs that a study's workload takes at any of its levels. The
// error is one line, and says which parameter asks for what is missing.
func needs(ctx context.Context, st *experiment.Study) error {
	for _, p := range st.Variants() {
		if err := st.Work.Needs(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
