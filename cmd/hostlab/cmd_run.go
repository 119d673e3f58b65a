package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
	"hostlab/internal/trust"
	"hostlab/internal/workload"
)

type runOptions struct {
	study   string // name or file; "" for that of the record
	dir     string
	dryRun  bool
	resume  bool
	restore bool
	yes     bool
	quiet   bool
	window  string
	command commandStudy
	out     printing // of the plan
}

func newRun(std streams) *cobra.Command {
	var (
		o    = runOptions{out: printing{stdout: true}}
		over overrideFlags
	)
	cmd := &cobra.Command{
		Use:   "run [flags] STUDY|FILE|-- COMMAND {level}...",
		Short: "Run an experiment: what do these levels cost this workload?",
		Long: `run tries each variant of a study in random order, again and again, until it can
say which is better. It shows the plan first. STUDY is a built-in study
('hostlab study list') or a file.

A command after -- needs no file: {level} in it stands for each of --levels. run
compares the time that it takes; with --better higher, the number with which its
output ends. No shell is started. --save-study keeps the study as a file, also
with --dry-run.

run records each run in the directory of --out when it ends. After Ctrl-C, a
kill or a power cut, 'hostlab run --resume --out DIR' continues. --restore only
restores what was changed. run refuses a record whose study or host has changed.
It also refuses one that another user could have written: a resume would run
that user's commands.

The random order follows from a seed, which run records. The seed comes from the
study or --seed, else it is random. A run is repeated at a random place of its
block if it fails, breaks a guard, or hostlab was stopped meanwhile. How often
runs fail is part of the result.

When the first runs fail or break a guard, run says so at once, also with
--quiet: the guard, its limit and the reading. If no run counts in the first two
blocks, run stops with status 1; you can resume it. A study with
guard.exhausted = "mark" goes on, since its disturbed runs count.

Workloads keep their files below DIR/work. The program of workload 'command' may
write elsewhere, and a study may name another directory. run changes only what
the factors name. It uses your database server only if the study names it. It
shows both and asks first; without a terminal it needs --yes. It restores levels
on every exit. Levels that a reboot or a person set, only they can restore.

Where a factor needs a reboot or a person, run ends with status 4 and says what
to do; --resume goes on.

A study named live-... compares two levels on a service in use, in pairs of
periods: the present level and another. If the service suffers harm, run
restores the present level at once. If the service is calm then, that counts as
a strike; the second strike ends the experiment. If hostlab is killed, a guard
process restores the present level. --restore stops such an experiment while it
runs. After a power cut, --restore without --out restores what any live
experiment has left. Only one can run on a host at a time. --window names the
hours in which it may run. A resume keeps them unless you name others. --quick
makes periods of 5 s and ends after 10 minutes. That shows only what is there
some seconds after a change. If the first 10 pairs show that the service takes
longer to settle, run waits longer.

Exit status:
  0    finished; 'hostlab report' has the verdict as a status
  1    failed on the way, or stopped because no run counted
  2    the study, a flag or the directory cannot be used, or this host cannot
       run it (--dry-run prints its plan all the same)
  4    waits for a reboot or a person
  130  interrupted`,
		Example: `  hostlab run --levels 1,6 -- gzip -{level} --keep --force big.log
  hostlab run gzip-level --dry-run
  hostlab run gzip-level --dry-run --format json | jq '.plans[0].factors'
  hostlab run my.toml --out results/first --yes
  hostlab run --resume --out results/first
  hostlab run log-device --set workload.size=small --set settle=1s
  hostlab run live-epp --set workload.service=postgres --window 22:00-04:00
  hostlab run live-thp --quick`,
		Args:              cobra.ArbitraryArgs, // commandStudy.take says which
		ValidArgsFunction: completeStudies(cobra.ShellCompDirectiveDefault),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := over.overrides(cmd)
			if err != nil {
				return err
			}
			if args, err = o.command.take(cmd, args); err != nil {
				return err
			}
			if len(args) > 0 {
				o.study = args[0]
			}
			given := cmd.Flags().Changed("blocks") || cmd.Flags().Changed("seed") || cmd.Flags().Changed("set") || set.Quick
			if err := o.check(o.study != "" || o.command.argv != nil, given); err != nil {
				return err
			}
			if o.restore && o.dir == "" {
				return o.restoreAll(cmd.Context(), std)
			}
			st, err := o.find(set, given)
			if err != nil {
				return err
			}
			return o.run(cmd.Context(), std, st)
		},
	}
	cmd.Flags().StringVar(&o.dir, "out", "", "`DIR` for the record (default: a new one in $XDG_STATE_HOME/hostlab)")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "print the plan, and do nothing")
	cmd.Flags().BoolVar(&o.resume, "resume", false, "continue the experiment in the directory of --out")
	cmd.Flags().BoolVar(&o.restore, "restore", false,
		"only restore what a killed run in --out changed; without --out, what all live experiments changed; with --yes also values "+
			"that others changed since")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "do not ask before run changes levels or uses your server")
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "no progress and no plan: only the report, and what goes wrong")
	cmd.Flags().StringVar(&o.window, "window", "",
		"`FROM-TO`, such as 22:00-04:00: touch a live service only then, in local time; on a resume, 'always' removes it")
	over.add(cmd)
	o.command.add(cmd)
	o.out.flags(cmd, std, tableForms)
	cobra.CheckErr(cmd.MarkFlagDirname("out"))
	return cmd
}

// check refuses combinations that say nothing.
func (o *runOptions) check(named, overridden bool) error {
	switch {
	case o.resume && o.command.argv != nil:
		return usagef("--resume takes the command from the record in --out; leave -- and what follows out")
	case o.resume && o.dir == "":
		return usagef("--resume needs --out DIR: the directory that 'run' printed when it began")
	case o.resume && o.restore:
		return usagef("--resume and --restore exclude each other: the one goes on, the other only puts back")
	case o.restore && (named || overridden):
		return usagef("--restore takes the study from --out; leave STUDY and what is set in it out")
	case o.restore && o.window != "":
		return usagef("--restore puts back at once; leave --window out")
	case o.restore && o.dryRun:
		return usagef("--restore has no --dry-run")
	case o.out.given() && !o.dryRun:
		return usagef("--format is that of a plan, with --dry-run; 'hostlab report DIR --format %s' prints results",
			o.out.format)
	case !named && !o.resume && !o.restore:
		return usagef("name a study: a file, or one of those that 'hostlab study list' names; or give a command after --")
	}
	return nil
}

// find loads the study: of a resume, the record's, unless another is named to be
// compared with it.
func (o *runOptions) find(set experiment.Overrides, overridden bool) (*experiment.Study, error) {
	if o.command.argv != nil {
		return o.command.study(set)
	}
	if !o.resume && !o.restore {
		st, err := experiment.Find(o.study, set, runner.Known())
		if _, none := os.Stat(filepath.Join(o.study, "experiment.json")); err != nil && none == nil {
			return nil, usagef("%[1]s is an experiment's record, and no study: 'hostlab report %[1]s' shows it, "+
				"'hostlab run --resume --out %[1]s' goes on with it", screen.Operand(o.study))
		}
		return st, err
	}
	over := &set
	if !overridden {
		over = nil // what was set at the beginning need not be typed again
	}
	recorded, err := runner.Recorded(o.dir, over)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return nil, usageError{notYours(o.dir, map[bool]string{true: "resume", false: "restore"}[o.resume], err)}
		}
		if _, ok := errors.AsType[*experiment.Problems](err); ok {
			return nil, err
		}
		return nil, usageError{err}
	}
	if o.study == "" {
		return recorded, nil
	}
	return experiment.Find(o.study, runner.Overrides(recorded), runner.Known())
}

// notYours says whose a record is that this user may not work on, and what to type.
func notYours(dir, flag string, err error) error {
	who := "another user"
	if name := trust.OwnerOf(dir); name != "" {
		who = name
	}
	at, aerr := filepath.Abs(dir)
	if aerr != nil {
		at = dir
	}
	return fmt.Errorf("%w; it belongs to %s; as that user, or with sudo: hostlab run --%s --out %s", err, who, flag,
		screen.Operand(at))
}

func (o *runOptions) run(ctx context.Context, std streams, st *experiment.Study) error {
	if o.dir == "" {
		state, err := stateDir()
		if err != nil {
			return usagef("%w; name a directory with --out", err)
		}
		o.dir = filepath.Join(state, st.Name+"-"+time.Now().Format("20060102-150405"))
	}
	// A reader that has gone away must not end us while levels are changed: with a
	// handler, writing gives an error instead (os/signal, SIGPIPE).
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Stop(pipe)

	// What workloads write below it goes by name.
	if err := trust.AsRoot(o.dir); err != nil {
		return usagef("--out %s: %w", o.dir, err)
	}
	st.Out = o.dir
	cfg := runner.Config{Study: st, Dir: o.dir, Resume: o.resume, Version: versionText()}
	if o.restore {
		return o.putBack(ctx, std, cfg)
	}
	if !o.resume {
		if err := store.Vacant(o.dir); err != nil {
			return usageError{err}
		}
		if err := accessBelow(o.dir); err != nil {
			return usagef("--out %s: %w", o.dir, err)
		}
	}
	cannot := o.possible(ctx, st)
	if cannot != nil && (ctx.Err() != nil || !o.dryRun) {
		return cannot
	}
	watch := newWatch(std.err, o.quiet)
	watch.marks = st.Guard.Mark
	var err error
	if cfg.Machine, err = o.machine(ctx, watch, st); err != nil {
		return err
	}
	if st, err = experiment.Fit(st, cfg.Machine, runner.Look); err != nil {
		return err
	}
	cfg.Study = st
	if cfg.Window, err = o.parseWindow(st); err != nil {
		return err
	}
	if err := o.agreed(ctx, std, st); err != nil {
		return err
	}
	if o.dryRun {
		return cannot // after the plan, which may be for another host
	}
	if st.Harm != nil {
		ignoreSuspend() // nothing would be watched, with the level in force
	}
	cfg.Watch = watch.show
	if askable(std) {
		cfg.Confirm = func(prompt string) error {
			watch.clear()
			return ask(ctx, std, prompt+"\nDone? [y/N] ")
		}
	}
	_, err = runner.Run(ctx, cfg)
	watch.clear()
	if err != nil {
		return watch.shorten(o.explain(ctx, std, st, err))
	}
	return verdicts(std.out, o.dir)
}

// possible says why this host cannot run a study; nil: nothing shows.
func (o *runOptions) possible(ctx context.Context, st *experiment.Study) error {
	err := needs(ctx, st)
	if st.Workload.Name != "command" { // whose program stands in the study, or in the command line
		err = settable(err)
	}
	if err != nil && !o.dryRun {
		err = fmt.Errorf("workload %s: %w", st.Workload.Name, err)
	}
	if err == nil && !o.resume { // the server of a resume is found by what the record says, and may be starting
		err = runner.CheckLevels(ctx, st)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return err
	case o.dryRun:
		return usagef("this host cannot run it: %w", err)
	}
	return usageError{err}
}

// machine is this host, with which of its CPUs share a core: as they were measured at the beginning of a resume.
func (o *runOptions) machine(ctx context.Context, watch *runWatch, st *experiment.Study) (workload.Machine, error) {
	m, err := machineFor(ctx, st)
	if err != nil || m.Topology == nil || o.dryRun && !o.resume {
		return m, err
	}
	if o.resume {
		r, err := store.Load(o.dir)
		if err != nil {
			return m, usageError{err}
		}
		if x := r.Experiment.Machine; x != nil {
			m.Measured = x.Measured
		}
		return m, nil
	}
	if !o.quiet {
		watch.line("measuring which CPUs share a core, for some seconds")
	}
	m.Measured, err = measuredPairs(ctx, m)
	return m, err
}

// agreed shows the plan, and asks whether it may be carried out.
func (o *runOptions) agreed(ctx context.Context, std streams, st *experiment.Study) error {
	if !o.dryRun {
		if err := o.left(std.err, st); err != nil {
			return err
		}
	}
	unasked := !o.yes && !o.dryRun && !askable(std)
	if unasked { // what is refused needs no plan
		if err := o.permitted(ctx, std, st); err != nil {
			return err
		}
	}
	if !o.quiet || o.dryRun {
		if err := o.plan(std, st); err != nil {
			return err
		}
	}
	if o.dryRun {
		return nil
	}
	if !o.quiet {
		remind(std.err)
	}
	if unasked {
		return nil
	}
	return o.permitted(ctx, std, st)
}

// plan says what will happen and what will be written where.
func (o *runOptions) plan(std streams, st *experiment.Study) error {
	to := "the record, below " + o.dir
	if o.resume {
		to = "goes on with the record in " + o.dir
	}
	rows := [][2]string{{"Writes", to}}
	for _, f := range st.Factors {
		rows = append(rows, risks(f)...)
	}
	return o.out.print(std, planDocument(experiment.Describe(st, rows...)))
}

// explain adds to an error how to go on, and shows what it is about.
func (o *runOptions) explain(ctx context.Context, std streams, st *experiment.Study, err error) error {
	if c, ok := errors.AsType[*runner.Changed](err); ok {
		for line := range strings.Lines(c.Diff) {
			fmt.Fprintln(std.err, screen.Clean(strings.TrimRight(line, "\n")))
		}
	}
	if _, ok := errors.AsType[*runner.Cleanup](err); ok {
		return err
	}
	resume := "hostlab run --resume --out " + screen.Operand(o.dir)
	if _, ok := errors.AsType[*runner.Waiting](err); ok {
		return fmt.Errorf("%w Then: %s", err, resume)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return stopped{"all runs that ended are recorded" + o.leftover(st) + "; go on with: " + resume}
	}
	return settable(err)
}

// leftover says which levels are back.
func (o *runOptions) leftover(st *experiment.Study) string {
	r, err := store.Load(o.dir)
	if err != nil {
		return "" // there was nothing to change yet
	}
	var open, boot []string
	for _, e := range r.Changed() {
		open = append(open, e.Factor)
	}
	for _, f := range st.Factors {
		if f.Kind != experiment.KindManual && f.Change == result.Reboot && r.LastRestored(f.Name) != nil &&
			!slices.Contains(open, f.Name) {
			boot = append(boot, f.Name)
		}
	}
	text := " and all levels are put back"
	if len(open) > 0 {
		text = fmt.Sprintf(", and all levels are put back but that of %s (for which: hostlab run --restore --out %s)",
			strings.Join(open, ", "), screen.Operand(o.dir))
	}
	if len(boot) > 0 {
		text += "; that of " + strings.Join(boot, ", ") + " takes effect with the next boot"
	}
	return screen.Clean(text)
}

// stopped is work that was cancelled, and says what it has left.
type stopped struct{ text string }

func (s stopped) Error() string        { return s.text }
func (s stopped) Is(target error) bool { return target == context.Canceled }
