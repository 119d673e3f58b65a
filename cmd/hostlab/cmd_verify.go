package main

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/settings"
)

func newVerify(std streams) *cobra.Command {
	var (
		at     settingsAt
		accept exceptions
		out    printing
		status strict
	)
	cmd := &cobra.Command{
		Use:   "verify [flags]",
		Short: "Are the settings still as they were set?",
		Long: `verify reads back every object that 'hostlab set' or an experiment has changed,
and names each whose value is now different. Daemons such as tuned write their
own values, firmware may cap, and a reboot forgets what no profile keeps. verify
also names a 'hostlab set' that was killed, a damaged journal, and what a live
experiment left after a power cut. Where --exceptions accepts the check that
advises a setting, verify names the setting, but it does not count for
--exit-status. verify writes nothing and needs no root.

Exit status:
  0    done
  1    failed on the way, or the journal is damaged
  2    a flag or the journal cannot be used
  10   with --exit-status: some values are not as set`,
		Example: `  hostlab verify --exit-status || hostlab set --role production-db --yes
  hostlab verify --format json | jq '.outcomes[].result'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			sys, dir, err := at.open()
			if err != nil {
				return err
			}
			list, trouble, err := settings.Verify(sys, dir, at.machineDir(dir))
			if err != nil {
				return err
			}
			var left []runner.Left
			if at.root == "" {
				if left, err = runner.Leftovers(); err != nil {
					return err
				}
			}
			excused, err := accept.drift(cmd.Context(), at.root, list)
			if err != nil {
				return err
			}
			failure := asError(trouble)
			err = errors.Join(failure, out.print(std, settings.Verified(sys, list, leftBehind(left), excused, failure)))
			n := settings.Tally(list)
			if err == nil && len(left) > 0 || err == nil &&
				n[setting.Unchanged]+n[setting.Rounded]+n[setting.Moved]+len(excused) < len(list) {
				return status.verdict(exitFound)
			}
			return err
		},
	}
	at.flags(cmd, true)
	accept.flags(cmd)
	out.flags(cmd, std, tableForms)
	status.flag(cmd, "end with status 10 if a value is not as it was set")
	return cmd
}

// drift are the objects that are not as set, and for which an exception of a check that advises their setting is in
// force.
func (e *exceptions) drift(ctx context.Context, root string, list []setting.Outcome) (out []settings.Accepted,
	_ error) {
	accepted, err := e.read()
	if err != nil || len(accepted) == 0 || !slices.ContainsFunc(list, drifted) {
		return nil, err
	}
	m := machine{root: root}
	f, err := m.collect(ctx, "")
	if err != nil {
		return nil, err
	}
	excused := check.Excused(accepted, f.Identity.Hostname.Or(unnamed), time.Now())
	for _, o := range list {
		if !drifted(o) {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(excused)) {
			if c, err := check.Find(id); err == nil && c.Advises(o.Setting) {
				out = append(out, settings.Accepted{Setting: o.Setting, Object: o.Name, Check: id,
					Reason: excused[id].Reason, Until: excused[id].Until})
				break
			}
		}
	}
	return out, nil
}

// drifted reports an object that another program or a person has set to something else. What could not be read is not
// one.
func drifted(o setting.Outcome) bool { return o.Result == setting.Foreign }

// asError is what is wrong with a journal; nil for nothing.
func asError(p *setting.Problem) error {
	if p == nil {
		return nil
	}
	return p
}

// leftBehind is what live experiments have left, for programs and for people.
func leftBehind(list []runner.Left) (out []settings.Left) {
	for _, l := range list {
		j := settings.Left{Record: l.Dir, Factors: append([]string{}, l.Factors...), Text: leftText(l)}
		if l.Unknown != nil {
			j.Unknown = screen.OneLine(l.Unknown)
		}
		out = append(out, j)
	}
	return out
}
