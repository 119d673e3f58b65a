package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/host"
	"hostlab/internal/watch"
)

func newFacts(std streams) *cobra.Command {
	var (
		m      machine
		out    printing
		record string
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

Exit status: 0 done, 1 failed on the way, 2 unusable flag or path, 3 nothing to
inspect, 130 interrupted.`,
		Example: `  hostlab facts
  hostlab facts --path /var/lib/postgresql --format json
  hostlab facts --save this-host.txtar
  hostlab facts --root this-host.txtar`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
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
