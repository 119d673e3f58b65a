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
	"hostlab/internal/result"
	"hostlab/internal/result/store"
	"hostlab/internal/workload"
)

// workDir is where in the record's directory workloads keep files of their own
// while the experiment runs.
const workDir = "work"

// session is one call of Run.
type session struct {
	cfg    Config
	sys    *system
	study  *experiment.Study
	x      *result.Experiment
	store  *store.Store
	levels *levels
	work   workload.Workload
	open   workload.Session // nil: none
	boot   string
	warm   bool // warm-up runs are done

	began  time.Time
	before time.Duration // that earlier sessions took

	block      int // that runs, or runs next
	done       int // OK runs of it
	blockTimes []time.Duration
	lastRun    time.Duration
	latest     *analysis.Analysis
	analysing  time.Duration // what the last analysis took
	blind      bool          // told which guards cannot be kept
}

// spent is how long the experiment has run, pauses between sessions left out.
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
	return s.sys.sleep(ctx, d)
}

// run runs blocks until the experiment is over.
func (s *session) run(ctx context.Context) error {
	for {
		reason := s.over()
		if reason != "" {
			return s.store.End(result.End{Reason: reason, Blocks: s.block, At: s.sys.now()})
		}
		began := s.sys.now()
		resumed := s.done > 0
		if err := s.runBlock(ctx); err != nil {
			if errors.Is(err, errBudget) {
				return s.store.End(result.End{Reason: "budget", Blocks: s.block, At: s.sys.now()})
			}
			return err
		}
		if !resumed {
			s.blockTimes = append(s.blockTimes, s.sys.now().Sub(began))
		}
		s.block++
		s.done = 0
	}
}

// over says why the experiment is over before the next block, or "". It asks the
// same of the same record, so that a kill before the answer was recorded changes
// nothing.
func (s *session) over() string {
	if slices.Contains(s.x.Design.Looks, s.block) || s.block >= len(s.x.Blocks) {
		s.analyse(&result.End{Reason: "look", Blocks: s.block, At: s.sys.now()})
		s.progress(Progress{Stage: "look", AtLook: true})
		switch {
		case s.block >= len(s.x.Blocks):
			return "looks"
		case s.latest.Decided():
			return "resolved"
		}
	} else if s.block > 0 && s.analysing < s.blockTime()/100 {
		s.analyse(&result.End{Reason: "so far", Blocks: s.block, At: s.sys.now()})
		s.progress(Progress{Stage: "block done"})
	}
	if s.study.Budget > 0 && s.spent()+s.blockTime() > s.study.Budget && s.block > 0 {
		return "budget"
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
	at := map[place]bool{}
	times := make([][2]time.Time, len(s.x.Blocks))
	for _, r := range s.store.Record().Runs {
		if r.Status == result.OK {
			at[place{r.Block, r.Plot, r.Slot}] = true
		}
		if r.Status == result.WarmUp {
			continue
		}
		end := r.Start.Add(time.Duration(r.Seconds * float64(time.Second)))
		if t := &times[r.Block]; t[0].IsZero() {
			*t = [2]time.Time{r.Start, end}
		} else {
			t[1] = end
		}
	}
	for s.block = 0; s.block < len(s.x.Blocks); s.block++ {
		s.done = 0
		complete := true
		for p, plot := range s.x.Blocks[s.block].Plots {
			for slot := range plot {
				if at[place{s.block, p, slot}] {
					s.done++
				} else {
					complete = false
				}
			}
		}
		if !complete {
			return
		}
		s.blockTimes = append(s.blockTimes, times[s.block][1].Sub(times[s.block][0]))
	}
	s.done = 0
}

// errBudget ends an experiment within a block.
var errBudget = errors.New("the budget is spent")

// runBlock runs what is left of the current block.
func (s *session) runBlock(ctx context.Context) error {
	for p := range s.x.Blocks[s.block].Plots {
		q := pending(s.x, s.store.Record().Runs, s.block, p)
		if len(q) == 0 {
			continue
		}
		if err := s.ready(ctx, p); err != nil {
			return err
		}
		if err := s.warmUp(ctx, q[0]); err != nil {
			return err
		}
		failures := map[int]int{} // slot -> runs of this session that were not OK
		for len(q) > 0 {
			if s.study.Budget > 0 && s.spent() >= s.study.Budget {
				return errBudget
			}
			next := q[0]
			r, err := s.one(ctx, next, false)
			if err != nil {
				return err
			}
			q = q[1:]
			if r.Status == result.OK {
				s.done++
			} else {
				failures[next.slot]++
				if failures[next.slot] > s.study.Workload.Retries {
					return s.giveUp(r, failures[next.slot])
				}
				next.attempt++
				q = append(q, next) // at the end, in the order voided
			}
			s.progress(Progress{Stage: "running", Last: r})
		}
	}
	return nil
}

// ready brings about a plot's levels and opens the workload.
func (s *session) ready(ctx context.Context, plot int) error {
	if err := s.levels.begin(ctx); err != nil {
		return err
	}
	if err := s.preparePlot(ctx, s.block, plot); err != nil {
		return err
	}
	if s.open == nil && !s.restarts() {
		return s.openWorkload(ctx)
	}
	return nil
}

// restarts reports whether the workload is opened anew for every run.
func (s *session) restarts() bool {
	return slices.ContainsFunc(s.study.Factors, func(f experiment.Factor) bool { return f.Change == result.RestartWorkload })
}

func (s *session) openWorkload(ctx context.Context) error {
	work := filepath.Join(s.cfg.Dir, workDir)
	work, err := filepath.Abs(work)
	if err != nil {
		return err
	}
	// What a killed session left is in nobody's way but the workload's.
	if err := os.RemoveAll(work); err != nil {
		return fmt.Errorf("cannot empty %s: %w", work, err)
	}
	if err := os.Mkdir(work, 0o755); err != nil {
		return fmt.Errorf("cannot make the workload's directory: %w", err)
	}
	if s.open, err = s.work.Open(ctx, s.study.Config(work)); err != nil {
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

// warmUp does the runs that are not analysed, once a session.
func (s *session) warmUp(ctx context.Context, at slot) error {
	if s.warm {
		return nil
	}
	failures := 0
	for n := 1; n <= s.study.Workload.WarmUp; {
		at.attempt = n
		r, err := s.one(ctx, at, true)
		if err != nil {
			return err
		}
		s.progress(Progress{Stage: "warming up", Last: r})
		if r.Reason == "" {
			n++
			continue
		}
		if failures++; failures > s.study.Workload.Retries {
			return s.giveUp(r, failures)
		}
	}
	s.warm = true
	return nil
}

// giveUp is the error of a run that fails again and again.
func (s *session) giveUp(r *result.Run, times int) error {
	what := "a run of " + cellText(s.x, r.Cell)
	if r.Status == result.WarmUp {
		what = "the warm-up run of " + cellText(s.x, r.Cell)
	}
	return fmt.Errorf("%s was void or failed %d times, the last time because %s; see to it, then go on with: hostlab run --resume --out %s",
		what, times, r.Reason, s.cfg.Dir)
}
