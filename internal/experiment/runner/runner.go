// Package runner runs experiments: it brings about the levels of factors, runs the
// workload in the planned order, records each run as it ends, decides at the
// planned looks, and restores what it changed on every exit. What it was doing
// when it was killed is found in the record, and gone on with.
package runner

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/host"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/setting"
	"hostlab/internal/workload"
)

// Config says what to run and where.
type Config struct {
	Study  *experiment.Study
	Dir    string // of the record
	Resume bool   // go on with the record that Dir holds
	// Confirm asks a person to do something and returns nil once it is done. nil:
	// there is nobody to ask.
	Confirm func(prompt string) error
	Watch   func(Progress) // may be nil; called from the goroutine of Run
	Version string
	Tree    host.Tree // where facts about the host are read
	// Machine is what the workload runs on: it decides which levels can be had. A resume
	// takes Measured from the record.
	Machine workload.Machine
	// Window is when periods of a live experiment may run.
	Window Window
	// Force puts levels back also where another program has changed them since.
	Force bool

	sys *system // nil: the real one
}

// system is what tests replace.
type system struct {
	now         func() time.Time
	sleep       func(context.Context, time.Duration) error
	boot        func() string
	fingerprint func(names []string) map[string]string
	watch       watcher
	tree        host.Tree // of its energy counters
	settings    *setting.System
	journal     string // directory of the settings' journal; "": the host's
}

func (sys *system) look(s *experiment.Study, f experiment.Factor) experiment.Here {
	return look(sys.settings, s, f)
}

func realSystem(t host.Tree, ours []string) *system {
	return &system{
		now:         time.Now,
		sleep:       proc.Sleep,
		boot:        func() string { return bootID(t) },
		fingerprint: func(names []string) map[string]string { return fingerprint(t, names) },
		watch:       watchHost(t, ours),
		tree:        t,
		settings:    setting.Local(nil),
	}
}

// Run runs an experiment, or goes on with one. It returns once the experiment is
// over, and otherwise with an error after which it can be resumed: *Waiting for a
// reboot or a person, ctx's error when it was cancelled. *Refused is one that was
// not begun, with *Changed or *lockfile.Busy in it where it may not be resumed. Levels
// are put back in any case, but those that a *Waiting is for; if that did not work,
// *Cleanup is in the error. What was recorded stays recorded.
func Run(ctx context.Context, cfg Config) (a *analysis.Analysis, err error) {
	s, err := begin(ctx, cfg)
	if err != nil {
		return nil, &Refused{err}
	}
	defer func() {
		p := recover()
		if p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
		err = s.finish(ctx, err)
		if p != nil {
			panic(p)
		}
	}()
	if end := s.store.Record().End; end != nil {
		return analysis.Analyse(s.x, s.store.Record().Runs, end), nil
	}
	if err := s.run(ctx); err != nil {
		return nil, err
	}
	r := s.store.Record()
	return analysis.Analyse(s.x, r.Runs, r.End), nil
}

// Restore puts back the levels that a killed experiment left. cfg.Study has to be
// the record's.
func Restore(ctx context.Context, cfg Config) error {
	st, err := store.Open(cfg.Dir)
	if err != nil {
		return &Refused{err}
	}
	defer st.Close() //nolint:errcheck // nothing is written after the journal's last entry
	sys := cfg.sys
	if sys == nil {
		sys = realSystem(cfg.Tree, nil)
	}
	study := cfg.Study
	if data := st.Record().Watched(); data != "" && slices.ContainsFunc(study.Factors,
		func(f experiment.Factor) bool { return f.Kind == experiment.KindServer }) {
		w, err := watchedIn(ctx, study.Workload.Params, data)
		if err != nil {
			return err
		}
		study = w.with(study)
	}
	ls, err := newLevels(ctx, study, st, sys)
	if err != nil {
		return err
	}
	defer ls.close() //nolint:errcheck // what it held ends with this process at the latest
	ls.confirm, ls.force = cfg.Confirm, cfg.Force
	for _, l := range ls.levers {
		// The session that changed it was killed, perhaps on the way to a level. Since then another
		// may have seen to it, so what is no level of ours stays.
		l.unsure = false
	}
	ls.note = func(format string, a ...any) {
		if cfg.Watch != nil {
			cfg.Watch(Progress{Note: fmt.Sprintf(format, a...)})
		}
	}
	if err := ls.restore(ctx, false); isForeign(err) {
		return notBack(err, cfg.Dir)
	} else if err != nil {
		return err
	}
	return nil
}

// begin opens or makes the record, and checks that it may be gone on with.
func begin(ctx context.Context, cfg Config) (_ *session, err error) {
	if cfg.sys == nil {
		cfg.sys = realSystem(cfg.Tree, cfg.Study.Guard.Ours)
	}
	with := *cfg.Study
	with.Out, cfg.Study = cfg.Dir, &with
	s := &session{cfg: cfg, sys: cfg.sys, study: cfg.Study, boot: cfg.sys.boot()}
	if s.boot == "" && slices.ContainsFunc(s.study.Factors, func(f experiment.Factor) bool {
		return f.Change == result.Reboot
	}) {
		return nil, errors.New(
			"this system does not tell one boot from another, which a factor with change = \"reboot\" needs")
	}
	now := s.sys.fingerprint(experiment.Fingerprints)
	if cfg.Resume {
		s.store, err = store.Open(cfg.Dir)
	} else {
		if s.study, err = experiment.Fit(s.study, cfg.Machine, cfg.sys.look); err != nil {
			return nil, err
		}
		experiment.Draw(s.study)
		s.store, err = store.Create(cfg.Dir, s.head(now), s.study.Source)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		switch {
		case err == nil:
		case cfg.Resume:
			s.store.Close() //nolint:errcheck // the first error tells more
		default:
			s.store.Discard() //nolint:errcheck // as above; the next try may have the directory
		}
	}()
	s.x = s.store.Record().Experiment
	if err := same(s.store.Record(), s.study); err != nil {
		return nil, err
	}
	if cfg.Resume {
		if s.study, err = refit(s.x, s.study, cfg.Machine, cfg.sys.look); err != nil {
			return nil, err
		}
	}
	if diff := differences(s.guarded(), s.x.Host, now); len(diff) > 0 {
		return nil, &Changed{What: "the host has changed since the experiment began, in what guard.fingerprint lists: " +
			diff[0],
			Diff: lines(diff)}
	}
	if s.meter, err = openMeter(s.study, s.sys.tree); err != nil {
		return nil, err
	}
	if s.study.Harm != nil {
		if s.watched, err = watchedIn(ctx, s.study.Workload.Params, s.store.Record().Watched()); err != nil {
			return nil, err
		}
		s.study = s.watched.with(s.study)
	}
	if s.levels, err = newLevels(ctx, s.study, s.store, s.sys); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.live.close(len(s.store.Record().Changed()) == 0), s.emulation.close(), s.levels.close())
		}
	}()
	if s.places, err = newPlaces(s.study, s.store.Root(), s.x.ID); err != nil {
		return nil, err
	}
	if s.emulation, err = startEmulation(ctx, s.study); err != nil {
		return nil, err
	}
	s.levels.force, s.levels.note = cfg.Force, s.note
	s.levels.caution()
	if cfg.Confirm != nil {
		s.levels.confirm = s.ask
	}
	if err := s.startLive(); err != nil {
		return nil, err
	}
	if err := s.takeOver(ctx); err != nil {
		return nil, err
	}
	s.before = s.store.Record().Spent()
	s.countBlocks()
	for _, w := range s.store.Record().Warnings {
		s.note("%s", w)
	}
	return s, s.start()
}

// head makes the head of a new record.
func (s *session) head(fingerprint map[string]string) *result.Experiment {
	x := experiment.Head(s.study)
	x.ID = rand.Text()
	x.Version = s.cfg.Version
	x.Started = s.sys.now()
	x.Host = fingerprint
	x.File = s.study.File
	if !filepath.IsAbs(x.File) {
		x.File = filepath.Join(s.study.Dir, filepath.Base(x.File))
	}
	return x
}

// guarded are the names of the fingerprint that may not change. A boot changes
// where the study needs reboots.
func (s *session) guarded() []string {
	names := slices.Clone(s.study.Guard.Fingerprint)
	if slices.ContainsFunc(s.study.Factors, func(f experiment.Factor) bool { return f.Change.WholePlot() }) {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "boot" })
	}
	return names
}

// finish puts back what was changed and closes everything, whatever happened
// before, and adds to the error what could not be put back.
func (s *session) finish(ctx context.Context, err error) error {
	// Being cancelled is one of the ways out on which levels are put back.
	ctxErr := ctx.Err()
	ctx = context.WithoutCancel(ctx)
	_, waiting := errors.AsType[*Waiting](err)
	s.stops.Close()
	s.progress(Progress{Stage: "putting back"})
	errs := []error{s.emulation.close(), s.closeWorkload(), s.places.close()}
	restored := s.levels.restore(ctx, waiting)
	errs = append(errs, s.live.close(restored == nil || isForeign(restored)))
	if restored != nil {
		errs = append(errs, notBack(restored, s.cfg.Dir))
	}
	if left := leftByLevels(s.x.ID); len(left) > 0 {
		s.note(
			"commands of the study's factors have left %s running; hostlab leaves it alone, since some are there to start a "+
				"server: end it if nobody needs it", strings.Join(left, ", "))
	}
	errs = append(errs, s.levels.close(), s.store.Root().RemoveAll(store.WorkDir))
	if r := s.store.Record(); err != nil && ctxErr == nil && !waiting && !s.cfg.Resume && len(r.Runs) == 0 &&
		len(r.Changed()) == 0 {
		errs = append(errs, s.store.Discard()) // it failed at its first step: the next try may have the directory
	} else {
		errs = append(errs, s.store.Journal(store.Entry{Op: store.Stopped, At: s.sys.now(), Boot: s.boot}), s.store.Close())
	}
	if cleanup := errors.Join(errs...); cleanup != nil {
		return errors.Join(err, &Cleanup{cleanup})
	}
	return err
}

// Refused is the error of an experiment that was not begun, or not gone on with:
// nothing has happened.
type Refused struct{ Err error }

func (r *Refused) Error() string { return r.Err.Error() }

func (r *Refused) Unwrap() error { return r.Err }

// Cleanup is what could not be put back or removed at the end.
type Cleanup struct{ Err error }

func (c *Cleanup) Error() string { return c.Err.Error() }

func (c *Cleanup) Unwrap() error { return c.Err }
