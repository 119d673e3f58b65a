package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

	"hostlab/internal/result"
)

// place is where in the plan a run belongs.
type place struct{ block, plot, slot int }

// places is what was recorded at each place: the highest attempt, negative once
// one was OK.
type places map[place]int

const settled = math.MinInt

// add checks a run against the plan and takes it in.
func (ps places) add(r *result.Run, x *result.Experiment) error {
	p := place{r.Block, r.Plot, r.Slot}
	if err := fits(r, x); err != nil {
		return err
	}
	if r.Status == result.WarmUp {
		return nil // any number, at the place of the run that they precede
	}
	last, seen := ps[p]
	switch {
	case seen && last == settled:
		return fmt.Errorf("%s was recorded already", p)
	case seen && r.Attempt <= last:
		return fmt.Errorf("%s has its attempt %d already", p, r.Attempt)
	}
	ps[p] = r.Attempt
	if r.Status == result.OK {
		ps[p] = settled
	}
	return nil
}

// withdraw makes void what runs have of the pair in which the service was restarted in r: a server with empty caches is
// not compared with one of before. What harm has ended stays, as the worst of its level.
func (ps places) withdraw(runs []result.Run, r *result.Run) {
	if !r.Restarted {
		return
	}
	for i := range runs {
		if o := &runs[i]; o.Block == r.Block && o.Status == result.OK && o.Harm == "" {
			o.Status, o.Withdrawn, o.Reason = result.Void, true, "the service was restarted in the same pair"
			ps[place{o.Block, o.Plot, o.Slot}] = o.Attempt
		}
	}
}

// remove takes out a run that add took in.
func (ps places) remove(r *result.Run) {
	if r.Status == result.WarmUp {
		return
	}
	ps[place{r.Block, r.Plot, r.Slot}] = r.Attempt - 1
}

func (p place) String() string {
	return fmt.Sprintf("the run of block %d, plot %d, slot %d", p.block, p.plot, p.slot)
}

// fits checks that the plan has the run's cell at its place, and that an OK run
// says of every response what it was.
func fits(r *result.Run, x *result.Experiment) error {
	p := place{r.Block, r.Plot, r.Slot}
	if r.Block < 0 || r.Block >= len(x.Blocks) ||
		r.Plot < 0 || r.Plot >= len(x.Blocks[r.Block].Plots) ||
		r.Slot < 0 || r.Slot >= len(x.Blocks[r.Block].Plots[r.Plot]) {
		return fmt.Errorf("%s is not in the plan", p)
	}
	if want := x.Blocks[r.Block].Plots[r.Plot][r.Slot]; r.Cell != want {
		return fmt.Errorf("%s has cell %d, the plan has cell %d there", p, r.Cell, want)
	}
	switch r.Status {
	case result.OK, result.Void, result.Failed, result.WarmUp:
	default:
		return fmt.Errorf("%s has the unknown status %q", p, r.Status)
	}
	if r.Status != result.OK {
		return nil
	}
	for i := range x.Responses {
		want := &x.Responses[i]
		v, there := r.Values[want.Name]
		_, missing := r.Missing[want.Name]
		switch {
		case there && want.Compare == result.Ratio && v < 0: // 0 is a value, which is compared by difference
			return fmt.Errorf("%s is ok and has %s = %g, of which there is no ratio", p, want.Name, v)
		case !there && !missing:
			return fmt.Errorf("%s is ok and says nothing of %s", p, want.Name)
		}
	}
	return nil
}

// inOrder reports a line of runs.jsonl that is not where it was written.
func inOrder(r *result.Run, line int) error {
	if r.Seq == line {
		return nil
	}
	return fmt.Errorf(
		"has run %d where run %d should be (seq): lines were lost, added or moved; take the file from a copy",
		r.Seq, line)
}

// checkCount compares runs.jsonl with what ended.json counts, which tells a file
// that was cut. torn says that a torn last line was dropped; if that is all that is
// missing, the experiment counts as not ended, so that a resume does the run again,
// and reopened is true.
func (r *Record) checkCount(torn bool) (reopened bool, err error) {
	name := filepath.Join(r.Dir, runsFile)
	have := len(r.Runs)
	switch {
	case r.End == nil || have == r.End.Runs && !torn:
		return false, nil
	case torn && have == r.End.Runs-1:
		r.End = nil
		r.Warnings = append(r.Warnings,
			fmt.Sprintf(
				"%s: the torn line was the last run of an experiment that had ended, so it counts as not ended; resume it", name))
		return true, nil
	case torn:
		return false, fmt.Errorf(
			"%s: has %d whole lines and a torn one, and %s counts %d: lines were lost or added; take the file "+
				"from a copy", name, have, endFile, r.End.Runs)
	}
	return false, fmt.Errorf("%s: has %d lines, and %s counts %d: lines were lost or added; take the file from a copy",
		name,
		have, endFile, r.End.Runs)
}

// removeEnd takes back the end of an experiment whose last run was lost, before its
// torn line is cut off: afterwards, nothing would tell it from a file that was cut.
func removeEnd(f *folder) error {
	name := filepath.Join(f.Name(), endFile)
	if err := f.Remove(endFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove %s: %w", name, why(err))
	}
	if err := syncDir(f.Name()); err != nil {
		return fmt.Errorf("cannot record in %s: %w", f.Name(), why(err))
	}
	return nil
}

// noRoom is an error of a disk that is full.
type noRoom struct{ error }

func (e *noRoom) Unwrap() error { return e.error }

// advise adds what to do about a full disk. What is of no use is not promised: a
// record without runs is removed where its experiment fails.
func (s *Store) advise(err error) error {
	if len(s.record.Runs) == 0 {
		return advise(err)
	}
	if _, ok := errors.AsType[*noRoom](err); ok {
		return fmt.Errorf("%w; what was recorded is safe: make room, then resume", err)
	}
	return err
}

func advise(err error) error {
	if _, ok := errors.AsType[*noRoom](err); ok {
		return fmt.Errorf("%w; no run was recorded yet: make room, then try again", err)
	}
	return err
}
