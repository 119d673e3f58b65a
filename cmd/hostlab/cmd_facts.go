package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/cpus"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/watch"
)

func newFacts(std streams) *cobra.Command {
	var (
		m      machine
		out    printing
		record string
		probe  bool
	)
	cmd := &cobra.Command{
		Use:   "facts [flags]",
		Short: "What this host is: CPUs, frequency, idle states, memory, storage",
		Long: `facts reads what this host is and how it is set: topology and caches, frequency
driver, governor, range and P-states, idle states, memory and kernel settings,
the storage under a path, hypervisor, container and limits.

Every value has a unit, the file it came from and a state: ok, absent (this host
has no such thing), denied (you may not read it) or error (hostlab could not
parse it). facts writes nothing and needs no root.

--save writes the source files themselves as one text archive. A colleague
can read it elsewhere with --root. It omits serial numbers, UUIDs, MAC addresses
and the host's name.

--probe measures instead which CPUs share a core. It prints that beside what the
system reports, since hypervisors hide siblings or make them up. Threads on
pairs of CPUs do short chunks of work, alone and together. They repeat chunks
that other load disturbed. This takes a few seconds on a small idle host, and 10
to 15 s on a large or busy one. We had no host with siblings to confirm the
thresholds: take "siblings" as likely, not as certain.

Exit status: 0 done, 1 the measurement broke, 2 unusable flag or path, 3 nothing
to inspect, 130 interrupted.`,
		Example: `  hostlab facts
  hostlab facts --probe
  hostlab facts --path /var/lib/postgresql --format json
  hostlab facts --save this-host.txtar
  hostlab facts --root this-host.txtar`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if probe {
				return probePairs(cmd, std, &out)
			}
			if record != "" {
				return recordMachine(cmd, std, &m, record)
			}
			f, err := m.collect(cmd.Context(), "path")
			if err != nil {
				return err
			}
			if m.root != "" {
				return out.print(std, f.Document(time.Time{}, ""))
			}
			return out.print(std, f.Document(time.Now().UTC(), host.MachineHash()))
		},
	}
	m.flags(cmd)
	cmd.Flags().StringArrayVar(&m.paths, "path", nil, "also describe the storage under this path (may be repeated)")
	out.flags(cmd, std, tableForms)
	cmd.Flags().StringVar(&record, "save", "", "instead write the source files of the facts to `FILE` (- for stdout)")
	cmd.Flags().BoolVar(&probe, "probe", false,
		"instead measure which CPUs share a core, and compare with what the system reports")
	return cmd
}

// recordMachine writes the recording beside its final name first, so that an
// interrupted one leaves nothing.
func recordMachine(cmd *cobra.Command, std streams, m *machine, file string) error {
	tree, done, err := m.open()
	if err != nil {
		return err
	}
	defer done()
	if tree.Foreign() {
		return usagef(
			"--save copies files of Linux, and this is no Linux: keep 'hostlab facts --format json', which --root reads as well")
	}
	if err := m.look(tree); err != nil {
		return err
	}
	paths, err := m.asked(tree, "path")
	if err != nil {
		return err
	}
	if err := checkWritable("save", file); err != nil {
		return err
	}
	name, err := output(std, file, func(w io.Writer) error {
		return host.Record(cmd.Context(), tree, "", paths, w, watch.Read)
	})
	wrote(cmd, std, name)
	return err
}

// pairsBudget is how long pairs of CPUs are measured at most, but for those that stay
// undecided; a pair takes about a third of a second.
const pairsBudget = 10 * time.Second

// probePairs measures which CPUs share a core.
func probePairs(cmd *cobra.Command, std streams, printed *printing) error {
	for _, other := range []struct{ flag, why string }{
		{"root", "a recorded machine cannot be measured"}, {"save", "a recording holds what is reported only"},
		{"path", "it measures CPUs only"}} {
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
	p := newProgress(std.err, quiet(cmd), pairsBudget)
	defer p.clear()
	pairs := probe.Pairs()
	cfg := probe.Config{Facts: facts, CPUs: usable, Budget: pairsBudget, Seed: uint64(started.UnixNano()),
		Alpha:  probe.Alpha,
		Report: p.step("Pairs of CPUs", pairsBudget)}
	out, err := probe.Run(cmd.Context(), pairs, cfg)
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
	return printed.print(std, r.Document())
}
