package runner

import (
	"slices"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
	"hostlab/internal/result/store"
)

// Progress is where an experiment stands.
type Progress struct {
	Stage  string // what happens now: running, warming up, settling, ...
	Cell   *result.Cell
	Pairs  bool // a block is a pair of periods
	Block  int  // that runs, from 0
	Blocks int  // planned, to the last look
	Look   int  // blocks to the next look
	Done   int  // OK runs, of this block
	Runs   int  // of a block
	// Least and Most are the time left to the next look and to the last, negative
	// where it is not known yet. A budget bounds both.
	Least, Most time.Duration
	// Analysis is the newest one; of all complete blocks, so only for the eye unless
	// AtLook is set.
	Analysis *analysis.Analysis
	AtLook   bool
	Last     *result.Run // the run that ended just now, if one did
	Say      bool        // Last shows a problem to speak of, also where single runs are not
	Note     string      // something to tell in a line of its own
}

// progress fills in a Progress and tells it.
func (s *session) progress(p Progress) {
	if s.cfg.Watch == nil {
		return
	}
	x := s.x
	p.Pairs = x.Design.Kind == result.Switchback
	p.Block, p.Blocks = min(s.block, x.Planned()-1), x.Planned()
	p.Look = nextLook(x, s.block)
	p.Runs, p.Done = x.Blocks[min(s.at, len(x.Blocks)-1)].Runs(), s.done
	p.Analysis = s.latest
	p.Least, p.Most = s.left(p.Look), s.left(p.Blocks)
	s.cfg.Watch(p)
}

// nextLook returns the number of blocks at which the next decision falls.
func nextLook(x *result.Experiment, block int) int {
	for _, look := range x.Design.Looks {
		if look > block {
			return min(look, x.Planned())
		}
	}
	return x.Planned()
}

// left estimates the time to the end of so many blocks, -1 where it is not known.
func (s *session) left(blocks int) time.Duration {
	left := s.blocksTime(blocks - s.block)
	if left < 0 {
		return -1
	}
	if s.study.Budget > 0 {
		left = min(left, max(0, s.study.Budget-s.spent()))
	}
	return left
}

// blocksTime estimates how long so many blocks take, without what was done of the
// current one; -1 where that is not known.
func (s *session) blocksTime(blocks int) time.Duration {
	each := s.blockTime()
	if each == 0 {
		return -1
	}
	runs := s.x.Blocks[min(s.block, s.x.Planned()-1)].Runs()
	whole := float64(blocks) - float64(s.done)/float64(max(runs, 1))
	return time.Duration(max(0, whole) * float64(each))
}

// blockTime is what a block takes: the median of those that were run, or else what
// the study, or its last run, lets one expect; 0 while that is not known.
func (s *session) blockTime() time.Duration {
	if s.took > 0 {
		return s.took
	}
	return s.study.BlockTime(s.block, s.lastRun) // the warm-up run's, if not 0: it tells better than the study
}

// timeBlocks finds how long complete blocks took.
func (s *session) timeBlocks() {
	if took := blockTimes(s.store.Record())[:s.block]; s.block > 0 {
		slices.Sort(took)
		s.took = took[s.block/2]
	}
}

// blockTimes finds how long blocks took from when runs ended. A run has all that came before it, since that
// was for its sake: levels were applied, things had to settle. What passes between the end of a session and the start
// of the next belongs to no block: the host boots, a person is waited for, or has gone home.
func blockTimes(r *store.Record) []time.Duration {
	took, next := make([]time.Duration, len(r.Experiment.Blocks)), 0
	var last time.Time // when the last run ended, or the session began after it
	for i := range r.Runs {
		run := &r.Runs[i]
		for ; next < len(r.Journal) && !r.Journal[next].At.After(run.Start); next++ {
			if r.Journal[next].Op == store.Started {
				last = r.Journal[next].At
			}
		}
		end := run.Start.Add(time.Duration(run.Seconds * float64(time.Second)))
		if end.After(last) && !last.IsZero() { // the clock may have been set back
			took[run.Block] += end.Sub(last)
		}
		last = end
	}
	return took
}
