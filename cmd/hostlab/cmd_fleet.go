package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/screen"
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
		Example: `  mkdir -p spool/db7
  hostlab assess --out spool/db7/today.json
  hostlab fleet ingest spool
  hostlab fleet status
  hostlab fleet diff db7 db8`,
	}
	cmd.AddCommand(elsewhere("hostlab fleet", [][2]string{{"collect", "fleet ingest SPOOL"}, {"add", "fleet ingest SPOOL"},
		{"import", "fleet ingest SPOOL"}, {"outliers", "fleet hosts --outliers"}, {"list", "fleet hosts"},
		{"compare", "fleet diff HOST HOST"}})...)
	return group(cmd, newFleetIngest(std), newFleetDemo(std), newFleetStatus(std), newFleetHosts(std), newFleetDiff(std),
		newFleetCheck(std), newFleetChanges(std),
		newFleetReport(std), newFleetExceptions(std), newFleetPool(std), newFleetExport(std), newFleetStore(std),
		newFleetServe(std), newFleetToken(std), newFleetRollout(std), newFleetSend(std))
}

// fleetOptions are those of all that read a store.
type fleetOptions struct {
	store string
	stale time.Duration
	printing
}

// flags has also the forms that a command prints.
func (o *fleetOptions) flags(cmd *cobra.Command, std streams, forms []string) {
	o.storeFlag(cmd)
	o.printing.flags(cmd, std, forms)
	o.staleFlag(cmd)
}

// usualStale is a day that was missed, and some hours.
const usualStale = "50h"

func (o *fleetOptions) staleFlag(cmd *cobra.Command) {
	daysFlag(cmd, &o.stale, "stale", usualStale, "a host is not known after this `TIME` without a document: 50h, 2d")
}

func (o *fleetOptions) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.store, "store", "",
		"`ADDRESS` of the store: sqlite:PATH or postgres://USER@HOST/DATABASE (default: $"+storeVariable+
			", store of config.toml, or sqlite: in $XDG_STATE_HOME/hostlab)")
}

// open opens the store for those who read it: a name that is mistyped makes none.
func (o *fleetOptions) open(cmd *cobra.Command) (*store.Store, error) {
	return o.with(cmd, false)
}

// make opens the store for those who put something in.
func (o *fleetOptions) make(cmd *cobra.Command) (*store.Store, error) {
	return o.with(cmd, true)
}

func (o *fleetOptions) with(cmd *cobra.Command, making bool) (*store.Store, error) {
	address, usual, err := o.address()
	if err != nil {
		return nil, usageError{err}
	}
	open, file := store.Open, strings.TrimPrefix(address, "sqlite:")
	if making {
		open = store.Make
	}
	switch {
	case usual && making:
		if err := trust.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return nil, err
		}
	case usual:
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return nil, usagef("there is no store yet (%s); 'hostlab fleet ingest SPOOL' makes one", screen.Clean(file))
		}
	}
	s, err := open(cmd.Context(), address)
	if store.Unusable(err) {
		return nil, usageError{err}
	}
	return s, err
}

// there reports whether the store is to be opened: a file of SQLite that is not there yet has to be made.
func (o *fleetOptions) there() (bool, error) {
	address, usual, err := o.address()
	if err != nil {
		return false, usageError{err}
	}
	file, is := strings.CutPrefix(address, "sqlite:")
	if !is || file == "" {
		return true, nil
	}
	dir, base, err := trust.Place(file)
	if err != nil { // to open it says what is wrong; the usual directory is made
		return !usual || !errors.Is(err, fs.ErrNotExist), nil //nolint:nilerr // see above
	}
	defer dir.Close()
	_, err = dir.Lstat(base)
	return !errors.Is(err, fs.ErrNotExist), nil
}

// storeVariable holds the store's address where --store does not.
const storeVariable = "HOSTLAB_STORE"

// address is that of the store: as it was given, or the usual one.
func (o *fleetOptions) address() (address string, usual bool, _ error) {
	if address = cmp.Or(o.store, os.Getenv(storeVariable)); address != "" {
		return address, false, nil
	}
	c, err := readConfig()
	if err != nil || c.Store != "" {
		return c.Store, false, err
	}
	dir, err := stateDir()
	if err != nil {
		return "", false, fmt.Errorf("%w; name a store with --store", err)
	}
	return "sqlite:" + filepath.Join(dir, "fleet.db"), true, nil
}

func (o *fleetOptions) noHost(text string, args ...any) error {
	return usagef(text+"; '%s' lists them", append(args, screen.With("hostlab fleet hosts", "--store", o.store))...)
}

// hostNames completes names of hosts that the store knows; of a store that cannot be opened, none.
func (o *fleetOptions) hostNames(cmd *cobra.Command, _ []string, _ string) (list []string, _ cobra.ShellCompDirective) {
	address, _, err := o.address()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := store.Open(cmd.Context(), address)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer s.Close()
	hosts, err := s.Hosts(cmd.Context())
	if err == nil {
		list = names(hosts, func(h *fleet.Host) string { return h.Name })
	}
	return list, cobra.ShellCompDirectiveNoFileComp
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
		Long: `ingest stores documents of assess, check, facts, verify, report and
'watch --from', as --format json writes them. It reads a directory with all
below it. HOST/NAME.json belongs to HOST; NAME.json belongs to the host that it
names itself. Files may be packed with gzip. A document that the store has
already is not stored again.

ingest refuses a document that another program wrote, of another schema, from
the future, or larger than 16 MiB. It prints a line for each, and stores the
others.

Exit status: 0 all are stored, 1 some were refused, 2 unusable flag.`,
		Example: `  hostlab fleet ingest /var/spool/hostlab
  ssh db7 hostlab check --format json | hostlab fleet ingest --host db7 -`,
		Args: takes(1, -1, "documents, directories of them, or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in := &store.Intake{Make: func() (*store.Store, error) { return o.make(cmd) }, Host: as, Now: time.Now()}
			defer in.Close()
			if there, err := o.there(); err != nil {
				return err
			} else if there {
				if in.Store, err = o.open(cmd); err != nil {
					return err
				}
			}
			in.Refused = func(path string, err error) {
				line := screen.OneLine(err)
				if path != "" {
					line = screen.Clean(path) + ": " + line
				}
				fmt.Fprintln(std.err, "hostlab: "+line)
			}
			for _, path := range args {
				if err := ingest(cmd.Context(), std, in, path); err != nil {
					return err
				}
			}
			read, added, refused, err := in.End(cmd.Context())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "%s read: %d new, %d known, %d refused\n", screen.Count(read, "document"), added,
				read-added-refused, refused)
			if refused > 0 && err == nil { // each has its line
				return verdictStatus{exitFailed}
			}
			return err
		},
	}
	o.storeFlag(cmd)
	cmd.Flags().StringVar(&as, "host", "", "the documents belong to host `NAME`, whatever they say")
	return cmd
}

// ingest keeps a spool, a file or standard input.
func ingest(ctx context.Context, std streams, in *store.Intake, path string) error {
	if path == "-" {
		return in.One(ctx, "standard input", func() (io.ReadCloser, bool, error) { return io.NopCloser(std.in), false, nil })
	}
	info, err := os.Stat(path)
	if err != nil {
		return usagef("%s: %w", screen.Clean(path), plain(err))
	}
	if info.IsDir() {
		return in.Spool(ctx, path)
	}
	return in.One(ctx, path, func() (io.ReadCloser, bool, error) {
		f, err := openNamed(path)
		return f, strings.HasSuffix(path, ".gz"), plain(err)
	})
}
