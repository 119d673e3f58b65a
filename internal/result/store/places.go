package store

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"syscall"

	"hostlab/internal/result"
)

// places is what was recorded at each place: the highest attempt, negative once
// one was OK.
type places map[result.At]int

const settled = math.MinInt

// add checks a run against the plan and takes it in.
func (ps places) add(r *result.Run, x *result.Experiment) error {
	p := r.At()
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
			ps[o.At()] = o.Attempt
		}
	}
}

// remove takes out a run that add took in.
func (ps places) remove(r *result.Run) {
	if r.Status == result.WarmUp {
		return
	}
	ps[r.At()] = r.Attempt - 1
}

// fits checks that the plan has the run's cell at its place, and that an OK run
// says of every response what it was.
func fits(r *result.Run, x *result.Experiment) error {
	p := r.At()
	if !x.Plans(r) {
		return fmt.Errorf("%s of cell %d is not in the plan", p, r.Cell)
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

// checkCount compares runs.jsonl with what ended.json counts, which tells a file that was cut. All of its lines were on
// the disk before ended.json was made, so that no crash tears one afterwards.
func (r *Record) checkCount() error {
	if r.End == nil || len(r.Runs) == r.End.Runs {
		return nil
	}
	return fmt.Errorf(
		"%s: has %d whole lines, and %s counts %d: lines were lost or added; take the file from a copy",
		filepath.Join(r.Dir, runsFile), len(r.Runs), endFile, r.End.Runs)
}

// advise adds what to do about a full disk. What is of no use is not promised: a
// record without runs is removed where its experiment fails.
func (s *Store) advise(err error) error { return advise(err, len(s.record.Runs)) }

func advise(err error, runs int) error {
	switch full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG); {
	case !full:
		return err
	case runs == 0:
		return fmt.Errorf("%w; no run was recorded yet: make room, then try again", err)
	}
	return fmt.Errorf("%w; what was recorded is safe: make room, then resume", err)
}
