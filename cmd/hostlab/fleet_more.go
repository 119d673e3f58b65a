package main

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/store"
)

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
		list, err := (&exceptions{args[1]}).read()
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
