package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/fleet/demo"
	"hostlab/internal/screen"
)

func newFleetDemo(std streams) *cobra.Command {
	m := demo.Maker{}
	var out string
	cmd := &cobra.Command{
		Use:   "demo [flags] --out SPOOL",
		Short: "Write documents of invented hosts, to try fleet with",
		Long: `demo writes the documents of invented hosts: recorded machines with small
differences, four weeks of history, some faults, and two experiments. The
history ends now.

SPOOL.planted.json says which faults are where. SPOOL.exceptions.toml accepts
one of them, and holds an exception that has expired.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet demo --hosts 40 --out spool
  hostlab fleet ingest --store sqlite:demo.db spool
  hostlab fleet status --store sqlite:demo.db`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case out == "":
				return usagef("name the directory to write, such as --out spool")
			case m.Hosts < demo.Least || m.Hosts > demo.Most:
				return usagef("--hosts %d: expected %d to %d", m.Hosts, demo.Least, demo.Most)
			}
			if err := demo.Vacant(out); err != nil {
				return usagef("--out %s: %w", out, plain(err))
			}
			m.Now, m.Version = time.Now(), versionText()
			p, err := m.Make(cmd.Context(), out)
			if err != nil {
				return err
			}
			fmt.Fprintf(std.out, "%s of %s in %s, %s in %s.planted.json\n", screen.Count(p.Documents, "document"),
				screen.Count(p.Hosts, "host"), out, screen.Count(len(p.Faults)+3, "planted fault"), out)
			return nil
		},
	}
	cmd.Flags().IntVar(&m.Hosts, "hosts", 40, "invent `N` hosts")
	cmd.Flags().StringVar(&out, "out", "", "write to `SPOOL`, a directory that is new or empty")
	cmd.Flags().Uint64Var(&m.Seed, "seed", 1, "seed `NUMBER` of all random choices")
	cobra.CheckErr(cmd.MarkFlagDirname("out"))
	return cmd
}
