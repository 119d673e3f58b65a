package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/demo"
	"hostlab/internal/fleet/store"
	"hostlab/internal/fleet/web"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// onStore is a command that works on a store and says in a line what it did.
func onStore(o *fleetOptions, cmd *cobra.Command,
	work func(cmd *cobra.Command, s *store.Store, args []string) error) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := o.open(cmd)
		if err != nil {
			return err
		}
		defer s.Close()
		return work(cmd, s, args)
	}
	o.storeFlag(cmd)
	return cmd
}

func newFleetReport(std streams) *cobra.Command {
	o, x := &fleetOptions{}, &exceptions{}
	cmd := &cobra.Command{
		Use:   "report [flags]",
		Short: "All hosts' results of checks, with the hashes of documents",
		Long: `report is for auditors. Its tables list where hosts differ and what you accept;
CSV and JSON list every result. Each result names two documents by SHA-256: the
first that gave it, and the newest that still does. 'sha256sum' of a document
prints the same hash.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet report --format csv > evidence.csv
  hostlab fleet report --out fleet.html`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := x.read()
			if err != nil {
				return err
			}
			s, err := o.open(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			hosts, err := s.Hosts(cmd.Context())
			if err != nil {
				return err
			}
			proofs, err := s.Evidence(cmd.Context())
			if err != nil {
				return err
			}
			r := fleet.NewReport(hosts, proofs, list, time.Now(), o.stale)
			return o.each(std, func(w io.Writer, form string) error {
				if form == "csv" { // every result, not the tables of the document
					return r.WriteCSV(w)
				}
				return writeDocument(w, r.Document(), form)
			})
		},
	}
	o.flags(cmd, std, tableForms)
	x.flags(cmd)
	return cmd
}

func newFleetExport(std streams) *cobra.Command {
	forms := []string{"csv", "metrics"}
	var (
		host string
		o    fleetOptions
		out  string
	)
	cmd := onStore(&o, &cobra.Command{
		Use:   "export csv|metrics [flags]",
		Short: "Measurements for other programs",
		Long: `export writes the measurements of all stored assessments, in base units.

  csv      one row per measurement, of all hosts or of --host
  metrics  what /metrics of 'fleet serve' shows, for a textfile collector

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet export csv > measurements.csv
  hostlab fleet export metrics > fleet.prom`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(forms, args[0]) {
				return usagef("%s takes csv or metrics; '%[1]s --help' shows how", cmd.CommandPath())
			}
			return nil
		}, ValidArgs: forms,
	}, func(cmd *cobra.Command, s *store.Store, args []string) error {
		if args[0] == "metrics" {
			if host != "" {
				return usagef("metrics are of all hosts")
			}
			name, err := output(std, out, func(w io.Writer) error {
				return web.WriteMetrics(cmd.Context(), w, web.Config{Store: s, Stale: o.stale, Version: versionText()})
			})
			wrote(cmd, std, name)
			return err
		}
		points, err := s.Points(cmd.Context(), host)
		if err != nil {
			return err
		}
		if len(points) == 0 && host != "" {
			return o.noHost("the store has no assessment of host %q", host)
		}
		name, err := output(std, out, func(w io.Writer) error { return fleet.WritePoints(w, points) })
		wrote(cmd, std, name)
		return err
	})
	cmd.Flags().StringVar(&host, "host", "", "only host `NAME` (default: all)")
	cmd.Flags().StringVarP(&out, "out", "o", "-", "write to `FILE`")
	cmd.PreRunE = func(*cobra.Command, []string) error { return checkWritable("out", out) }
	cobra.CheckErr(cmd.RegisterFlagCompletionFunc("host", o.hostNames))
	o.staleFlag(cmd)
	return cmd
}

func newFleetStore(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "store",
		Short: "Maintenance of the store",
		Long: `store frees room in the store, or reads its documents again.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
	}
	return group(cmd, newStorePrune(std), newStoreRebuild(std))
}

func newStorePrune(std streams) *cobra.Command {
	var keep time.Duration
	cmd := onStore(&fleetOptions{}, &cobra.Command{
		Use:   "prune [flags]",
		Short: "Delete the bytes of old documents in which nothing changed",
		Long: `prune deletes the bytes and measurements of documents that are older than
--keep. It keeps their hashes and times. It never prunes:
- the first document of each month
- documents with which something changed
- the newest of each kind
- reports of experiments
All answers stay the same, also for the past. Afterwards the store refuses a
document of a host that is older than the last one pruned there.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet store prune
  hostlab fleet store prune --keep 90d`,
		Args: noArgs,
	}, func(cmd *cobra.Command, s *store.Store, _ []string) error {
		p, err := s.Prune(cmd.Context(), time.Now().Add(-keep))
		if err != nil {
			return err
		}
		if err := s.Compact(cmd.Context()); err != nil {
			return err
		}
		size, err := s.Size(cmd.Context())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%s pruned, %s freed; the store takes %s\n", screen.Count(p.Documents, "document"),
			result.Format(float64(p.Bytes), "B"), result.Format(float64(size), "B"))
		return err
	})
	daysFlag(cmd, &keep, "keep", "30d", "prune nothing younger than `TIME`, in days or as a duration")
	return cmd
}

func newStoreRebuild(std streams) *cobra.Command {
	return onStore(&fleetOptions{}, &cobra.Command{
		Use:   "rebuild [flags]",
		Short: "Read all stored documents again",
		Long: `rebuild reads all stored documents again. Use it after an upgrade of hostlab,
which may read more of them, or if you doubt the store. It does all or nothing.

Exit status: 0 done, 1 it failed or not all could be read, 2 unusable flag.`,
		Args: noArgs,
	}, func(cmd *cobra.Command, s *store.Store, _ []string) error {
		n, left, err := s.Rebuild(cmd.Context(), time.Now())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%s read\n", screen.Count(n, "document"))
		for _, l := range left {
			fmt.Fprintf(std.err, "hostlab: %s\n", screen.Clean(l))
		}
		if len(left) > 0 {
			return fmt.Errorf("%s could not be read", screen.Count(len(left), "document"))
		}
		return err
	})
}

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
				return usagef("name the directory to write: hostlab fleet demo --out spool")
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
			// a store of its own keeps invented hosts from the user's
			at := screen.Operand("sqlite:" + filepath.Clean(out) + ".db")
			fmt.Fprintf(std.out, "Next: hostlab fleet ingest --store %s %s\nthen: hostlab fleet status --store %[1]s\n", at,
				screen.Operand(out))
			return nil
		},
	}
	cmd.Flags().IntVar(&m.Hosts, "hosts", 40, "invent `N` hosts")
	cmd.Flags().StringVar(&out, "out", "", "write to `SPOOL`, a directory that is new or empty")
	cmd.Flags().Uint64Var(&m.Seed, "seed", 1, "seed `NUMBER` of all random choices")
	cobra.CheckErr(cmd.MarkFlagDirname("out"))
	return cmd
}
