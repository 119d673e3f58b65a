package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/settings"
)

type setOptions struct {
	at     settingsAt
	accept exceptions
	role   check.Role
	dryRun bool
	yes    bool
	keep   bool
	quiet  bool
	printing
}

func newSet(std streams) *cobra.Command {
	var o setOptions
	cmd := &cobra.Command{
		Use:   "set [flags] NAME=VALUE... | --role ROLE",
		Short: "Change settings, so that they can be put back exactly",
		Long: `set changes settings on every object that has them, or on one alone with
NAME@OBJECT=VALUE. NAME is one that 'hostlab settings' lists, or the name of its
sysctl: swappiness, vm.swappiness. set shows what would change, and asks first;
without a terminal it needs --yes. --dry-run needs no root. Before the first
write it saves each original value in a journal on disk. It reads back each
write. If one fails, it undoes the others. 'hostlab revert' restores all, also
after a kill or a power cut.

With --role, set applies what 'hostlab check' finds and advises for that role,
as far as settings can. A NAME=VALUE argument overrides it. It leaves out
findings that --exceptions accepts on this host, and names them.

` + lasts(runtime.GOOS) + `

Exit status:
  0    set
  1    something could not be set; the rest is undone, or kept with --keep
  2    no such setting or value
  3    there is nothing to inspect
  130  interrupted, and undone`,
		Example: unlessWindows(`  hostlab set governor=performance --dry-run
  hostlab set governor=performance max_freq@policy0=2.4GHz cstate_latency=70us
  hostlab set --role production-db --yes
  hostlab set cpu_dma_latency=70us        # until Ctrl-C`, `  hostlab set power_scheme=SCHEME_MIN --dry-run
  hostlab set PERFEPP@ac=0 PROCTHROTTLEMIN@ac=100`),
		ValidArgsFunction: o.at.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := assignments(args)
			if err != nil {
				return err
			}
			if len(want) == 0 && o.role == "" {
				return usagef("name what to set, such as governor=performance, or --role ROLE; 'hostlab settings' lists " +
					"what there is")
			}
			o.quiet = quiet(cmd)
			return o.run(cmd.Context(), std, want)
		},
	}
	o.at.flags(cmd, false)
	o.accept.flags(cmd)
	choiceFlag(cmd, &o.role, "role", "", "also apply what check advises for the role", check.Roles)
	o.flags(cmd, std, tableForms)
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep what could be set if something else fails")
	return cmd
}

// lasts says how long what is set stays so. The text has lines as the help has them.
func lasts(goos string) string {
	if goos == "windows" {
		return `What is set lasts over a reboot, until 'hostlab revert'.`
	}
	return `A setting lasts until 'hostlab revert' or a reboot. To keep it, 'hostlab
export' writes a profile for a tool that applies it at every boot.
cpu_dma_latency is in force only while set stays in the foreground: Ctrl-C ends
it.`
}

func (o *setOptions) run(ctx context.Context, std streams, want []setting.Assignment) error {
	sys, dir, err := o.at.open()
	if err != nil {
		return err
	}
	return o.set(ctx, std, sys, dir, want)
}

// set is run on a machine, with the directory of its journal.
func (o *setOptions) set(ctx context.Context, std streams, sys *setting.System, dir string,
	want []setting.Assignment) error {
	if sys.Missing != nil {
		return cannotLook{sys.Missing}
	}
	want, advice, err := o.advised(ctx, want)
	if err != nil {
		return err
	}
	sys.Planning = o.dryRun && os.Geteuid() > 0 // which Windows has not
	p, err := setting.NewPlan(sys, want)
	if err != nil {
		return usageError{err}
	}
	// A journal that cannot be trusted must be looked at before anything is added to it. Of one that may
	// not be read, as with root's HOME, what is to be set tells more: the objects say which right is missing.
	v, err := setting.Look(sys, dir)
	switch {
	case err == nil && v.Problem() != nil:
		return v.Problem()
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return err
	}
	refusal, left := o.whole(sys, p), o.kept(sys, p)
	if v != nil && !o.quiet {
		warn(std.err, v)
	}
	if failed := cmp.Or(refusal, left); refusal != nil || o.dryRun || len(p.Steps) == 0 {
		action, list := settings.Plan, append(p.Outcomes(), p.Left()...)
		if len(p.Steps) == 0 && !o.dryRun && refusal == nil {
			action, list = settings.DoSet, p.Left()
		}
		return errors.Join(o.print(std, settings.Preview(sys, p, advice, settings.NewChange(action, list, failed), o.dryRun,
			refusal != nil)), failed)
	}
	asks := askable(std) && o.format == "text"
	if !asks { // what is refused needs no plan
		if err := o.permitted(ctx, std, p); err != nil {
			return err
		}
	}
	if o.format == "text" {
		if err := writeDocument(std.out, settings.Preview(sys, p, advice, nil, false, false), "text"); err != nil {
			return err
		}
	}
	if asks {
		if err := o.permitted(ctx, std, p); err != nil {
			return err
		}
	}
	return o.apply(ctx, std, sys, dir, want, p)
}

// advised adds what the role's checks advise to what was typed, which wins.
func (o *setOptions) advised(ctx context.Context, want []setting.Assignment) (_ []setting.Assignment, notes []string,
	_ error) {
	if o.role == "" {
		return want, nil, nil
	}
	accepted, err := o.accept.read()
	if err != nil {
		return nil, nil, err
	}
	m := machine{root: o.at.root}
	f, err := m.collect(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	results := check.Accept(check.Run(f, o.role, check.All()), accepted, f.Identity.Hostname.Or(unnamed), time.Now())
	list, notes := check.Advise(f, o.role, results, check.Low)
	for _, a := range list {
		if !slices.ContainsFunc(want, func(w setting.Assignment) bool {
			return w.Name == a.Name && (w.Object == "" || w.Object == a.Object)
		}) {
			want = append(want, a)
		}
	}
	return want, notes, nil
}

// whole refuses a plan that would do a part of what was asked, unless that was said to be
// enough. What checks advise is only ever what is there.
func (o *setOptions) whole(sys *setting.System, p *setting.Plan) error {
	if len(p.Skipped) == 0 || o.keep && len(p.Steps)+len(p.Same) > 0 {
		return nil
	}
	text := "cannot set " + settings.LeftOut(sys, p, o.format == "json")
	if len(p.Steps)+len(p.Same) > 0 {
		text += "; nothing was changed (--keep sets the rest)"
	}
	return errors.New(text)
}

// kept is the error of a plan of which all was set but what was left out: it is not all that was asked for.
func (o *setOptions) kept(sys *setting.System, p *setting.Plan) error {
	if len(p.Skipped) == 0 {
		return nil
	}
	return errors.New("not set: " + settings.LeftOut(sys, p, o.format == "json"))
}

func (o *setOptions) permitted(ctx context.Context, std streams, p *setting.Plan) error {
	if o.yes {
		return nil
	}
	what := screen.Count(len(p.Steps), "object") + " of this host"
	if o.at.root != "" {
		what = screen.Count(len(p.Steps), "file") + " below " + screen.Clean(o.at.root)
	}
	if !askable(std) || o.format != "text" {
		return usagef("this changes %s, and there is no terminal to ask on; look at --dry-run, then add --yes", what)
	}
	err := ask(ctx, std, "Change "+what+"? [y/N] ")
	if errors.Is(err, errNo) {
		return usagef("not confirmed; nothing was changed")
	}
	return err
}

// apply makes the changes, and stays while one is held. Others may have set the same before the journal
// was free: what is there now counts, and the outcome says where that is not what was shown.
func (o *setOptions) apply(ctx context.Context, std streams, sys *setting.System, dir string, want []setting.Assignment,
	saw *setting.Plan) (err error) {
	j, err := journal(sys, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	p, err := setting.NewPlan(sys, want)
	if err != nil {
		return err
	}
	if err := o.whole(sys, p); err != nil {
		return err
	}
	done, err := setting.Apply(ctx, sys, j, setting.OwnerSet, p, o.keep)
	done = settings.Meanwhile(done, saw, p)
	if err == nil || o.keep {
		done = append(done, settings.Beside(j, p)...)
	}
	left := o.kept(sys, p)
	if o.format == "text" {
		fmt.Fprintln(std.out) // below the plan
	}
	data := settings.NewChange(settings.DoSet, append(p.Left(), done...), errors.Join(err, left))
	err = errors.Join(err, o.print(std, settings.Set(sys, done, err != nil && !o.keep, o.at.root, data)))
	held := settings.HeldNames(p)
	if err != nil || len(held) == 0 {
		return errors.Join(err, left)
	}
	hold := j.Leave() // the lock is for changes; nobody has to wait for what is only held
	fmt.Fprintln(std.err, strings.Join(held, ", ")+" is in force as long as this runs. Ctrl-C ends it.")
	<-ctx.Done()
	return errors.Join(hold.Close(), left)
}
