package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/explain/connect"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
)

// lever is a factor that changes something outside of the workload.
type lever struct {
	experiment.Factor
	original string
	unread   bool // there is no way to read it
	changed  bool // the journal has its original, and nothing that says it is back
	unsure   bool // a change was begun and did not end well, so anything may be there
	server   *server
}

// reads reports whether there is a way to read it.
func (l *lever) reads() bool {
	return l.Read != nil || l.Kind == experiment.KindSetting || l.Kind == experiment.KindServer
}

// levels brings about levels, and puts the originals back.
type levels struct {
	dir     string // of the study
	store   *store.Store
	now     func() time.Time
	boot    string
	levers  []*lever  // in the study's order
	set     *settings // nil without a factor that is one
	note    func(format string, a ...any)
	confirm func(prompt string) error // nil: there is nobody to ask
	live    bool                      // of a service that others use
	force   bool                      // also over what another program has changed since
}

func newLevels(ctx context.Context, st *experiment.Study, s *store.Store, sys *system) (_ *levels, err error) {
	ls := &levels{dir: st.Dir, store: s, now: sys.now, boot: sys.boot(), live: st.Harm != nil,
		note: func(string, ...any) {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, ls.close())
		}
	}()
	for _, f := range st.Factors {
		if f.Changes() {
			ls.levers = append(ls.levers, &lever{Factor: f})
		}
		if f.Kind == experiment.KindServer {
			l := ls.levers[len(ls.levers)-1]
			if err := patiently(ctx, func() (err error) { l.server, err = openServer(ctx, st, f); return err }); err != nil {
				return nil, err
			}
		}
		if f.Kind == experiment.KindSetting && ls.set == nil {
			if ls.set, err = openSettings(sys.settings, sys.journal, s.Record().Dir); err != nil {
				return nil, err
			}
		}
	}
	for _, e := range s.Record().Changed() {
		l := ls.lever(e.Factor)
		if l == nil {
			return nil, fmt.Errorf("%s: the journal has factor %s, which the study has not", s.Record().Dir, e.Factor)
		}
		l.original, l.unread, l.changed = e.Value, e.Unread, true
		l.unsure = true // the session that changed it was killed, perhaps on the way
		if l.server != nil {
			l.server.was = connect.Saved{Value: e.Value, Disk: e.Disk, Of: e.Of}
		}
	}
	return ls, nil
}

func (ls *levels) close() error {
	errs := []error{ls.set.close()}
	for _, l := range ls.levers {
		if l.server != nil {
			errs = append(errs, l.server.p.Close())
		}
	}
	return errors.Join(errs...)
}

func (ls *levels) lever(name string) *lever {
	i := slices.IndexFunc(ls.levers, func(l *lever) bool { return l.Name == name })
	if i < 0 {
		return nil
	}
	return ls.levers[i]
}

// begin journals the originals of all factors, before the first change of any.
// Those that the journal still has from a session that was killed are kept: what
// is there now is one of our levels. So it is until the next boot where a factor was
// put back that takes effect with a boot.
func (ls *levels) begin(ctx context.Context) error {
	for _, l := range ls.levers {
		if l.changed {
			continue
		}
		l.unread = !l.reads()
		if l.unread {
			continue
		}
		if back := ls.store.Record().LastRestored(l.Name); l.Change == result.Reboot && l.Kind == experiment.KindCommands &&
			back != nil && back.Boot == ls.boot {
			l.original = back.Value
			continue
		}
		if err := ls.saveOriginal(ctx, l); err != nil {
			return fmt.Errorf("nothing was changed: %w", err)
		}
		if l.Kind != experiment.KindServer && l.original == "" &&
			(l.Restore == nil || strings.Contains(strings.Join(l.Restore, " "), "{original}")) {
			return fmt.Errorf("nothing was changed: factor %s has no level to go back to: its read, %s, printed nothing", l.Name,
				strings.Join(l.Read, " "))
		}
	}
	if err := ls.register(); err != nil {
		return fmt.Errorf("nothing was changed: %w", err)
	}
	for _, l := range ls.levers {
		if l.changed {
			continue
		}
		e := store.Entry{Op: store.Original, At: ls.now(), Boot: ls.boot, Factor: l.Name, Value: l.original, Unread: l.unread}
		if l.server != nil {
			e.Disk, e.Of = l.server.was.Disk, l.server.was.Of
		}
		if err := ls.store.Journal(e); err != nil {
			return err
		}
		l.changed = true
	}
	return nil
}

// saveOriginal reads what there is before the first change.
func (ls *levels) saveOriginal(ctx context.Context, l *lever) (err error) {
	switch l.Kind {
	case experiment.KindServer:
		err = l.server.differs(ctx, l.Server)
		for _, e := range ls.store.Record().Journal {
			if err == nil && e.Op == store.Original && e.Factor == l.Name {
				err = cmp.Or(connect.Another(l.Server, l.server.was.Of, e.Of), otherwise(l, e.Value))
			}
		}
		l.original = l.server.was.Value
		return err
	case experiment.KindSetting:
		if err := ls.set.save(l); err != nil {
			return fmt.Errorf("factor %s: %w", l.Name, err)
		}
	}
	l.original, err = ls.read(ctx, l)
	return err
}

// otherwise refuses to take another value for current than the runs before had.
func otherwise(l *lever, began string) error {
	if l.server.was.Value == began || !slices.Contains(l.Levels, experiment.Current) {
		return nil
	}
	return fmt.Errorf(
		"%s is %s now, and was %s when the experiment began, so that its periods would not compare; set it back, or "+
			"begin anew with another --out",
		l.Server, l.server.was.Value, began)
}

// read returns the level in force.
func (ls *levels) read(ctx context.Context, l *lever) (level string, err error) {
	switch l.Kind {
	case experiment.KindSetting:
		level, err = ls.set.read(l)
	case experiment.KindServer:
		level, err = l.server.read(ctx)
	default:
		level, err = ls.command(ctx, l, l.Read)
	}
	if err != nil {
		return "", fmt.Errorf("factor %s cannot be read: %w", l.Name, err)
	}
	return strings.TrimSpace(level), nil
}

func (ls *levels) command(ctx context.Context, l *lever, args []string) (string, error) {
	return command(ctx, ls.dir, args, l.Timeout, levelMark(ls.store.Record().Experiment.ID))
}

func (ls *levels) readAll(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, l := range ls.levers {
		if !l.reads() {
			continue
		}
		v, err := ls.read(ctx, l)
		if err != nil {
			return out, err
		}
		out[l.Name] = v
	}
	return out, nil
}

// wrong says which factors read otherwise than a cell has them, as text to go
// after a name.
func wrong(want, read map[string]string) (factor, is, should string) {
	for _, name := range sortedKeys(read) {
		if read[name] != want[name] {
			return name, read[name], want[name]
		}
	}
	return "", "", ""
}

// apply brings about a level of a factor of commands, or of a setting.
func (ls *levels) apply(ctx context.Context, l *lever, level string) error {
	was := l.unsure
	l.unsure = true
	var err error
	switch l.Kind {
	case experiment.KindSetting:
		err = ls.set.apply(ctx, l, level)
	case experiment.KindServer:
		err = l.server.apply(ctx, level)
	default:
		_, err = ls.command(ctx, l, ls.fill(l.Apply, l, level))
	}
	if err != nil {
		return fmt.Errorf("factor %s cannot be set to %s: %w", l.Name, level, err)
	}
	// After a kill, anything may be there until a first change went well.
	l.unsure = was && l.Change.WholePlot()
	return nil
}

// fill puts values into an argument list.
func (ls *levels) fill(args []string, l *lever, level string) []string {
	r := strings.NewReplacer("{level}", level, "{original}", l.original)
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = r.Replace(a)
	}
	return out
}

// restore puts back everything that was changed, the last factor first. With
// waiting set those of whole plots are left, since the experiment goes on with
// them after a reboot or a person's work. Each is tried, whatever happens to
// others; the error joins theirs, and what could not be put back stays open in the
// journal.
func (ls *levels) restore(ctx context.Context, waiting bool) error {
	var errs []error
	for _, l := range slices.Backward(ls.levers) {
		if !l.changed || waiting && l.Change.WholePlot() {
			continue
		}
		back, err := ls.putBack(ctx, l)
		if err == nil && back {
			err = ls.store.Journal(store.Entry{Op: store.Restored, At: ls.now(), Boot: ls.boot, Factor: l.Name,
				Value: l.original})
			l.changed = err != nil
		}
		errs = append(errs, err)
	}
	if ls.live && len(ls.store.Record().Changed()) == 0 {
		if err := Forget(ls.store.Record().Experiment.ID); err != nil { // all is back, whatever is said of it
			ls.note("%s; 'hostlab run --restore' removes it", err)
		}
	}
	return errors.Join(errs...)
}

// register names the record of a live experiment where the next boot looks for what was left.
func (ls *levels) register() error {
	if !ls.live {
		return nil
	}
	r, err := registry(true)
	if err != nil {
		return err
	}
	return r.Add(store.Registered{ID: ls.store.Record().Experiment.ID, Dir: ls.store.Record().Dir})
}

// putBack puts one factor back. It reports false, without an error, where that is
// up to a person.
func (ls *levels) putBack(ctx context.Context, l *lever) (bool, error) {
	switch l.Kind {
	case experiment.KindSetting:
		return true, ls.set.back(ctx, ls.force)
	case experiment.KindServer:
		return true, l.server.back(ctx, ls.force)
	}
	current, readable := "", false
	if l.Read != nil {
		v, err := ls.read(ctx, l)
		current, readable = v, err == nil && v != ""
	}
	if l.Kind == experiment.KindManual {
		return ls.putBackByHand(ctx, l, current, readable)
	}
	// What is neither a level of ours nor the original was put there by another program,
	// who has a reason for it.
	if readable && !l.unsure && !ls.force && current != l.original && !slices.Contains(l.Levels, current) {
		return false, &foreign{ls.foreign(l, current) + ", so it was left"}
	}
	args, to := l.Restore, l.original
	if args == nil {
		args = l.Apply
		if l.unread {
			to = l.Baseline
			ls.note("factor %s cannot be read, so it was set to its baseline %s", l.Name, to)
		}
	}
	if _, err := ls.command(ctx, l, ls.fill(args, l, to)); err != nil {
		return false, fmt.Errorf("factor %s could not be put back to %q: %w", l.Name, to, err)
	}
	switch {
	case l.Change == result.Reboot:
		ls.note("factor %s was put back to %s; that takes effect with the next boot", l.Name, to)
	case l.Read != nil:
		v, err := ls.read(ctx, l)
		if err != nil {
			return false, err
		}
		if v != l.original {
			return false, fmt.Errorf("factor %s was put back to %q and reads %q", l.Name, l.original, v)
		}
	}
	return true, nil
}

func (ls *levels) putBackByHand(ctx context.Context, l *lever, current string, readable bool) (bool, error) {
	if readable && current == l.original {
		return true, nil
	}
	if !ls.asked(l) {
		return true, nil // no person was asked to change it
	}
	to := l.original
	if l.unread {
		to = "what it was"
	}
	todo := fmt.Sprintf("Put factor %s back to %s: %s", l.Name, to, strings.Join(ls.fill([]string{l.Manual}, l, to), ""))
	if done := ls.confirm != nil && ls.confirm(todo) == nil; !done {
		ls.note("%s", todo) // the person will do it later; the journal stays open
		return false, nil
	}
	if l.Read == nil {
		return true, nil
	}
	v, err := ls.read(ctx, l)
	if err == nil && v != l.original {
		err = fmt.Errorf("factor %s reads %q and was %q at the start", l.Name, v, l.original)
	}
	return err == nil, err
}

// asked reports whether a person was asked for a level since the original was read.
func (ls *levels) asked(l *lever) bool {
	return slices.ContainsFunc(ls.store.Record().Waiting(), func(e store.Entry) bool { return e.Factor == l.Name })
}

// foreign says that another program has set meanwhile what an experiment changes, and that it was left so.
type foreign struct{ text string }

func (f *foreign) Error() string { return f.text }

// isForeign reports that an error says this and nothing else: no level of the experiment is in force.
func isForeign(err error) bool {
	switch e := err.(type) { //nolint:errorlint // all that is joined is looked at
	case *foreign, *connect.Foreign:
		return true
	case interface{ Unwrap() []error }:
		return !slices.ContainsFunc(e.Unwrap(), func(err error) bool { return !isForeign(err) })
	case interface{ Unwrap() error }:
		return isForeign(e.Unwrap())
	}
	return false
}

// notBack says what a session or a restore has left changed, and how that is put back.
func notBack(err error, dir string) error {
	command := "hostlab run --restore --out " + screen.Operand(dir)
	if isForeign(err) {
		return fmt.Errorf("%w; nothing of this experiment is in force; to put back what was there before it: %s --yes", err,
			command)
	}
	return fmt.Errorf("NOT PUT BACK: %w; try again with: %s", err, command)
}
