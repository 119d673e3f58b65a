package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
)

func newFleetHosts(std streams) *cobra.Command {
	o, x := &fleetOptions{}, &exceptions{}
	var where []string
	outliers := false
	cmd := showing(std, o, tableForms, &cobra.Command{
		Use:   "hosts [flags]",
		Short: "One row per host: age, findings, first lever; or the outliers",
		Long: `hosts prints one row per host. --where keeps the hosts where a fact has this
value; several must all hold. 'fleet diff' shows the names of facts. A fact that
is not known is neither equal nor unequal to anything.

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
		if hosts, err = only(ctx, s, hosts, where); err != nil {
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
func only(ctx context.Context, s *store.Store, hosts []*fleet.Host, where []string) ([]*fleet.Host, error) {
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
			return nil, usagef("--where %q: no host has a fact %s; 'hostlab fleet diff' shows what they are called", text,
				c.Path)
		}
		hosts = slices.DeleteFunc(hosts, func(h *fleet.Host) bool {
			v, known := facts[h.Name][c.Path]
			return !c.Holds(v, known)
		})
	}
	return hosts, nil
}
