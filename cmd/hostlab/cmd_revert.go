package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"hostlab/internal/screen"
	"hostlab/internal/setting"
	"hostlab/internal/settings"
	"hostlab/internal/trust"
)

type revertOptions struct {
	at     settingsAt
	owner  string
	dryRun bool
	force  bool
	forget bool
	kept   bool
	printing
}

func newRevert(std streams) *cobra.Command {
	var o revertOptions
	cmd := &cobra.Command{
		Use:   "revert [flags]",
		Short: "Put back every setting that was changed",
		Long: `revert undoes what 'hostlab set' or an experiment has changed, the last change
first, and gives each object its former value. If another program has changed a
value since, revert leaves it and names it; --force restores it too.` + unlessWindows(` If a reboot
has restored a value already, revert only strikes it off the journal. If a
profile has set a value again, --persisted restores it: remove the profile too.`, "") + `

revert refuses a damaged journal, and that of another machine. --force uses what
can be read of it. --forget sets it aside and changes nothing. If the journal is
sound, --forget drops all entries and leaves the values as they are. If a
'hostlab set' was killed, revert restores all that the journal records.

` + unlessWindows(`Only root can restore what root has changed; --dry-run shows it to every user.
The journal does not hold cpu_dma_latency: it ends with the 'hostlab set' in the
foreground that holds it.`, `To restore, run hostlab as an administrator; --dry-run works for every user.`) + `

Exit status: 0 all is restored, 1 something is not, 2 unusable flag or journal.`,
		Example: `  hostlab revert --dry-run
  hostlab revert
  hostlab revert --owner set              # not what an experiment has changed`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("revert restores all that hostlab has changed; with --owner NAME, only what NAME has changed")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.forget && (o.force || o.dryRun || o.kept) {
				return usagef("--forget excludes --force, --persisted and --dry-run: it changes no setting")
			}
			return o.run(cmd.Context(), std)
		},
	}
	o.at.flags(cmd, false)
	o.flags(cmd, std, tableForms)
	cmd.Flags().StringVar(&o.owner, "owner", "", "restore only what `OWNER` changed: set, or the directory of an "+
		"experiment")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show what revert would restore, and change nothing")
	cmd.Flags().BoolVar(&o.force, "force", false, "also restore values that another program has changed since")
	cmd.Flags().BoolVar(&o.kept, "persisted", false, "also restore values that a profile has set again since a reboot")
	cmd.Flags().Bool("yes", false, "of no effect: revert never asks")
	cmd.Flags().BoolVar(&o.forget, "forget", false, "drop the journal's entries and leave the values as they are")
	return cmd
}

func (o *revertOptions) run(ctx context.Context, std streams) error {
	sys, dir, err := o.at.open()
	if err != nil {
		return err
	}
	return o.putBack(ctx, std, sys, dir, o.at.machineDir(dir))
}

// reach is which values may be written over.
func (o *revertOptions) reach() setting.Reach {
	switch {
	case o.force:
		return setting.ReachAll
	case o.kept:
		return setting.ReachPersisted
	}
	return setting.ReachOurs
}

// putBack puts back what the journal of one directory has. What that of the machine has, where it is
// another, can only be named.
func (o *revertOptions) putBack(ctx context.Context, std streams, sys *setting.System, dir, machine string) error {
	if o.at.root == "" {
		// In another user's directory, that there is nothing means nothing.
		if err := trust.AsRoot(dir); err != nil {
			return usagef("the journal cannot be trusted: %w, or give the directory back to root", err)
		}
	}
	v, err := setting.Look(sys, dir)
	// it is another user's, as with root's HOME: of theirs there is nothing
	if dir != machine && errors.Is(err, fs.ErrPermission) {
		return o.nothing(std, sys, nil, machine)
	}
	if err != nil {
		return err
	}
	problem := v.Problem()
	if problem != nil && !o.force && !o.forget {
		return problem
	}
	abs, err := filepath.Abs(o.owner)
	if err == nil && o.owner != "" && slices.ContainsFunc(v.Entries(),
		func(e setting.Entry) bool { return e.Owner == abs }) {
		o.owner = abs // an experiment's directory, as the journal has it
	}
	switch {
	case len(o.owned(v.Entries())) == 0 && problem == nil:
		if o.owner == "" && !o.dryRun && !o.forget {
			_ = v.Tidy() // without the right to do it there is nothing to put back
		}
		if machine == dir {
			machine = ""
		}
		return o.nothing(std, sys, v.Entries(), machine)
	case o.dryRun:
		return o.preview(std, sys, v, "")
	}
	j, err := journal(sys, dir)
	if err != nil {
		return err
	}
	return errors.Join(o.change(ctx, std, sys, j), j.Close())
}

// owned keeps the entries that are asked for.
func (o *revertOptions) owned(list []setting.Entry) (out []setting.Entry) {
	for _, e := range list {
		if o.owner == "" || e.Owner == o.owner {
			out = append(out, e)
		}
	}
	return out
}

// roots fails where changes of root's are in force: they are not put back, and the status must say so. What
// would be put back anybody may see, as with verify.
func (o *revertOptions) roots(std streams, sys *setting.System, machine string) (shown bool, _ error) {
	v, err := setting.Look(sys, machine)
	if err != nil {
		return false, nil //nolint:nilerr // without the right to read it nothing is known of it
	}
	list := v.Entries()
	if p := v.Problem(); p != nil {
		return false, fmt.Errorf("your journal has nothing to put back, and root's: %w", p)
	}
	list = settings.Changed(o.owned(list))
	if len(list) == 0 {
		return false, nil
	}
	if o.dryRun {
		return true, o.preview(std, sys, v, " It was changed by "+superuser+": run 'hostlab revert' as "+superuser+".")
	}
	err = fmt.Errorf("nothing was put back: %s has changed %s; run hostlab revert as %[1]s", superuser,
		screen.Count(len(list), "object"))
	if o.format == "text" {
		return false, err
	}
	var left []setting.Outcome
	for _, e := range list {
		left = append(left, setting.Skip(e.Setting, e.Object, superuser+" has changed it; run as "+superuser))
	}
	return false, errors.Join(o.print(std, settings.Nothing(o.action(), "", left, err)), err)
}

// action is what the JSON calls it.
func (o *revertOptions) action() settings.Action {
	if o.dryRun {
		return settings.Plan
	}
	return settings.DoRevert
}

// nothing says that there is nothing to put back. That is no failure, as with a journal without
// entries; the owners that there are stand in it, since a mistyped owner looks the same. Machine is the directory
// of root's journal, where that is another.
func (o *revertOptions) nothing(std streams, sys *setting.System, all []setting.Entry, machine string) error {
	if machine != "" {
		if shown, err := o.roots(std, sys, machine); shown || err != nil {
			return err
		}
	}
	text := "Nothing to put back: no change is in force."
	if o.owner != "" {
		text = "Nothing to put back for the owner " + screen.Clean(o.owner) + ": no change of theirs is in force."
		var owners []string
		for _, e := range all {
			if !slices.Contains(owners, e.Owner) {
				owners = append(owners, e.Owner)
			}
		}
		if len(owners) > 0 {
			text += " There are changes of " + screen.Clean(strings.Join(owners, ", ")) + "."
		}
		if o.format != "text" || len(o.outs) > 0 {
			fmt.Fprintln(std.err, "hostlab: "+text)
		}
	}
	return o.print(std, settings.Nothing(o.action(), text, nil, nil))
}

// preview shows what would be put back.
func (o *revertOptions) preview(std streams, sys *setting.System, v *setting.View, more string) error {
	if p := v.Problem(); p != nil && p.Kind == setting.OtherHost {
		fmt.Fprintln(std.err, "hostlab: "+screen.Clean(p.Found())+"; --force takes it as this one's")
	}
	return o.print(std, settings.Revertible(sys, v, o.owner, o.reach(), more))
}

// change does what was asked for with an open journal.
func (o *revertOptions) change(ctx context.Context, std streams, sys *setting.System, j *setting.Journal) error {
	if o.forget {
		return o.dropped(std, j)
	}
	var lacks error
	if p := j.Problem(); p != nil { // run has seen that --force is given
		kept, err := j.Accept()
		if err != nil {
			return err
		}
		said := p.Found() + ", taken as this one's" // all of it could be read
		if p.Kind != setting.OtherHost {
			said = p.Found()
			lacks = errors.New("the damaged part of the journal may have changed more; compare 'hostlab settings' with what " +
				"this host should have")
		}
		fmt.Fprintln(std.err, "hostlab: "+screen.Clean(said+"; as it was it is kept as "+kept))
	}
	done, err := setting.Revert(ctx, sys, j, o.owner, o.reach())
	if errors.Is(err, syscall.ENOSPC) {
		err = fmt.Errorf("%w; what was put back stays so: make room, then run 'hostlab revert' again", err)
	}
	err = errors.Join(err, o.print(std, settings.Reverted(sys, done, &j.View, o.force, errors.Join(err, lacks))))
	if n := settings.Tally(done); err == nil && n[setting.Foreign]+n[setting.Gone]+n[setting.Failed] > 0 {
		err = verdictStatus{exitFailed}
	}
	return errors.Join(err, lacks)
}

// dropped forgets, and says what.
func (o *revertOptions) dropped(std streams, j *setting.Journal) error {
	n := len(o.owned(j.Entries()))
	kept, err := j.Forget(o.owner)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Forgot %s; the values stay as they are.", screen.Count(n, "change"))
	if kept != "" {
		text += " The journal was set aside as " + kept + "."
	}
	return o.print(std, settings.Nothing(settings.DoRevert, text, nil, nil))
}
