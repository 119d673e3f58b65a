package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"hostlab/internal/experiment"
	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// one does one run and records it. An error means that nothing was recorded and
// that the experiment cannot go on; a run that failed is no error.
func (s *session) one(ctx context.Context, at slot, warmUp bool) (*result.Run, error) {
	r := &result.Run{Block: at.Block, Plot: at.Plot, Slot: at.Slot, Cell: at.cell, Attempt: at.attempt, Boot: s.boot,
		Start: s.sys.now()}
	stage := "running"
	if warmUp {
		stage = "warming up"
	}
	s.progress(Progress{Stage: stage, Cell: &s.x.Cells[at.cell]})
	began := s.sys.now()
	s.slept = 0
	err := s.try(ctx, r)
	s.lastRun = s.sys.now().Sub(began) - s.slept
	if ctx.Err() != nil && (err != nil || r.Harm == "") {
		return nil, ctx.Err() // whatever it did, it was cut short
	}
	s.last = err
	if err != nil {
		r.Status, r.Reason = result.Failed, err.Error()
		if file := s.keepOutput(r, err, warmUp); file != "" {
			r.Reason += " (its output is in " + file + ")"
		}
	}
	if warmUp {
		if r.Status == result.Void && s.study.Guard.Mark { // it is not analysed: once is enough
			r.Contaminated, r.Reason = r.Reason, ""
		}
		r.Status = result.WarmUp
	}
	restarted, err := s.afterFailure(ctx, r, err)
	if err != nil {
		return nil, err
	}
	if r.Restarted = restarted && !warmUp; r.Restarted {
		r.Status = result.Void
	}
	if err := s.store.Append(*r); err != nil {
		return nil, err
	}
	return r, nil
}

// try brings about the levels of a run, does it, and judges it: Status is OK or
// Void when it returns nil.
func (s *session) try(ctx context.Context, r *result.Run) error {
	req, ended, err := s.prepare(ctx, r)
	if ended || err != nil {
		return err
	}
	m, err := s.measure(ctx, r, req)
	if err != nil {
		return err
	}
	switch why, err := m.classify(ctx); {
	case r.Harm != "" && m.err == nil && ctx.Err() == nil:
		return s.struck(ctx, r, m.sample)
	case err != nil:
		return err
	case why != "":
		r.Status, r.Reason = result.Void, why
		return nil
	}
	return s.take(ctx, r, m)
}

// prepare brings about the levels of a run and makes what it needs. ended is set where the run is over
// before it began.
func (s *session) prepare(ctx context.Context, r *result.Run) (req workload.Request, ended bool, err error) {
	levels := s.x.Cells[r.Cell].Levels
	if err = s.beginPeriod(ctx, r); err != nil {
		return req, false, err
	}
	if err = s.setLevels(ctx, levels); err != nil {
		return req, false, err
	}
	if req, err = s.request(ctx, levels, s.x.Blocks[r.Block].Seed); err != nil {
		return req, false, err
	}
	req.Run, req.Block, req.Look = s.number(), r.Block, s.look(ctx, r)
	if ended, err := s.washOut(ctx, r, req); ended || err != nil {
		return req, ended, err
	}
	if err = s.sleep(ctx, s.study.Workload.Settle, "settling"); err != nil {
		return req, false, err
	}
	if r.Before, err = s.levels.readAll(ctx); err != nil {
		return req, false, err
	}
	if f, is, should := wrong(levels, r.Before); f != "" {
		return req, false, fmt.Errorf("factor %s reads %q after it was set to %q", f, is, should)
	}
	if p, ok := s.open.(workload.Preparer); ok {
		return req, false, p.Prepare(ctx, req)
	}
	return req, false, nil
}

// measurement is what a run gave, and what happened meanwhile.
type measurement struct {
	sample     workload.Sample
	err        error // of the workload
	emulated   error // the clock was not emulated as asked for
	lost       bool  // its processes were lost
	tooLong    time.Duration
	conditions conditions
}

func (s *session) measure(ctx context.Context, r *result.Run, req workload.Request) (m measurement, err error) {
	if err := s.emulation.begin(); err != nil {
		return m, err
	}
	stopped, stop := s.stops.Sum(), s.sys.watch()
	runCtx, undo := s.emulation.during(ctx)
	defer undo()
	limit := s.study.Workload.Timeout
	if limit > 0 {
		var cancel context.CancelFunc
		runCtx, cancel = context.WithTimeout(runCtx, limit)
		defer cancel()
	}
	used := s.meter.begin()
	r.Start = s.sys.now()
	m.sample, m.err = s.open.Run(runCtx, req)
	r.Seconds = s.sys.now().Sub(r.Start).Seconds()
	used(&m.sample)
	m.emulated = s.emulation.end(&m.sample, s.sys.now().Sub(r.Start))
	m.lost = errors.Is(context.Cause(runCtx), errLost)
	if errors.Is(runCtx.Err(), context.DeadlineExceeded) {
		m.tooLong = limit
	}
	c := stop()
	c.pause = s.stops.Sum().Sub(stopped)
	c.pause.Run = time.Duration(r.Seconds * float64(time.Second))
	m.conditions, r.Conditions = c, c.record()
	if !s.blind {
		s.blind = true
		for _, text := range c.blind(&s.study.Guard) {
			s.note("%s", text)
		}
	}
	return m, nil
}

// classify says why a run does not count, or how it failed.
func (m *measurement) classify(ctx context.Context) (void string, err error) {
	switch pause := m.conditions.pause.Text(); {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case m.lost:
		return "", errLost
	case m.err != nil && pause != "": // it is not the level's failure
		return fmt.Sprintf("%s, and it failed: %s", pause, m.err), nil
	case m.err != nil && m.tooLong > 0:
		return "", &late{m.tooLong, m.err}
	case m.err != nil:
		return "", m.err
	}
	return "", m.emulated
}

// take records what a run gave, and whether it counts.
func (s *session) take(ctx context.Context, r *result.Run, m measurement) error {
	sample := m.sample
	r.Operations, r.Latency, r.Waits, r.Warnings = sample.Operations, sample.Latency, sample.Waits,
		append(slices.Clip(sample.Warnings), s.levels.missed()...)
	if text := m.conditions.unread(&s.study.Guard); text != "" {
		r.Warnings = append(slices.Clip(r.Warnings), text)
	}
	if err := s.responses(r, sample); err != nil {
		return err
	}
	r.Status = result.OK
	s.settles(r)
	s.guard(ctx, r, m.conditions, s.x.Cells[r.Cell].Levels, sample.Doubt)
	if r.Status == result.OK && r.Contaminated == "" {
		r.Contaminated = sample.Contaminated
	}
	return ctx.Err()
}

// setLevels applies the levels of all factors that need no whole plot, each anew
// also where it does not change: what applying disturbs has to be the same for all
// runs.
func (s *session) setLevels(ctx context.Context, want map[string]string) error {
	restart := s.restarts()
	if restart {
		if err := s.closeWorkload(); err != nil {
			return err
		}
	}
	for _, f := range currentFirst(s.study.Factors, want) {
		if f.Change.WholePlot() {
			continue
		}
		if l := s.levels.lever(f.Name); l != nil {
			if err := s.levels.apply(ctx, l, want[f.Name]); err != nil {
				return err
			}
		}
		if s.live != nil {
			continue // it is watched meanwhile
		}
		if err := s.sleep(ctx, f.Settle, "settling"); err != nil {
			return err
		}
	}
	if restart {
		if err := s.openWorkload(ctx); err != nil {
			return err
		}
	}
	return s.emulation.set(want)
}

// currentFirst has those factors first whose level is what there was: that puts back all settings of the experiment.
func currentFirst(factors []experiment.Factor, want map[string]string) []experiment.Factor {
	later := func(f experiment.Factor) int {
		if want[f.Name] == experiment.Current {
			return 0
		}
		return 1
	}
	out := slices.Clone(factors)
	slices.SortStableFunc(out, func(a, b experiment.Factor) int { return later(a) - later(b) })
	return out
}

// request makes what the workload gets: the study's parameters with the levels of
// factors that are parameters.
func (s *session) request(ctx context.Context, levels map[string]string, seed uint64) (workload.Request, error) {
	desc := s.study.Work.Describe()
	req := workload.Request{Params: s.study.Workload.Params, Levels: levels, Seed: seed}
	for _, f := range s.study.Factors {
		if f.Kind != experiment.KindParameter {
			continue
		}
		if _, ok := desc.Param(f.Parameter); !ok {
			continue // a name in a command's arguments, which it finds in Levels
		}
		text := levels[f.Name]
		if f.Directories != nil {
			dir, err := s.places.directory(ctx, f, text)
			if err != nil {
				return req, fmt.Errorf("factor %s: level %s: %w", f.Name, text, err)
			}
			text = dir
		}
		var err error
		if req.Params, err = workload.With(req.Params, f.Parameter, text); err != nil {
			return req, fmt.Errorf("factor %s: %w", f.Name, err)
		}
	}
	return req, nil
}

// number is that of the next run. A run that was cut short was not recorded, so that
// a resume gives its number again; and the warm-up runs of a resume change none, as
// they are counted by themselves.
func (s *session) number() (n uint64) {
	for _, r := range s.store.Record().Runs {
		if (r.Status != result.WarmUp) == s.warm {
			n++
		}
	}
	return n
}

// responses takes over what the study asks for. A primary response has to be
// there; another may be missing, and says why.
func (s *session) responses(r *result.Run, sample workload.Sample) error {
	picks := s.study.Work.Describe().Picks
	for i := range s.study.Responses {
		want := &s.study.Responses[i]
		name := want.From
		if picks || name == "" {
			name = want.Name
		}
		if want.Over != "" {
			name = want.From
		}
		v, there := sample.Values[name]
		why := sample.Missing[name]
		if by, ok := sample.Values[want.Over]; there && want.Over != "" {
			v, there = want.Scale*v/by, ok && by != 0
			if !there {
				why = cmp.Or(sample.Missing[want.Over], fmt.Sprintf("%s is 0, or missing", want.Over))
			}
		}
		switch {
		case !there && why == "":
			why = "the workload gave none"
		case there && (math.IsNaN(v) || math.IsInf(v, 0)):
			there, why = false, fmt.Sprintf("it is %g, not a number", v)
		case there && want.Compare == result.Ratio && v < 0:
			there, why = false, fmt.Sprintf("it is %g, and ratios need values above 0 (compare = \"difference\" does not)", v)
		case there && want.Compare == result.Ratio && v == 0 && sample.Zero[name] != "":
			// A value as any other: the analysis compares by difference.
			r.Warnings = append(r.Warnings, fmt.Sprintf("%s is 0: %s", want.Name, sample.Zero[name]))
		}
		switch {
		case there:
			if r.Values == nil {
				r.Values = map[string]float64{}
			}
			r.Values[want.Name] = v
		case want.Primary:
			err := fmt.Errorf("response %s is missing: %s", want.Name, why)
			if picks && !s.counted(r.Cell) { // the program ended well, and has never printed it
				return &workload.Lasting{Err: err}
			}
			return err
		default:
			if r.Missing == nil {
				r.Missing = map[string]string{}
			}
			r.Missing[want.Name] = why
		}
	}
	return nil
}

// guard voids a run whose conditions or levels were not what they should be.
// doubt is what the workload says against it. What others did to a run that was
// repeated often enough only marks it, if the study says so; levels that were not as
// they should be never do.
func (s *session) guard(ctx context.Context, r *result.Run, c conditions, want map[string]string, doubt string) {
	void := func(format string, a ...any) {
		if r.Status == result.OK {
			r.Status, r.Reason, r.Contaminated = result.Void, fmt.Sprintf(format, a...), ""
		}
	}
	disturbed := func(why string) {
		switch {
		case why == "" || r.Contaminated != "":
		case s.study.Guard.Mark && r.Attempt > s.study.Workload.Retries:
			r.Contaminated = why
		default:
			void("%s", why)
		}
	}
	var err error
	if r.After, err = s.levels.readAll(ctx); err != nil {
		void("%s after the run", err)
	}
	if f, is, should := wrong(want, r.After); f != "" {
		void("factor %s read %q before the run and %q after it: another program changed it meanwhile", f, should, is)
	}
	disturbed(c.pause.Text())
	disturbed(c.breach(&s.study.Guard))
	disturbed(doubt)
	names := s.guarded()
	if len(names) == 0 {
		return
	}
	if diff := differences(names, s.x.Host, s.sys.fingerprint(names)); len(diff) > 0 {
		void("the host changed, in what guard.fingerprint lists: %s", diff[0])
	}
}
