package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/workload"
)

// aloneName is the socket of the one live experiment of a host. Tests have their own.
var aloneName = "@hostlab-live"

// live is what an experiment on a service that others use has beside its runs.
type live struct {
	harm  *experiment.HarmWatch
	guard *guard
	alone *alone
	pilot *experiment.Pilot // nil: the study says how long the service takes to settle
	wait  time.Duration     // that it takes; 0: not known yet
	stop  bool              // the last strike was one too many
}

// pilots is how many pairs show how long the service takes to settle.
const pilots = 10

// startLive makes an experiment on a service safe, before anything is changed: it is the only
// one on this host, and a guard brings back what was if this process is killed.
func (s *session) startLive() (err error) {
	if s.study.Harm == nil {
		return nil
	}
	l := &live{harm: s.study.WatchHarm(), pilot: s.study.Pilot()}
	l.recall(s.store.Record().Runs, s.baseline(), s.study.Harm.Every)
	if l.alone, err = takeAlone(); err != nil {
		return err
	}
	if l.guard, err = startGuard(s.cfg.Dir, s.emulation); err != nil {
		return errors.Join(err, l.alone.close())
	}
	s.live = l
	return nil
}

// close lets the guard go where all is as it was. Otherwise it goes on trying when this process ends.
func (l *live) close(restored bool) error {
	if l == nil {
		return nil
	}
	if restored {
		l.guard.close()
	}
	return l.alone.close()
}

// recall lets the rule of harm know the periods of the level that are on record.
func (l *live) recall(runs []result.Run, base int, every time.Duration) {
	for i := range runs {
		if r := &runs[i]; r.Status == result.OK && r.Cell != base {
			l.stop = l.harm.Recall(int(r.Seconds/every.Seconds()), r.Harm != "", r.Harmless == "") || l.stop
		}
	}
}

// harmed reports whether the level had to be stopped more often than the study allows.
func (s *session) harmed() bool { return s.live != nil && s.live.stop }

// errHarm ends an experiment within a pair.
var errHarm = errors.New("the level is not safe")

// baseline is the cell in which all factors are at theirs.
func (s *session) baseline() int { return result.CellAt(s.x.Cells, s.study.Baselines()) }

// begin prepares a period of a live experiment: the guard lives, and the service is found, also
// one that was restarted since.
func (s *session) beginPeriod(ctx context.Context, r *result.Run) error {
	if s.live == nil {
		return nil
	}
	if err := s.live.guard.check(); err != nil {
		return err
	}
	s.live.period(r.Cell != s.baseline())
	if s.open == nil {
		return s.openWorkload(ctx)
	}
	return nil
}

// fit refuses a period of the level while the service exceeds a limit at the baseline.
func (s *session) fit(next slot) error {
	if s.live == nil || next.cell == s.baseline() {
		return nil
	}
	if why := s.live.harm.Beyond(); why != "" {
		return fmt.Errorf("%s; hostlab did not begin the next period at the level: raise the limit, or continue with "+
			"--resume when the service meets it", why)
	}
	return nil
}

// pin finds the database again that is watched: one that was restarted is another process.
func (s *session) pin(ctx context.Context) error {
	if s.watched.data == "" {
		return nil
	}
	return patiently(ctx, func() error {
		w, err := watchedIn(ctx, s.study.Workload.Params, s.watched.data)
		if err == nil {
			s.watched, s.study = w, w.with(s.study)
		}
		return err
	})
}

// washOut watches the service while it gets used to the level. What is seen does not count, unless
// the level does harm: then that was the period.
func (s *session) washOut(ctx context.Context, r *result.Run, req workload.Request) (ended bool, _ error) {
	if s.live == nil {
		return false, nil
	}
	wait := s.washout()
	r.Waited = wait.Seconds()
	for until := s.sys.now().Add(wait); s.sys.now().Before(until) && r.Harm == ""; {
		s.progress(Progress{Stage: "settling", Cell: &s.x.Cells[r.Cell]})
		limited, cancel := context.WithDeadline(ctx, until)
		sample, err := s.open.Run(limited, req)
		over := limited.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case r.Harm != "":
			return true, s.struck(ctx, r, sample)
		case err != nil && !over:
			return false, err
		}
	}
	return false, nil
}

// struck records a period that harm has ended. It counts as its level's, however short it was.
func (s *session) struck(ctx context.Context, r *result.Run, sample workload.Sample) (err error) {
	r.Seconds = s.sys.now().Sub(r.Start).Seconds()
	r.Operations, r.Latency, r.Waits, r.Warnings = sample.Operations, sample.Latency, sample.Waits, sample.Warnings
	r.Status = result.OK
	if r.After, err = s.levels.readAll(ctx); err != nil {
		return err
	}
	if f, is, should := wrong(s.study.Baselines(), r.After); f != "" {
		return fmt.Errorf("factor %s reads %q after harm brought %q back", f, is, should)
	}
	if err := s.responses(r, sample); err != nil {
		return err
	}
	return s.hold(ctx, r)
}

// errHeld ends a period for which the baseline was held.
var errHeld = errors.New("the baseline was held")

// hold watches the baseline after a strike, which counts only if it is calm then. One of which hostlab cannot see
// the end counts: that is the safe side.
func (s *session) hold(ctx context.Context, r *result.Run) error {
	every := s.study.Harm.Every
	s.live.period(false)
	req, err := s.request(ctx, s.study.Baselines(), s.x.Blocks[r.Block].Seed)
	if err != nil {
		return err
	}
	var v experiment.HarmVerdict
	req.Run, req.Block, req.Look = s.number(), r.Block, func(b workload.Bin) error {
		if v = s.live.look(b); v.Held {
			return errHeld
		}
		return nil
	}
	for until := s.sys.now().Add(2 * experiment.HarmHold * every); !v.Held && ctx.Err() == nil &&
		s.sys.now().Before(until); {
		s.progress(Progress{Stage: "holding the baseline after a strike", Cell: &s.x.Cells[s.baseline()]})
		if _, err := s.open.Run(ctx, req); err != nil && !v.Held {
			break
		}
	}
	if !v.Held {
		v = s.live.harm.Abandon()
	}
	if s.live.stop = v.Stop; !v.Counts {
		r.Harmless = v.Why
	}
	s.note("%s", v.Why)
	return nil
}

// period begins one for all that watch the service.
func (l *live) period(level bool) {
	l.harm.Period(level)
	if l.pilot != nil {
		l.pilot.Period(level)
	}
}

// look lets all that watch the service see a look.
func (l *live) look(b workload.Bin) experiment.HarmVerdict {
	if l.pilot != nil {
		l.pilot.Look(b)
	}
	return l.harm.Look(b)
}

// settles says how long the service takes to settle, at the end of the last pair that shows it.
func (s *session) settles(r *result.Run) {
	plot := s.x.Blocks[r.Block].Plots[r.Plot]
	if s.live != nil && s.live.pilot != nil && s.live.wait == 0 && r.Block == pilots-1 && r.Slot == len(plot)-1 {
		_, r.SettlesIn, _ = s.live.pilot.Washout()
	}
}

// washout is how long the service gets.
func (s *session) washout() (d time.Duration) {
	if s.live.wait > 0 {
		return s.live.wait
	}
	if s.live.pilot != nil && s.block >= pilots {
		why := ""
		s.live.wait, _, why = s.live.pilot.Washout()
		s.note("from now on, periods begin %s", why)
		return s.live.wait
	}
	for _, f := range s.study.Factors {
		d = max(d, f.Settle)
	}
	return d
}

// look judges what the workload sees of a period, and brings the baseline back before it returns.
func (s *session) look(ctx context.Context, r *result.Run) func(workload.Bin) error {
	if s.live == nil {
		return nil
	}
	return func(b workload.Bin) error {
		v := s.live.look(b)
		if !v.Strike {
			return nil
		}
		r.Harm = v.Why
		began := s.sys.now()
		if err := s.toBaseline(ctx); err != nil {
			return fmt.Errorf("%s, and hostlab could not restore the baseline: %w", v.Why, err)
		}
		s.note("%s: the period has ended, and the baseline was restored within %s", v.Why, took(s.sys.now().Sub(began)))
		for _, l := range s.levels.levers {
			if err := s.store.Journal(store.Entry{Op: store.Struck, At: s.sys.now(), Boot: s.boot, Factor: l.Name,
				Value: l.Baseline, Block: r.Block}); err != nil {
				return err
			}
		}
		return errHarm
	}
}

func took(d time.Duration) string { return result.Format(d.Seconds(), "s") }

// toBaseline brings the baseline back at once, also when the session is cancelled. A server that is
// restarting is waited for.
func (s *session) toBaseline(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, f := range currentFirst(s.study.Factors, s.study.Baselines()) {
		if l := s.levels.lever(f.Name); l != nil {
			errs = append(errs, patiently(ctx, func() error { return s.levels.apply(ctx, l, l.Baseline) }))
		}
	}
	return errors.Join(append(errs, s.emulation.set(s.study.Baselines()))...)
}

// afterFailure brings the baseline back before anything is tried again. The service may have been
// restarted, which why may say, or that its database is another process: it is looked for anew.
func (s *session) afterFailure(ctx context.Context, r *result.Run, why error) (restarted bool, _ error) {
	switch {
	case s.live == nil || r.Reason == "":
		return false, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	switch err := s.toBaseline(ctx); {
	case isForeign(err):
		return false, fmt.Errorf("a run did not count (%s), and the experiment ends there", r.Reason)
	case err != nil:
		return false, fmt.Errorf("after a run that did not count (%s), the baseline could not be brought back: %w",
			r.Reason, err)
	}
	if err := s.closeWorkload(); err != nil {
		s.note("%s", err)
	}
	if err := s.sleep(ctx, s.study.Harm.Every, "waiting for the service, at the baseline"); err != nil {
		return false, err
	}
	before := named(s.watched.params).Service
	if err := s.pin(ctx); err != nil {
		return false, err
	}
	if _, restarted = errors.AsType[*workload.Restarted](why); !restarted && named(s.watched.params).Service != before {
		restarted, r.Reason = true, "the service was restarted: "+r.Reason
	}
	return restarted, s.emulation.renew(ctx, s.study)
}
