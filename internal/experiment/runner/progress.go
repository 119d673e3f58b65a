package runner

import (
	"slices"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
)

// Progress is where an experiment stands.
type Progress struct {
	Stage  string // what happens now: running, warming up, settling, ...
	Cell   *result.Cell
	Block  int // that runs, from 0
	Blocks int // planned, to the last look
	Look   int // blocks to the next look
	Done   int // OK runs, of this block
	Runs   int // of a block
	// Least and Most are the time left to the next look and to the last, negative
	// where it is not known yet. A budget bounds both.
	Least, Most time.Duration
	// Analysis is the newest one; of all complete blocks, so only for the eye unless
	// AtLook is set.
	Analysis *analysis.Analysis
	AtLook   bool
	Last     *result.Run // the run that ended just now, if one did
	Note     string      // something to tell in a line of its own
}

// progress fills in a Progress and tells it.
func (s *session) progress(p Progress) {
	if s.cfg.Watch == nil {
		return
	}
	x := s.x
	p.Block, p.Blocks = min(s.block, len(x.Blocks)-1), len(x.Blocks)
	p.Look = nextLook(x, s.block)
	for _, plot := range x.Blocks[p.Block].Plots {
		p.Runs += len(plot)
	}
	p.Done = s.done
	if p.Analysis == nil {
		p.Analysis = s.latest
	}
	p.Least, p.Most = s.left(p.Look), s.left(p.Blocks)
	s.cfg.Watch(p)
}

// nextLook returns the number of blocks at which the next decision falls.
func nextLook(x *result.Experiment, block int) int {
	for _, look := range x.Design.Looks {
		if look > block {
			return min(look, len(x.Blocks))
		}
	}
	return len(x.Blocks)
}

// left estimates the time to the end of so many blocks, from the median of those
// that were run, or from what the study expects of a run.
func (s *session) left(blocks int) time.Duration {
	p := min(s.block, len(s.x.Blocks)-1)
	runs := 0
	for _, plot := range s.x.Blocks[p].Plots {
		runs += len(plot)
	}
	each := s.blockTime()
	if each == 0 {
		return -1
	}
	whole := float64(blocks - s.block)
	if runs > 0 {
		whole -= float64(s.done) / float64(runs)
	}
	left := time.Duration(max(0, whole) * float64(each))
	if s.study.Budget > 0 {
		left = min(left, max(0, s.study.Budget-s.spent()))
	}
	return left
}

// blockTime is what a block takes, 0 while that is not known.
func (s *session) blockTime() time.Duration {
	if n := len(s.blockTimes); n > 0 {
		sorted := slices.Clone(s.blockTimes)
		slices.Sort(sorted)
		return sorted[n/2]
	}
	runs := 0
	for _, plot := range s.x.Blocks[0].Plots {
		runs += len(plot)
	}
	each := s.study.Workload.Expect + s.study.Workload.Settle
	for _, l := range s.levels.levers {
		each += l.Settle
	}
	if s.study.Workload.Expect == 0 {
		each = s.lastRun
	}
	return each * time.Duration(runs)
}
