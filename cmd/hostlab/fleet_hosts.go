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
			return peers(ctx, s, now, o.stale)
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

// peers finds the outliers among hosts that are known, and what sets them apart.
func peers(ctx context.Context, s *store.Store, now time.Time, limit time.Duration) (*document.Document, error) {
	list, err := s.Compared(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(list, func(c fleet.Compared) bool { return now.Sub(c.Last) > limit })
	compared := fleet.NewPeers(list)
	if err := s.EachNewest(ctx, compared.Add); err != nil {
		return nil, err
	}
	found, groups := compared.Outliers()
	told := map[string][]fleet.Trait{}
	for i, o := range found {
		if _, done := told[o.Host]; !done {
			if told[o.Host], err = traits(ctx, s, o, list); err != nil {
				return nil, err
			}
		}
		found[i].Apart = told[o.Host]
	}
	return fleet.OutliersDocument(found, list, groups), nil
}

// traits are the facts in which a host is not as its peers.
func traits(ctx context.Context, s *store.Store, o fleet.Outlier, list []fleet.Compared) ([]fleet.Trait, error) {
	var names []string
	for _, c := range list {
		if c.Stratum == o.Stratum && c.Role == o.Role {
			names = append(names, c.Name)
		}
	}
	const most = 200 // peers are enough to say what is usual
	names = append(slices.DeleteFunc(names, func(n string) bool { return n == o.Host })[:min(len(names)-1, most)], o.Host)
	facts, err := s.FactsOf(ctx, nil, names)
	if err != nil {
		return nil, err
	}
	var others []map[string]fleet.Value
	for _, n := range names[:len(names)-1] {
		others = append(others, facts[n])
	}
	return fleet.Traits(facts[o.Host], others), nil
}
