package runner

import (
	"slices"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/experiment"
	"hostlab/internal/result"
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
	for _, plot := range x.Blocks[min(s.at, len(x.Blocks)-1)].Plots {
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
	runs := 0
	for _, plot := range s.x.Blocks[min(s.block, s.x.Planned()-1)].Plots {
		runs += len(plot)
	}
	whole := float64(blocks) - float64(s.done)/float64(max(runs, 1))
	return time.Duration(max(0, whole) * float64(each))
}

// blockTime is what a block takes: the median of those that were run, or else what
// the study, or its last run, lets one expect; 0 while that is not known.
func (s *session) blockTime() time.Duration {
	if n := len(s.times.blocks); n > 0 {
		sorted := slices.Clone(s.times.blocks)
		slices.Sort(sorted)
		return sorted[n/2]
	}
	one := *s.study
	one.Design.Looks, one.Budget = []int{1}, 0
	each, _ := experiment.Duration(&one, s.lastRun) // the warm-up run's, if not 0: it tells better than the study
	return each
}

// times finds how long blocks take from when runs ended. What passes between the
// end of a session and the start of the next belongs to no block: the host boots, a
// person is waited for, or has gone home.
type times struct {
	last   time.Time       // when the last run ended, or the session began after it
	block  time.Duration   // of the current one so far
	blocks []time.Duration // of those that are complete
}

func (t *times) started(at time.Time) { t.last = at }

// ended takes in a run of the current block with all that came before it, since
// that was for its sake: levels were applied, things had to settle.
func (t *times) ended(r *result.Run) {
	end := r.Start.Add(time.Duration(r.Seconds * float64(time.Second)))
	if t.last.IsZero() {
		t.last = r.Start
	}
	if end.After(t.last) { // the clock may have been set back
		t.block += end.Sub(t.last)
	}
	t.last = end
}
