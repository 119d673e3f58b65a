package main

import (
	"bufio"
	"context"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/fleet"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/fleet/store"
	"hostlab/internal/result"
	"hostlab/internal/setting"
	"hostlab/internal/trust"
)

func newFleetRollout(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Plan a change in waves, and judge each wave",
		Long: `rollout plans a change on many hosts in waves, and judges it after each wave. It
connects to no host: Ansible or you apply the change and bring the documents.
` + page("rollout.md") + ` shows all steps.

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet rollout plan --set governor=performance --out plan.json
  hostlab fleet rollout status plan.json
  hostlab fleet rollout gate plan.json --wave 1`,
	}
	return group(cmd, newRolloutPlan(std), newRolloutStatus(std), newRolloutGate(std))
}

// rolloutOptions are those of a plan.
type rolloutOptions struct {
	fleetOptions
	accept               exceptions
	where, set           []string
	hosts, out, measures string
	role                 check.Role
	waves                int
	seed                 uint64
}

func newRolloutPlan(std streams) *cobra.Command {
	o := &rolloutOptions{}
	o.stdout = true // --out has the plan
	cmd := showing(std, &o.fleetOptions, tableForms, &cobra.Command{
		Use:   "plan [flags]",
		Short: "Assign hosts to waves at random; say which harm a gate can show",
		Long: `plan assigns hosts to waves at random, within equal hardware and role. It writes
the plan to --out and into the store. It says which harm the gate after each
wave can show. It leaves out hosts with an exception for the setting, and names
them.

--measure names the measurement to compare; 'fleet export csv' lists them.
Without it, plan takes the first of these that all hosts have:
  ` + strings.Join(rollout.Usual, `
  `) + `

Exit status: 0 done, 1 it failed, 2 unusable flag.`,
		Example: `  hostlab fleet rollout plan --set governor=performance --out plan.json
  hostlab fleet rollout plan --role production-db --hosts web.txt --waves 2 \
    --seed 7 --out plan.json
  hostlab fleet rollout plan --set swappiness=10 --where memory.swappiness=60 \
    --waves 4 --out plan.json`,
		Args: noArgs,
	}, func(ctx context.Context, s *store.Store, _ []string, now time.Time) (*document.Document, error) {
		if o.hosts != "" && len(o.where) > 0 {
			return nil, usagef("--where and --hosts both choose hosts: give one of them")
		}
		return o.plan(ctx, s, now)
	})
	f := cmd.Flags()
	f.StringArrayVar(&o.where, "where", nil, "keep hosts where `FACT=VALUE` holds; also != < <= > >=")
	f.StringVar(&o.hosts, "hosts", "", "`FILE` of hosts, one per line (default: all in the store)")
	f.StringArrayVar(&o.set, "set", nil, "`NAME=VALUE` as for 'hostlab set' (may be repeated)")
	choiceFlag(cmd, &o.role, "role", "", "apply what check advises for the role", check.Roles)
	f.IntVar(&o.waves, "waves", 2, "how many waves")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the random waves (default: random)")
	f.StringVar(&o.measures, "measure", "", "compare the measurement `NAME`")
	f.StringVar(&o.out, "out", "", "write the plan to `FILE`")
	o.accept.flags(cmd)
	return cmd
}

func (o *rolloutOptions) plan(ctx context.Context, s *store.Store, now time.Time) (*document.Document, error) {
	p := &rollout.Plan{Schema: rollout.Schema, Kind: rollout.Kind, Version: versionText(), Created: now.UTC(),
		Seed: o.seed, Role: o.role, Set: []string{}}
	for p.Seed == 0 {
		p.Seed = rand.Uint64() >> 11 //nolint:gosec // no secret; so many digits stay exact in JSON
	}
	if o.out == "" {
		return nil, usagef("name the file for the plan with --out FILE")
	}
	want, err := o.changes()
	if err != nil {
		return nil, err
	}
	for _, a := range want {
		p.Set = append(p.Set, a.String())
	}
	hosts, err := o.taking(ctx, s)
	if err != nil {
		return nil, err
	}
	list, err := o.accept.read()
	if err != nil {
		return nil, err
	}
	fleet.Accept(hosts, list, now)
	var stale, partly []string
	var candidates []rollout.Candidate
	for _, h := range hosts {
		if left := excused(h, list, want, now); len(left) > 0 && o.role == "" {
			p.LeftOut = append(p.LeftOut, left...)
			continue
		}
		if o.role != "" && len(check.Excused(list, h.Name, now)) > 0 {
			partly = append(partly, h.Name)
		}
		if h.Stale(now, o.stale) {
			stale = append(stale, h.Name)
		}
		candidates = append(candidates, rollout.Candidate{Name: h.Name, Hardware: h.Stratum, Role: h.Role})
	}
	if err := rollout.Waves(o.waves, len(candidates)); err != nil {
		return nil, usagef("--waves %d: %w", o.waves, err)
	}
	p.Strata, p.Waves = rollout.Draw(candidates, o.waves, p.Seed)
	typed := rollout.Typed{Plan: o.out, Store: o.store}
	names, err := s.MeasuredNames(ctx)
	if err != nil {
		return nil, err
	}
	if p.Measure, err = rollout.Chosen(o.measures, names, len(hosts), typed); err != nil {
		return nil, usagef("--measure: %w", err)
	}
	values, err := s.Values(ctx, p.Measure.Name, now.Add(-rollout.History))
	if err != nil {
		return nil, err
	}
	scatter, before := rollout.Scatter(p, values)
	p.Foresee(scatter, before)
	text, err := result.JSON(p, result.Indented)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	kept, err := fleet.Read(text, "", now)
	if err != nil {
		return nil, err
	}
	if err := writeFile(o.out, func(f *os.File) error { _, err := f.Write(text); return err }); err != nil {
		return nil, err
	}
	if _, err := s.Put(ctx, []*fleet.Document{kept}, "rollout plan", now); err != nil {
		return nil, err
	}
	d := p.Document(typed, scatter, stale)
	if len(partly) > 0 {
		d.Warnings = append(d.Warnings, strings.Join(partly, ", ")+
			": take part; what an exception accepts there is left out by set")
	}
	return d, nil
}

// changes are what --set names, each with a value that hosts may take.
func (o *rolloutOptions) changes() ([]setting.Assignment, error) {
	want, err := assignments(o.set)
	if err != nil {
		return nil, err
	}
	if len(want) == 0 && o.role == "" {
		return nil, usagef("name what to set with --set, such as governor=performance, or --role ROLE")
	}
	for _, a := range want {
		s, known := setting.Find(a.Name)
		if !known {
			return nil, usagef("--set %s: no such setting; 'hostlab settings' lists what there is", a)
		}
		if _, err := s.Spell(a.Value); err != nil { // no host takes it
			return nil, usagef("--set %s: %w", s.Name, err)
		}
	}
	return want, nil
}

func (o *rolloutOptions) taking(ctx context.Context, s *store.Store) ([]*fleet.Host, error) {
	hosts, err := s.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	if o.hosts == "" {
		return o.only(ctx, s, hosts, o.where)
	}
	f, err := openNamed(o.hosts)
	if err != nil {
		return nil, usagef("--hosts %s: %w", o.hosts, plain(err))
	}
	defer f.Close()
	var named []*fleet.Host
	lines := bufio.NewScanner(trust.Reader(f, 1<<20))
	for lines.Scan() {
		name, _, _ := strings.Cut(lines.Text(), "#")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		h := fleet.Named(hosts, name)
		switch {
		case h == nil:
			return nil, o.noHost("--hosts %s: the store has no document of host %q", o.hosts, name)
		case slices.Contains(named, h):
			return nil, usagef("--hosts %s: %s is there twice; a host is in one wave", o.hosts, name)
		}
		named = append(named, h)
	}
	return named, lines.Err()
}

// excused are the exceptions in force on a host for checks that advise one of the settings: of the file, and of its
// own check.
func excused(h *fleet.Host, list []check.Exception, want []setting.Assignment, now time.Time) (out []rollout.LeftOut) {
	mine := check.Excused(list, h.Name, now)
	for _, f := range h.Accepted {
		if f.Exception != nil {
			mine[f.Check] = *f.Exception
		}
	}
	for id, e := range mine {
		if c, err := check.Find(id); err == nil && slices.ContainsFunc(want,
			func(a setting.Assignment) bool { return c.Advises(a.Name) }) {
			out = append(out, rollout.LeftOut{Host: h.Name, Check: id, Reason: e.Reason, Until: e.Until})
		}
	}
	slices.SortStableFunc(out, func(a, b rollout.LeftOut) int { return strings.Compare(a.Check, b.Check) })
	return out
}

func readPlan(ctx context.Context, s *store.Store, name string) (*rollout.Course, error) {
	f, err := openNamed(name)
	if err != nil {
		return nil, usagef("%s: %w", name, plain(err))
	}
	defer f.Close()
	data, err := trust.File(f, 16<<20)
	if err != nil {
		return nil, usagef("%s: %w", name, plain(err))
	}
	p, err := rollout.Read(data)
	if err != nil {
		return nil, usagef("%s: %w", name, err)
	}
	return s.Course(ctx, p)
}

func newRolloutStatus(std streams) *cobra.Command {
	o := &fleetOptions{}
	return showing(std, o, tableForms, &cobra.Command{
		Use:   "status [flags] PLAN",
		Short: "Which waves are done, and which hosts need a look",
		Long: `status shows how far a plan is, from the documents in the store. A host has the
change if its 'hostlab verify --format json' says so.

Exit status: 0 done, 1 it failed, 2 unusable flag or plan.`,
		Example: `  hostlab fleet rollout status plan.json`,
		Args:    takes(1, 1, "one file of a plan"),
	}, func(ctx context.Context, s *store.Store, args []string, _ time.Time) (*document.Document, error) {
		c, err := readPlan(ctx, s, args[0])
		if err != nil {
			return nil, err
		}
		return c.Status(rollout.Typed{Plan: args[0], Store: o.store}), nil
	})
}

func newRolloutGate(std streams) *cobra.Command {
	o := &fleetOptions{}
	wave, policy := 0, rollout.UnlessHarm
	var (
		judged *rollout.Judged
		status strict
	)
	cmd := showing(std, o, tableForms, &cobra.Command{
		Use:   "gate [flags] PLAN",
		Short: "After a wave: go on, put back, or wait?",
		Long: `gate compares hosts that have the change with hosts that do not have it yet, in
the same period. It compares each with its own measurements before. Since waves
are random, a load that drifts is not called an effect. If a change has no
effect, all gates of its plan together call it harm in at most 5 % of roll-outs.

With --policy unless-harm, gate goes on if no harm is shown, except if the
measure looks worse by more than 5 %. With only-if-better, it goes on only if
the change is shown to be better. It never goes on if a host of the wave is
missing.

Exit status:
  0   done; with --exit-status: go on
  1   it failed
  2   unusable flag or plan
  10  with --exit-status: harm, put the wave back
  11  with --exit-status: undecided`,
		Example: `  hostlab fleet rollout gate plan.json --wave 1 --exit-status
  hostlab fleet rollout gate plan.json --wave 2 --policy only-if-better`,
		Args: takes(1, 1, "one file of a plan"),
	}, func(ctx context.Context, s *store.Store, args []string, _ time.Time) (*document.Document, error) {
		c, err := readPlan(ctx, s, args[0])
		if err != nil {
			return nil, err
		}
		if judged, err = c.Gate(wave, policy); err != nil {
			return nil, usagef("--wave %d: %w", wave, err)
		}
		return judged.Document(c.Plan, rollout.Typed{Plan: args[0], Store: o.store}), nil
	})
	show := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := show(cmd, args)
		switch {
		case err != nil:
			return err
		case judged.Verdict == rollout.Harm:
			return status.verdict(exitFound)
		case !judged.Go:
			return status.verdict(exitUndecided)
		}
		return nil
	}
	status.flag(cmd, "end with the verdict as a status, 10 or 11")
	cmd.Flags().IntVar(&wave, "wave", 0, "`NUMBER` of the wave applied last")
	choiceFlag(cmd, &policy, "policy", rollout.UnlessHarm, "when to go on", rollout.Policies)
	return cmd
}
