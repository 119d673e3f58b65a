package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"hostlab/internal/delayfs"
	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// restoreAll is --restore without --out: it puts back what any live experiment of this user has changed, also one
// that runs.
func (o *runOptions) restoreAll(ctx context.Context, std streams) error {
	list, err := runner.Registered()
	if err != nil {
		return err
	}
	delayfs.Sweep() // mounts that nobody answers for
	var errs []error
	for _, e := range list {
		if err := o.restoreOne(ctx, std, e); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", e.Dir, err))
		}
	}
	found, err := runner.Leftovers()
	errs = append(errs, err)
	for _, l := range found {
		if !l.Ours {
			errs = append(errs, errors.New(leftText(l)))
		}
	}
	if err := errors.Join(errs...); err != nil || len(list) > 0 {
		return err
	}
	if pid, runs := runner.Running(); runs {
		_, err = fmt.Fprintf(std.out,
			"Nothing to put back: the experiment on a live service that runs (pid %d) has changed nothing "+
				"so far. To end it: kill %[1]d\n", pid)
		return err
	}
	_, err = fmt.Fprintln(std.out, "Nothing to put back: no experiment on a live service has left anything.")
	return err
}

// restoreOne puts back what one of them has changed. One whose record is gone is forgotten with --yes.
func (o *runOptions) restoreOne(ctx context.Context, std streams, e store.Registered) error {
	one := *o
	one.dir = e.Dir
	r, err := store.Load(e.Dir)
	if err == nil && r.Experiment.ID != e.ID {
		err = fmt.Errorf("the record %w of this ID any more", store.ErrNone)
	}
	switch {
	case err == nil:
	case !runner.Gone(err):
		return err
	case !o.yes:
		return fmt.Errorf(
			"the record is gone, so that nobody knows what is still changed; hostlab run --restore --yes forgets it")
	default:
		if err := runner.Forget(e.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintln(std.out, screen.Clean("Forgotten, since its record is gone: "+e.Dir))
		return err
	}
	st, err := one.find(experiment.Overrides{}, false)
	if err != nil {
		return err
	}
	return one.run(ctx, std, st)
}

// left says what live experiments have left. Another one would take that for what there was.
func (o *runOptions) left(w io.Writer, st *experiment.Study) error {
	list, err := runner.Leftovers()
	if err != nil {
		return err
	}
	at, err := filepath.Abs(o.dir)
	for _, l := range list {
		switch {
		case o.resume && err == nil && l.Dir == at: // it begins by putting that back
		case st.Harm != nil:
			return usagef("%s", leftText(l))
		default:
			fmt.Fprintln(w, screen.Clean("hostlab: "+leftText(l)))
		}
	}
	return nil
}

// leftText says what a live experiment has left, and what to type.
func leftText(l runner.Left) string {
	first, last := "", ""
	if !l.Ours && runtime.GOOS != "windows" {
		first = "sudo "
	}
	what := "has left " + strings.Join(l.Factors, ", ") + " changed"
	if l.Unknown != nil {
		what = "may have left something changed: " + screen.OneLine(l.Unknown)
		if runner.Gone(l.Unknown) {
			last = " --yes"
		}
	}
	if !l.Ours && first == "" {
		last += ", as " + superuser
	}
	return fmt.Sprintf("the live experiment in %s %s; to put back what there was: %shostlab run --restore%s", l.Dir, what,
		first,
		last)
}

func (o *runOptions) putBack(ctx context.Context, std streams, cfg runner.Config) error {
	r, err := store.Load(o.dir)
	if err != nil {
		return usageError{err}
	}
	if r.Experiment.Design.Kind == result.Switchback { // the way to stop one at once
		err := runner.Stop(ctx, o.dir, func(pid int) {
			fmt.Fprintf(std.err, "asking the experiment that runs, process %d, to put back what it has changed and to end\n",
				pid)
		})
		if err != nil {
			return err
		}
		if r, err = store.Load(o.dir); err != nil {
			return err
		}
	}
	delayfs.Sweep()
	var ended []string
	if r.End == nil {
		ended, err = runner.EndLeftovers(o.dir)
	}
	say := func(format string, a ...any) {
		_, werr := fmt.Fprintln(std.out, screen.Clean(fmt.Sprintf(format, a...)))
		err = cmp.Or(err, werr)
	}
	if len(ended) > 0 {
		say("Ended what the killed run had left running: %s", strings.Join(ended, ", "))
	}
	if err != nil {
		return err
	}
	changed := r.Changed()
	if len(changed) == 0 {
		err = cmp.Or(err, runner.Forget(r.Experiment.ID))
		say("Nothing to put back: %s has no level that is still changed.", o.dir)
		return err
	}
	cfg.Force = o.yes
	watch := newWatch(std.err, o.quiet)
	cfg.Watch = watch.show
	if askable(std) {
		cfg.Confirm = func(prompt string) error { return ask(ctx, std, prompt+"\nDone? [y/N] ") }
	}
	if err := runner.Restore(ctx, cfg); err != nil {
		return err
	}
	if r, err = store.Load(o.dir); err != nil {
		return err
	}
	for _, e := range changed {
		now := "put back to " + e.Value
		if e.Unread {
			now = "put back"
		}
		for _, open := range r.Changed() {
			if open.Factor == e.Factor {
				now = "not put back yet"
			}
		}
		say("%s: %s", e.Factor, now)
	}
	if n := len(r.Changed()); n > 0 && err == nil {
		return fmt.Errorf("%d of %d factors are not put back yet; --restore can be run again", n, len(changed))
	}
	return err
}
