package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/trust"
)

func newFleet(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Many hosts: which differ, since when, where a change pays most",
		Long: `fleet shows which hosts differ and since when. It reads the documents that other
commands wrote on those hosts. It connects to no host: Ansible, a timer or you
bring the documents. A store in SQLite or PostgreSQL keeps them unchanged.

Each document counts once, in any order of arrival. If a host has sent none for
--stale, its state is not known: fleet shows its last answers with their age.

Exit status: 0 done, 1 it failed or documents were refused, 2 unusable flag.`,
		Example: `  hostlab assess --quiet --html= --json spool/db7/today.json
  hostlab fleet ingest spool
  hostlab fleet status
  hostlab fleet diff db7 db8`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFleetIngest(std), newFleetDemo(std), newFleetStatus(std), newFleetHosts(std), newFleetDiff(std),
		newFleetCheck(std), newFleetChanges(std),
		newFleetReport(std), newFleetExceptions(std), newFleetPool(std), newFleetExport(std), newFleetStore(std),
		newFleetServe(std), newFleetToken(std), newFleetRollout(std), newFleetSend(std))
	for _, c := range cmd.Commands() {
		c.DisableFlagsInUseLine = true
	}
	return cmd
}

// fleetOptions are those of all that read a store.
type fleetOptions struct {
	store, format string
	stale         time.Duration
}

func (o *fleetOptions) flags(cmd *cobra.Command) {
	o.storeFlag(cmd)
	formatFlag(cmd, &o.format, documentFormats)
	o.staleFlag(cmd)
}

// usualStale is a day that was missed, and some hours.
const usualStale = "50h"

func (o *fleetOptions) staleFlag(cmd *cobra.Command) {
	daysFlag(cmd, &o.stale, "stale", usualStale, "a host is not known after this `TIME` without a document: 50h, 2d")
}

func (o *fleetOptions) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.store, "store", "",
		"`ADDRESS` of the store: sqlite:PATH or postgres://USER@HOST/DATABASE (default sqlite: in $XDG_STATE_HOME/hostlab)")
}

// open opens the store for those who read it: a name that is mistyped makes none.
func (o *fleetOptions) open(cmd *cobra.Command) (*store.Store, error) {
	return o.with(cmd, store.Open)
}

// make opens the store for those who put something in.
func (o *fleetOptions) make(cmd *cobra.Command) (*store.Store, error) {
	return o.with(cmd, store.Make)
}

func (o *fleetOptions) with(cmd *cobra.Command, open func(context.Context, string) (*store.Store, error)) (*store.Store,
	error) {
	address := o.store
	if address == "" {
		dir, err := stateDir()
		if err != nil {
			return nil, err
		}
		if err := trust.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		address, open = "sqlite:"+filepath.Join(dir, "fleet.db"), store.Make
	}
	s, err := open(cmd.Context(), address)
	if store.Unusable(err) {
		return nil, usageError{err}
	}
	return s, err
}

// days is the value of a flag that takes 7d, or a duration.
type days struct {
	flag   string
	target *time.Duration
	text   string
}

func (d *days) String() string { return d.text }
func (d *days) Type() string   { return "string" }

// Set takes a time above zero. Of an empty one notEmpty says more.
func (d *days) Set(s string) (err error) {
	d.text = s
	if *d.target, err = fleet.Days(s); err != nil && s != "" {
		return usagef("--%s %q: %w", d.flag, s, err)
	}
	return nil
}

// daysFlag adds a flag that takes 7d, or a duration.
func daysFlag(cmd *cobra.Command, target *time.Duration, name, value, usage string) {
	d := &days{flag: name, target: target}
	cobra.CheckErr(d.Set(value))
	cmd.Flags().Var(d, name, usage)
}

func newFleetIngest(std streams) *cobra.Command {
	var (
		o  fleetOptions
		as string
	)
	cmd := &cobra.Command{
		Use:   "ingest [flags] PATH...|-",
		Short: "Store the documents of a spool, a file or standard input",
		Long: `ingest stores documents of 'assess --json', and of check, facts, verify, report
and 'watch --from' with --format json. It reads a directory with all below
it. HOST/NAME.json belongs to HOST; NAME.json belongs to the host that it names
itself. Files may be packed with gzip. A document that the store has already is
not stored again.

ingest refuses a document that another program wrote, of another schema, from
the future, or larger than 16 MiB. It prints a line for each, and stores the
others.

Exit status: 0 all are stored, 1 some were refused, 2 unusable flag.`,
		Example: `  hostlab fleet ingest /var/spool/hostlab
  ssh db7 hostlab check --format json | hostlab fleet ingest --host db7 -`,
		Args: takes(1, -1, "documents, directories of them, or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := o.make(cmd)
			if err != nil {
				return err
			}
			defer s.Close()
			in := &intake{std: std, store: s, as: as, now: time.Now()}
			for _, path := range args {
				if err := in.path(cmd.Context(), path); err != nil {
					return err
				}
			}
			return in.end(cmd.Context())
		},
	}
	o.storeFlag(cmd)
	cmd.Flags().StringVar(&as, "host", "", "the documents belong to host `NAME`, whatever they say")
	return cmd
}
