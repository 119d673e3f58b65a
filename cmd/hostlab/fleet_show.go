package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
	"hostlab/internal/screen"
)

// showing is a command that prints what a store says, in one of the forms.
func showing(std streams, o *fleetOptions, forms []string, cmd *cobra.Command,
	show func(ctx context.Context, s *store.Store, args []string, now time.Time) (*document.Document,
		error)) *cobra.Command {
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := o.open(cmd)
		if err != nil {
			return err
		}
		defer s.Close()
		now := time.Now()
		d, err := show(cmd.Context(), s, args, now)
		if err != nil {
			return err
		}
		if d.When.IsZero() {
			d.When = now
		}
		return o.print(std, d)
	}
	o.flags(cmd, std, forms)
	return cmd
}

func newFleetStatus(std streams) *cobra.Command {
	o, x := &fleetOptions{}, &exceptions{}
	cmd := showing(std, o, tableForms, &cobra.Command{
		Use:   "status [flags]",
		Short: "All hosts in one answer: findings, levers, unknown hosts",
		Long: `status says in one answer how all hosts are: where to begin, which hosts are not
known, which settings are wrong, and which lever gives most.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet status
  hostlab fleet status --out fleet.html`,
		Args: noArgs,
	}, func(ctx context.Context, s *store.Store, _ []string, now time.Time) (*document.Document, error) {
		hosts, err := accepted(ctx, s, x, now)
		if err != nil {
			return nil, err
		}
		n, err := s.Documents(ctx)
		if err != nil {
			return nil, err
		}
		return fleet.Status(hosts, n, now, o.stale).In(o.store).Document(), nil
	})
	x.flags(cmd)
	return cmd
}

func accepted(ctx context.Context, s *store.Store, x *exceptions, now time.Time) ([]*fleet.Host, error) {
	list, err := x.read()
	if err != nil {
		return nil, err
	}
	hosts, err := s.Hosts(ctx)
	fleet.Accept(hosts, list, now)
	return hosts, err
}

func newFleetDiff(std streams) *cobra.Command {
	o := &fleetOptions{}
	return showing(std, o, tableForms, &cobra.Command{
		Use:   "diff [flags] HOST HOST",
		Short: "Why two hosts differ: gains, settings, findings, measurements",
		Long: `diff compares two hosts: what each could gain from a lever, then how they are
set, what checks find on one alone, and what was measured. It names measurements
only where both intervals are apart.

Exit status: 0 done, 1 it failed, 2 unusable flag or host.`,
		Example:           `  hostlab fleet diff db7 db8`,
		Args:              takes(2, 2, "two names of hosts"),
		ValidArgsFunction: o.hostNames,
	}, func(ctx context.Context, s *store.Store, args []string, now time.Time) (*document.Document, error) {
		hosts, err := s.Hosts(ctx)
		if err != nil {
			return nil, err
		}
		var pair [2]*fleet.Host
		for i, name := range args {
			if pair[i] = fleet.Named(hosts, name); pair[i] == nil {
				return nil, o.noHost("the store has no document of host %q", name)
			}
		}
		if pair[0] == pair[1] {
			return nil, usagef("a host does not differ from itself: name two hosts, not %q twice", args[0])
		}
		return s.Diff(ctx, pair[0], pair[1], now, o.stale)
	})
}

func newFleetCheck(std streams) *cobra.Command {
	o, x := &fleetOptions{}, &exceptions{}
	cmd := showing(std, o, tableForms, &cobra.Command{
		Use:   "check [flags] ID",
		Short: "What one check says on each host",
		Long: `check prints one row per host: what the newest document of the host says of one
check. 'hostlab check --explain list' names all checks.

Exit status: 0 done, 1 it failed, 2 unusable flag or check.`,
		Example:           `  hostlab fleet check PWR-001 --format csv`,
		Args:              takes(1, 1, "one ID of a check, such as PWR-001"),
		ValidArgsFunction: checkIDs,
	}, func(ctx context.Context, s *store.Store, args []string, now time.Time) (*document.Document, error) {
		exceptions, err := x.read()
		if err != nil {
			return nil, err
		}
		list, err := s.Check(ctx, args[0])
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			known := names(check.All(), func(c check.Check) string { return c.ID })
			return nil, usagef("no document has a check %q%s", args[0], meant(args[0], known))
		}
		hosts, err := s.Hosts(ctx)
		if err != nil {
			return nil, err
		}
		fleet.AcceptHeld(list, exceptions, hosts, now, o.stale)
		return fleet.CheckDocument(args[0], list), nil
	})
	x.flags(cmd)
	return cmd
}

func newFleetChanges(std streams) *cobra.Command {
	o := &fleetOptions{}
	var since time.Duration
	cmd := showing(std, o, tableForms, &cobra.Command{
		Use:   "changes [flags]",
		Short: "What changed, latest first",
		Long: `changes lists the facts that changed on each host, with the values before and
after, and when a document first showed it.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet changes --since 24h`,
		Args:    noArgs,
	}, func(ctx context.Context, s *store.Store, _ []string, now time.Time) (*document.Document, error) {
		list, err := s.Changes(ctx, now.Add(-since))
		if err != nil {
			return nil, err
		}
		return fleet.ChangesDocument(list, since), nil
	})
	daysFlag(cmd, &since, "since", "7d", "`TIME` to go back: 7d, 36h")
	return cmd
}

func newFleetExceptions(std streams) *cobra.Command {
	o := &fleetOptions{}
	return showing(std, o, tableForms, &cobra.Command{
		Use:   "exceptions check [flags] FILE",
		Short: "What a file of exceptions accepts here, and what has expired",
		Long: `exceptions check reads a file of exceptions. For each it says whether it accepts
a finding now, has expired, or matches no finding.
` + page("exceptions.md") + ` describes the file.

Exit status: 0 done, 1 it failed, 2 unusable flag or file.`,
		Example: `  hostlab fleet exceptions check exceptions.toml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || args[0] != "check" {
				return usagef("expected 'check' and a file: hostlab fleet exceptions check FILE")
			}
			return nil
		},
	}, func(ctx context.Context, s *store.Store, args []string, now time.Time) (*document.Document, error) {
		list, err := (&exceptions{args[1], true}).read()
		if err != nil {
			return nil, err
		}
		hosts, err := s.Hosts(ctx)
		if err != nil {
			return nil, err
		}
		return fleet.ExceptionsDocument(hosts, list, now), nil
	})
}

func newFleetPool(std streams) *cobra.Command {
	o := &fleetOptions{}
	return showing(std, o, tableForms, &cobra.Command{
		Use:   "pool [flags] STUDY",
		Short: "One study on many hosts: mean, spread, the next host",
		Long: `pool combines the results of one study on several hosts, from the documents of
'report --format json'. It pools hosts of equal hardware. From three hosts on it
gives the mean, how much hosts differ, and the prediction interval for the next
host. Only that interval decides "worthwhile on hosts like these": the mean can
be precise while hosts differ.

Exit status: 0 done, 1 it failed, 2 unusable flag or study.`,
		Example: `  hostlab fleet ingest --host db7 report.json
  hostlab fleet pool live-governor`,
		Args: takes(1, 1, "one name of a study"),
	}, func(ctx context.Context, s *store.Store, args []string, _ time.Time) (*document.Document, error) {
		ran, err := s.Ran(ctx, args[0])
		if err != nil {
			return nil, err
		}
		if len(ran) == 0 {
			names, err := s.Studies(ctx)
			switch {
			case err != nil:
				return nil, err
			case len(names) == 0:
				return nil, usagef("the store has no experiment yet; ingest what 'hostlab report --format json' writes")
			}
			return nil, usagef("the store has no experiment of study %q; it has %s", args[0], strings.Join(names, ", "))
		}
		return fleet.PoolDocument(args[0], fleet.PoolStudies(ran)), nil
	})
}

func newFleetHosts(std streams) *cobra.Command {
	o, x := &fleetOptions{}, &exceptions{}
	var where []string
	outliers := false
	cmd := showing(std, o, tableForms, &cobra.Command{
		Use:   "hosts [flags]",
		Short: "One row per host: age, findings, first lever; or the outliers",
		Long: `hosts prints one row per host. --where keeps the hosts where a fact has this
value; of several, all must hold. 'fleet diff' shows the names of facts. A host
whose fact is not known is left out, also by !=.

--outliers names hosts whose measurements are far from those of their peers:
8 or more hosts of equal hardware and role. On average, one in twenty of those
named is false. Below them stand the facts that set them apart.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet hosts --where memory.swappiness=60
  hostlab fleet hosts --where 'memory.total<8e9' --where identity.os!=Debian
  hostlab fleet hosts --outliers`,
		Args: noArgs,
	}, func(ctx context.Context, s *store.Store, _ []string, now time.Time) (*document.Document, error) {
		switch {
		case outliers && len(where) > 0:
			return nil, usagef("--where chooses rows of hosts, and --outliers compares all: give one of them")
		case outliers:
			return s.Outliers(ctx, now, o.stale)
		}
		hosts, err := accepted(ctx, s, x, now)
		if err != nil {
			return nil, err
		}
		if hosts, err = o.only(ctx, s, hosts, where); err != nil {
			return nil, err
		}
		return fleet.HostsDocument(hosts, now, o.stale), nil
	})
	cmd.Flags().StringArrayVar(&where, "where", nil, "keep hosts where `FACT=VALUE` holds; also != < <= > >=")
	cmd.Flags().BoolVar(&outliers, "outliers", false, "show hosts that measure unlike their peers")
	x.flags(cmd)
	return cmd
}

// only are the hosts for which all conditions hold.
func (o *fleetOptions) only(ctx context.Context, s *store.Store, hosts []*fleet.Host,
	where []string) ([]*fleet.Host, error) {
	for _, text := range where {
		c, err := fleet.ParseCondition(text)
		if err != nil {
			return nil, usagef("--where %q: %w", text, err)
		}
		facts, err := s.FactsOf(ctx, []string{c.Path}, nil)
		if err != nil {
			return nil, err
		}
		if len(facts) == 0 {
			return nil, usagef("--where %q: no host has a fact %s; '%s' shows what they are called", text, c.Path,
				screen.With("hostlab fleet diff HOST HOST", "--store", o.store))
		}
		hosts = slices.DeleteFunc(hosts, func(h *fleet.Host) bool {
			v, known := facts[h.Name][c.Path]
			return !c.Holds(v, known)
		})
	}
	return hosts, nil
}
