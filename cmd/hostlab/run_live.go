package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hostlab/internal/experiment"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/report/effects"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// parseWindow reads --window, which is for experiments on live services.
func (o *runOptions) parseWindow(st *experiment.Study) (w runner.Window, err error) {
	if o.window == "" && o.resume && st.Harm != nil { // it goes on in the hours in which it began
		r, err := store.Load(o.dir)
		if err != nil {
			return w, usageError{err}
		}
		o.window = r.Window()
	}
	if o.window == "" {
		return w, nil
	}
	if st.Harm == nil {
		return w, usagef("--window is for experiments on a service that others use, and study %s watches none", st.Name)
	}
	if w, err = runner.ParseWindow(o.window); err == nil {
		err = w.Check(st)
	}
	if err != nil {
		return w, usagef("--window %s: %w", o.window, err)
	}
	return w, nil
}

// permitLive shows what is done to a service that others use, and how to stop it, and asks.
func (o *runOptions) permitLive(ctx context.Context, std streams, st *experiment.Study) error {
	before := ""
	if o.resume {
		r, err := store.Load(o.dir)
		if err != nil {
			return usageError{err}
		}
		before = r.Watched()
	}
	service, err := runner.Service(ctx, st, before)
	if err != nil {
		return usagef("workload %s: %w", st.Workload.Name, settable(err))
	}
	if !o.quiet && (o.yes || askable(std)) {
		o.showLive(std.err, st, service)
	}
	if o.yes {
		return nil
	}
	return permit(ctx, std, "the experiment changes a service that others use", ", as shown above",
		"look at --dry-run, then add --yes")
}

func (o *runOptions) showLive(w io.Writer, st *experiment.Study, service string) {
	_, width := terminal(w)
	line := func(label, text string) {
		for i, part := range screen.Wrap(screen.Clean(text), max(width, 40)-11) {
			if i > 0 {
				label = ""
			}
			fmt.Fprintln(w, strings.TrimRight("  "+screen.Pad(label, 8)+" "+part, " "))
		}
	}
	fmt.Fprintln(w, "This experiment changes a service that others use.")
	line("Service", service)
	for _, f := range st.Factors {
		what := map[string]string{experiment.KindSetting: "setting " + f.Setting + " of this host",
			experiment.KindServer:   "parameter " + f.Server + " of the server",
			experiment.KindEmulated: "the clock of the service's processes, emulated"}[f.Kind]
		what = cmp.Or(what, "factor "+f.Name)
		base := f.Baseline
		if base == experiment.Current {
			base = "what it is now"
		}
		var levels []string
		for _, l := range f.Levels {
			if l != f.Baseline {
				levels = append(levels, l)
			}
		}
		line("Changes", fmt.Sprintf("%s: %s, in turn with %s", what, strings.Join(levels, ", "), base))
		for _, r := range risks(f) {
			line(r[0], r[1])
		}
	}
	takes := "not known"
	if least, most := experiment.Duration(st, 0); most > 0 {
		takes = screen.Brief(most)
		if least < most {
			takes = fmt.Sprintf("%s at least, %s at most", screen.Brief(least), takes)
		}
	}
	if o.window != "" && o.window != runner.Always {
		takes += ", and only from " + strings.Replace(o.window, "-", " to ", 1)
	}
	line("Takes", takes)
	line("Stop", "at once with Ctrl-C, or from another terminal with: hostlab run --restore --out "+screen.Operand(o.dir))
	line("Back",
		"Everything is put back at the end, when the service is harmed, on any error, and by a guard process if hostlab "+
			"is killed.")
}

// risks are rows of a plan that say what levels of a factor can cost besides.
func risks(f experiment.Factor) (rows [][2]string) {
	for _, l := range f.Levels {
		if risk := effects.SideEffect(f.Kind, cmp.Or(f.Setting, f.Server), l); risk != "" && l != f.Baseline {
			rows = append(rows, [2]string{"Risk", f.Name + " at " + l + ": " + risk})
		}
	}
	return rows
}

// permitted asks before anything on the host is changed.
func (o *runOptions) permitted(ctx context.Context, std streams, st *experiment.Study) error {
	var changing []string
	for _, f := range st.Factors {
		if f.Changes() {
			changing = append(changing, f.Name)
		}
	}
	if st.Foreign != nil && !o.resume {
		if o.yes || o.quiet || !askable(std) {
			return usagef("%w, and its commands would run as root; read it, then copy it as yourself (cp) and name the copy",
				st.Foreign)
		}
		if err := permitOutside(ctx, std, st.Foreign.Error(),
			[]string{"and its commands, as listed above, would run as root"}); err != nil {
			return err
		}
	}
	if st.Harm != nil {
		return o.permitLive(ctx, std, st)
	}
	if o.yes {
		return nil
	}
	if err := permitOutside(ctx, std, "workload "+st.Workload.Name, st.Outside()); err != nil {
		return err
	}
	if len(changing) == 0 {
		return nil
	}
	what := "factor " + changing[0] + " changes"
	if len(changing) > 1 {
		what = "factors " + strings.Join(changing, ", ") + " change"
	}
	return permit(ctx, std, what+" this host", ", as listed above", "look at --dry-run, then add --yes")
}

// permit asks whether to go on.
func permit(ctx context.Context, std streams, what, where, unasked string) error {
	what = screen.Clean(what)
	if !askable(std) {
		return usagef("%s, and there is no terminal to ask on; %s", what, unasked)
	}
	err := ask(ctx, std, strings.ToUpper(what[:1])+what[1:]+where+". Go on? [y/N] ")
	if errors.Is(err, errNo) {
		return usagef("not confirmed; nothing was done")
	}
	return err
}

// permitOutside asks before a workload works on something of the user's elsewhere.
func permitOutside(ctx context.Context, std streams, who string, deeds []string) error {
	if len(deeds) == 0 {
		return nil
	}
	return permit(ctx, std, who+" "+strings.Join(deeds, "; "), "", "add --yes")
}
