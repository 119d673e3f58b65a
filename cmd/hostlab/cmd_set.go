package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/check"
	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// setOptions is what was asked for.
type setOptions struct {
	at     settingsAt
	accept exceptions
	role   check.Role
	format string
	dryRun bool
	yes    bool
	keep   bool
}

func newSet(std streams) *cobra.Command {
	var o setOptions
	cmd := &cobra.Command{
		Use:   "set [flags] NAME=VALUE... | --role ROLE",
		Short: "Change settings, so that they can be put back exactly",
		Long: `set changes settings on every object that has them, or on one alone with
NAME@OBJECT=VALUE. NAME is one that 'hostlab settings' lists, or the name of its
sysctl: swappiness, vm.swappiness. set shows what would change, and asks first;
without a terminal it needs --yes. Before the first write it saves each original
value in a journal on disk. It reads back each write. If one fails, it undoes
the others. 'hostlab revert' restores all, also after a kill or a power cut.

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
		ValidArgsFunction: settingNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			want, err := assignments(args)
			if err != nil {
				return err
			}
			if len(want) == 0 && o.role == "" {
				return usagef("name what to set, such as governor=performance, or --role ROLE; 'hostlab settings' lists " +
					"what there is")
			}
			return o.run(cmd.Context(), std, want)
		},
	}
	o.at.flags(cmd, false)
	o.accept.flags(cmd)
	choiceFlag(cmd, &o.role, "role", "", "also apply what check advises for the role", check.Roles)
	formatFlag(cmd, &o.format, formats)
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
func (o *setOptions) set(ctx context.Context, std streams, sys *setting.System, dir string, want []setting.Assignment) error {
	if sys.Missing != nil {
		return cannotLook{sys.Missing}
	}
	want, advice, err := o.advised(ctx, want)
	if err != nil {
		return err
	}
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
	if v != nil {
		warn(std, v)
	}
	if failed := cmp.Or(refusal, left); refusal != nil || o.dryRun || len(p.Steps) == 0 {
		action, list := "plan", append(p.Outcomes(), p.Left()...)
		if len(p.Steps) == 0 && !o.dryRun && refusal == nil {
			action, list = "set", p.Left()
		}
		return errors.Join(printDocument(std, o.preview(sys, p, advice, change(action, list, failed), refusal != nil), o.format),
			failed)
	}
	if o.format == "text" {
		if err := printDocument(std, o.preview(sys, p, advice, nil, false), o.format); err != nil {
			return err
		}
	}
	if err := o.permitted(ctx, std, p); err != nil {
		return err
	}
	return o.apply(ctx, std, sys, dir, want, p)
}

// advised adds what the role's checks advise to what was typed, which wins.
func (o *setOptions) advised(ctx context.Context, want []setting.Assignment) (_ []setting.Assignment, notes []string, _ error) {
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

// preview is what a plan would change.
func (o *setOptions) preview(sys *setting.System, p *setting.Plan, notes []string, data any, refused bool) *document.Document {
	now := "Nothing to change."
	if n := len(p.Steps); n > 0 {
		now = screen.Count(n, "object") + " to change."
		switch {
		case o.dryRun:
			now = screen.Count(n, "object") + " would change. Nothing was changed: --dry-run."
		case refused:
			now = screen.Count(n, "object") + " could change; nothing was changed."
		}
	} else if refused {
		now = "Nothing was changed."
	}
	same, sides := "", ""
	if n := len(p.Same); n > 0 {
		same = screen.Count(n, "object") + " " + map[bool]string{true: "has", false: "have"}[n == 1] + " the value already."
	}
	if len(p.Moves) > 0 {
		sides = "Side effect: the kernel may also change " + strings.Join(p.Moves, ", ") + "; revert restores it."
	}
	d := settingsReport("set", data, now, same, sides)
	if lines := skipLines(sys, p.Skipped); len(lines) > 1 { // of one, the error says it
		notes = append(lines, notes...)
	}
	for _, n := range notes {
		d.Warnings = append(d.Warnings, "left out: "+n)
	}
	d.Sections = []document.Section{part("Now -> as asked", planned(sys, p.Outcomes()))}
	return d
}

// whole refuses a plan that would do a part of what was asked, unless that was said to be
// enough. What checks advise is only ever what is there.
func (o *setOptions) whole(sys *setting.System, p *setting.Plan) error {
	if len(p.Skipped) == 0 || o.keep && len(p.Steps)+len(p.Same) > 0 {
		return nil
	}
	text := "cannot set " + o.leftOut(sys, p)
	if len(p.Steps)+len(p.Same) > 0 {
		text += "; nothing was changed (--keep sets the rest)"
	}
	return errors.New(text)
}

// leftOut is what cannot be set, and why or where that stands. What this host does not have at all is no
// object.
func (o *setOptions) leftOut(sys *setting.System, p *setting.Plan) string {
	lines := skipLines(sys, p.Skipped)
	if len(lines) == 1 {
		return lines[0]
	}
	where := "see 'left out'"
	if o.format == "json" {
		where = "see .skipped"
	}
	absent := 0
	for _, s := range p.Skipped {
		if s.Path == "" {
			absent++
		}
	}
	var what []string
	if absent > 0 {
		what = append(what, screen.Count(absent, "setting")+" that this host does not have")
	}
	if n := len(p.Skipped) - absent; n > 0 {
		what = append(what, screen.Count(n, "object"))
	}
	return strings.Join(what, " and ") + " (" + where + ")"
}

// kept is the error of a plan of which all was set but what was left out: it is not all that was asked for.
func (o *setOptions) kept(sys *setting.System, p *setting.Plan) error {
	if len(p.Skipped) == 0 {
		return nil
	}
	return errors.New("not set: " + o.leftOut(sys, p))
}

func (o *setOptions) permitted(ctx context.Context, std streams, p *setting.Plan) error {
	if o.yes {
		return nil
	}
	what := screen.Count(len(p.Steps), "object") + " of this host"
	if o.at.root != "" {
		what = screen.Count(len(p.Steps), "file") + " below " + screen.Clean(o.at.root)
	}
	if !askable(std) || o.format == "json" {
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
	done = meanwhile(done, saw, p)
	if err == nil || o.keep {
		done = append(done, beside(j, p)...)
	}
	left := o.kept(sys, p)
	if o.format == "text" {
		fmt.Fprintln(std.out) // below the plan
	}
	data := change("set", append(p.Left(), done...), errors.Join(err, left))
	err = errors.Join(err, printDocument(std, o.report(sys, done, err, data), o.format))
	held := heldNames(p)
	if err != nil || len(held) == 0 {
		return errors.Join(err, left)
	}
	hold := j.Leave() // the lock is for changes; nobody has to wait for what is only held
	fmt.Fprintln(std.err, strings.Join(held, ", ")+" is in force as long as this runs. Ctrl-C ends it.")
	<-ctx.Done()
	return errors.Join(hold.Close(), left)
}

// meanwhile notes at outcomes what has changed since the plan was shown, and adds what another program has
// set to its value since then.
func meanwhile(done []setting.Outcome, saw, p *setting.Plan) []setting.Outcome {
	was := map[string]setting.Step{}
	for _, s := range slices.Concat(saw.Steps, saw.Same) {
		was[s.Path] = s
	}
	for i, d := range done {
		if s, ok := was[d.Path]; ok && s.From != d.From && d.Reason == "" && d.Result != setting.Unchanged &&
			d.Result != setting.Restored {
			done[i].Reason = "another program has changed it since the above was shown, from " +
				shown(s.Setting, s.Object, s.From)
		}
	}
	for _, s := range p.Same {
		if old, ok := was[s.Path]; ok && old.From != s.From {
			done = append(done, setting.Outcome{Step: s, Read: s.To, Result: setting.Unchanged,
				Reason: shown(s.Setting, s.Object, s.To) + " already: another program has set it since the above was shown"})
		}
	}
	return done
}

// beside is what has changed with the settings of a plan.
func beside(j *setting.Journal, p *setting.Plan) []setting.Outcome {
	return slices.DeleteFunc(j.Verify(), func(o setting.Outcome) bool {
		return o.Result != setting.Moved || !slices.ContainsFunc(p.Steps,
			func(s setting.Step) bool { return o.With == s.Setting })
	})
}

func heldNames(p *setting.Plan) (names []string) {
	for _, step := range p.Steps {
		if s, ok := setting.Find(step.Setting); ok && s.Held && !slices.Contains(names, s.Name) {
			names = append(names, s.Name)
		}
	}
	return names
}

// report says what became of each object, and how to go on.
func (o *setOptions) report(sys *setting.System, done []setting.Outcome, failed error, data any) *document.Document {
	n := tally(done)
	set := n[setting.Changed] + n[setting.Rounded]
	for _, d := range done {
		if s, ok := setting.Find(d.Setting); ok && s.Held && d.Result == setting.Changed {
			set-- // it ends by itself
		}
	}
	d := settingsReport("set", data)
	d.Sections = []document.Section{part("Objects", outcomes(sys, done))}
	switch {
	case failed != nil && !o.keep:
		d.Answer = []document.Line{{Text: "Not set."}}
	case set > 0:
		text := screen.Count(set, "object") + " set"
		if r := n[setting.Rounded]; r > 0 {
			text += fmt.Sprintf(", %d of them not exactly as asked", r)
		}
		root := ""
		if o.at.root != "" {
			root = " --root " + screen.Operand(o.at.root)
		}
		d.Answer = []document.Line{{Text: text + "."}}
		d.Sections = append(d.Sections, document.Section{Title: "Next", Blocks: []document.Block{document.Commands{
			{Why: "check that they stay", Line: "hostlab verify" + root},
			{Why: "restore what was there", Line: "hostlab revert" + root}}}})
	default:
		d.Answer = []document.Line{{Text: "Nothing was set."}}
	}
	return d
}
