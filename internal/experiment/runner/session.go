package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// session is one call of Run.
type session struct {
	cfg       Config
	sys       *system
	study     *experiment.Study
	x         *result.Experiment
	store     *store.Store
	levels    *levels
	emulation *emulation       // nil: the study has none
	live      *live            // nil: nobody else uses what the workload does
	watched   watched          // of a live experiment
	meter     *meter           // of energy; nil: the study does not ask for it
	places    *places          // directories that levels stand for
	open      workload.Session // nil: none
	boot      string
	warm      bool // warm-up runs are done

	began  time.Time
	before time.Duration // that earlier sessions took

	block     int           // of the plan: that runs, or runs next
	at        int           // that runs: block, or one behind the plan
	done      int           // OK runs of it
	took      time.Duration // a block, the median of those that are complete; 0: not known
	lastRun   time.Duration // without what was waited for things to settle
	slept     time.Duration
	last      error // of the last run
	latest    *analysis.Analysis
	analysing time.Duration // what the last analysis took
	blind     bool          // has reported which guards cannot be kept
	stops     *proc.Pauses
	early     early
}

// start begins the session, or goes on with it after a pause.
func (s *session) start() error {
	s.began = s.sys.now()
	if s.stops == nil {
		s.stops = proc.WatchPauses()
	}
	return s.store.Journal(store.Entry{Op: store.Started, At: s.began, Boot: s.boot, PID: os.Getpid(),
		Window: s.cfg.Window.String(), Watched: s.watched.data})
}

// ask asks a person. How long that takes says nothing of the experiment, so the
// session pauses, as it does where a person is waited for without a terminal.
func (s *session) ask(prompt string) error {
	s.before = s.spent()
	if err := s.store.Journal(store.Entry{Op: store.Stopped, At: s.sys.now(), Boot: s.boot}); err != nil {
		return err
	}
	answer := s.cfg.Confirm(prompt)
	return errors.Join(answer, s.start())
}

// spent is how long the experiment has run, pauses left out.
func (s *session) spent() time.Duration { return s.before + s.sys.now().Sub(s.began) }

func (s *session) note(format string, a ...any) {
	if s.cfg.Watch != nil {
		s.cfg.Watch(Progress{Note: fmt.Sprintf(format, a...)})
	}
}

// sleep waits, and says why if it takes a while.
func (s *session) sleep(ctx context.Context, d time.Duration, stage string) error {
	if d >= time.Second {
		s.progress(Progress{Stage: stage})
	}
	began := s.sys.now()
	defer func() { s.slept += s.sys.now().Sub(began) }()
	return s.sys.sleep(ctx, d)
}

// run runs blocks until the experiment is over.
func (s *session) run(ctx context.Context) error {
	if err := s.beside(ctx, s.x.Planned(), s.x.Planned()+s.x.Design.AA); err != nil {
		return err
	}
	for {
		reason := s.over()
		if last := len(s.x.Blocks); s.latest != nil && s.latest.Due() && (reason == "looks" || reason == "resolved") {
			if err := s.beside(ctx, last-1, last); err != nil {
				return err
			}
			s.analyse(&result.End{Reason: reason, Blocks: s.block, At: s.sys.now()})
		}
		if reason != "" {
			return s.store.End(result.End{Reason: reason, Blocks: s.block, At: s.sys.now()})
		}
		if err := s.pairInWindow(ctx); err != nil {
			return err
		}
		s.at = s.block
		if err := s.runBlock(ctx); err != nil {
			switch {
			case errors.Is(err, errBudget):
				return s.store.End(result.End{Reason: "budget", Blocks: s.block, At: s.sys.now()})
			case errors.Is(err, errHarm):
				return s.store.End(result.End{Reason: result.Harmed, Blocks: s.block, At: s.sys.now()})
			}
			return err
		}
		s.block++
		s.timeBlocks()
		s.at = min(s.block, len(s.x.Blocks)-1)
		s.done = 0
	}
}

// over says why the experiment is over before the next block, or "". It asks the
// same of the same record, so that a kill before the answer was recorded changes
// nothing.
func (s *session) over() string {
	if s.harmed() {
		return result.Harmed
	}
	if slices.Contains(s.x.Design.Looks, s.block) || s.block >= s.x.Planned() {
		s.analyse(&result.End{Reason: "look", Blocks: s.block, At: s.sys.now()})
		s.progress(Progress{Stage: "look", AtLook: true})
		switch {
		case s.block >= s.x.Planned():
			return "looks"
		case s.latest.Decided():
			return "resolved"
		}
	} else if s.block > 0 && s.analysing < s.blockTime()/100 {
		s.analyse(&result.End{Reason: "so far", Blocks: s.block, At: s.sys.now()})
		s.progress(Progress{Stage: "block done"})
	}
	if b := s.study.Budget; b > 0 {
		spent := s.spent()
		if spent >= b || s.block > 0 && spent+s.blocksTime(1) > b {
			return "budget"
		}
	}
	return ""
}

// analyse judges what was recorded up to the current block.
func (s *session) analyse(end *result.End) {
	began := s.sys.now()
	s.latest = analysis.Analyse(s.x, s.store.Record().Runs, end)
	s.analysing = s.sys.now().Sub(began)
}

// countBlocks finds the first block that is not complete, and how long those
// before it took.
func (s *session) countBlocks() {
	done := make([]int, len(s.x.Blocks))
	for _, run := range s.store.Record().Runs {
		if run.Status == result.OK { // the store takes one for each place of the plan
			done[run.Block]++
		}
	}
	for s.block < s.x.Planned() && done[s.block] == s.x.Blocks[s.block].Runs() {
		s.block++
	}
	if s.block < s.x.Planned() {
		s.done = done[s.block]
	}
	s.timeBlocks()
}

// errBudget ends an experiment within a block.
var errBudget = errors.New("the budget is spent")

// beside runs blocks that are not of the plan, and for which it has no look.
func (s *session) beside(ctx context.Context, from, to int) error {
	for s.at = from; s.at < to; s.at++ {
		done := s.done
		s.done = 0
		if err := s.runBlock(ctx); err != nil && !errors.Is(err, errBudget) { // which the plan will see
			return err
		}
		s.done = done
	}
	s.at = s.block
	return nil
}

// runBlock runs what is left of the current block.
func (s *session) runBlock(ctx context.Context) error {
	for p, plot := range s.x.Blocks[s.at].Plots {
		if s.at >= s.x.Planned()+s.x.Design.AA && !s.latest.Asks(plot) {
			continue
		}
		if q := pending(s.x, s.store.Record().Runs, s.at, p); len(q) > 0 {
			if err := s.runPlot(ctx, p, q); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) runPlot(ctx context.Context, p int, q []slot) error {
	if s.x.Design.Kind == result.SplitPlot {
		// A boot leaves no workload behind and nothing warm. So it is for plots that need
		// none, and nobody has to work on a host on which a workload runs.
		if err := s.closeWorkload(); err != nil {
			return err
		}
		s.warm = false
	}
	if err := s.ready(ctx, p); err != nil {
		return err
	}
	if err := s.warmUp(ctx, q[0]); err != nil {
		return err
	}
	failures := map[int]int{} // slot -> runs of this session that were not OK
	for len(q) > 0 {
		next := q[0]
		if err := s.inTime(ctx, p, next.attempt > 1 || len(failures) > 0); err != nil {
			return err
		}
		if err := s.fit(next); err != nil {
			return err
		}
		r, err := s.one(ctx, next, false)
		if err != nil {
			return err
		}
		q = q[1:]
		if r.Status == result.OK {
			s.done++
		} else {
			// Where void runs are marked in the end, they need not use up what failures may.
			if !s.study.Guard.Mark || r.Status != result.Void || next.attempt > s.study.Workload.Retries {
				failures[next.Slot]++
			}
			if failures[next.Slot] > s.study.Workload.Retries || s.lasting(r.Cell) {
				return s.giveUp(r, failures[next.Slot])
			}
			next.attempt++
			if q = requeue(s.x, q, next); r.Restarted {
				q = pending(s.x, s.store.Record().Runs, s.at, p)
				s.done = len(s.x.Blocks[s.at].Plots[p]) - len(q)
			}
		}
		say, err := s.judge(r)
		s.progress(Progress{Stage: "running", Last: r, Say: say})
		if err != nil {
			return err
		}
		if s.harmed() {
			return errHarm
		}
	}
	return nil
}

// inTime ends an experiment whose budget is spent. A run that comes later than its pair was to end waits for the
// window of hours, and finds its levels again then.
func (s *session) inTime(ctx context.Context, plot int, later bool) error {
	if s.study.Budget > 0 && s.spent() >= s.study.Budget {
		return errBudget
	}
	if !later {
		return nil
	}
	waited, err := s.inWindow(ctx, s.study.BlockTime(s.block, 0)/2)
	if err != nil || !waited {
		return err
	}
	return s.ready(ctx, plot)
}

// ready brings about a plot's levels and opens the workload.
func (s *session) ready(ctx context.Context, plot int) error {
	if err := s.levels.begin(ctx); err != nil {
		return err
	}
	if err := s.preparePlot(ctx, s.at, plot); err != nil {
		return err
	}
	if s.open == nil && !s.restarts() {
		return s.openWorkload(ctx)
	}
	return nil
}

// restarts reports whether the workload is opened anew for every run.
func (s *session) restarts() bool {
	return slices.ContainsFunc(s.study.Factors, func(f experiment.Factor) bool {
		return f.Change == result.RestartWorkload
	})
}

func (s *session) openWorkload(ctx context.Context) error {
	work, err := filepath.Abs(filepath.Join(s.cfg.Dir, store.WorkDir))
	if err != nil {
		return err
	}
	// What a killed session left is in nobody's way but the workload's.
	if err := s.store.Root().RemoveAll(store.WorkDir); err != nil {
		return fmt.Errorf("cannot empty %s: %w", work, err)
	}
	if err := s.store.Root().Mkdir(store.WorkDir, 0o755); err != nil {
		return fmt.Errorf("cannot make the workload's directory: %w", err)
	}
	if err = s.pin(ctx); err != nil {
		return fmt.Errorf("workload %s: %w", s.study.Workload.Name, err)
	}
	cfg := s.study.Config(work)
	if s.open, err = s.study.Work.Open(ctx, cfg); err != nil {
		return fmt.Errorf("workload %s: %w", s.study.Workload.Name, err)
	}
	return nil
}

func (s *session) closeWorkload() error {
	if s.open == nil {
		return nil
	}
	err := s.open.Close()
	s.open = nil
	if err != nil {
		return fmt.Errorf("workload %s: %w", s.study.Workload.Name, err)
	}
	return nil
}

// warmUp does the runs that are not analysed, once a session, or once a plot where
// factors hold for a whole plot.
func (s *session) warmUp(ctx context.Context, at slot) error {
	if s.warm {
		return nil
	}
	if s.live != nil { // harm is judged by what the baseline was
		at.cell = s.baseline()
		at.Slot = slices.Index(s.x.Blocks[at.Block].Plots[at.Plot], at.cell)
	}
	failures := 0
	for n := 1; n <= s.study.Workload.WarmUp; {
		at.attempt = n
		r, err := s.one(ctx, at, true)
		if err != nil {
			return err
		}
		if r.Reason == "" {
			n++
		} else if failures++; failures > s.study.Workload.Retries || s.lasting(r.Cell) {
			return s.giveUp(r, failures)
		}
		say, err := s.judge(r)
		s.progress(Progress{Stage: "warming up", Last: r, Say: say})
		if err != nil {
			return err
		}
	}
	s.warm = true
	return nil
}

// lasting reports whether the last run, which was of that cell, would fail again. What the study names may be wrong,
// too.
func (s *session) lasting(cell int) bool {
	if fails, ok := errors.AsType[*workload.Lasting](s.last); ok && (!fails.First || !s.counted(cell)) {
		return true
	}
	wrong, named := errors.AsType[*workload.ParamError](s.last)
	return named && !wrong.Passes
}

// Hopeless is the error of runs that fail again and again.
type Hopeless struct {
	what string
	Last *result.Run
	then string
}

func (h *Hopeless) Error() string {
	return fmt.Sprintf("%s because %s%s; %s", h.what, h.Last.Reason, h.Last.Contaminated, h.then)
}

// Short is the error for people who have just read what is wrong.
func (h *Hopeless) Short() string { return fmt.Sprintf("%s as said above; %s", h.what, h.then) }

// counted reports whether a run of a cell has counted, or of any where it is negative.
func (s *session) counted(cell int) bool {
	return slices.ContainsFunc(s.store.Record().Runs, func(r result.Run) bool {
		return r.Status == result.OK && (cell < 0 || r.Cell == cell)
	})
}

// giveUp is the error of a run that fails again and again.
func (s *session) giveUp(r *result.Run, times int) error {
	what := "a run of " + cellText(s.x, r.Cell)
	if r.Status == result.WarmUp {
		what = "the warm-up run of " + cellText(s.x, r.Cell)
	}
	resume := "hostlab run --resume --out " + screen.Operand(s.cfg.Dir)
	if s.lasting(r.Cell) {
		then := "mend that, then run it again: it begins anew"
		if s.counted(-1) {
			then = "mend that, then continue with: " + resume + "; a study that is changed needs another --out"
		}
		return fmt.Errorf("%s failed, and would fail again: %s; %s", what, r.Reason, then)
	}
	then := "remove the cause, then continue with: " + resume
	if r.Status == result.Failed && !s.counted(-1) { // a resume has the same command line
		then = "if the command line is wrong, begin anew with another; else " + then
	}
	return &Hopeless{fmt.Sprintf("%s was void or failed %d times, the last time", what, times), r, then}
}
