package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"hostlab/internal/result"
)

// inOrder reports a line of runs.jsonl that is not where it was written.
func inOrder(r *result.Run, line int) error {
	if r.Seq == line {
		return nil
	}
	return fmt.Errorf("has run %d where run %d should be (seq): lines were lost, added or moved; take the file from a copy", r.Seq, line)
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
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: the torn line was the last run of an experiment that had ended, so it counts as not ended; resume it", name))
		return true, nil
	case torn:
		return false, fmt.Errorf("%s: has %d whole lines and a torn one, and %s counts %d: lines were lost or added; take the file from a copy", name, have, endFile, r.End.Runs)
	}
	return false, fmt.Errorf("%s: has %d lines, and %s counts %d: lines were lost or added; take the file from a copy", name, have, endFile, r.End.Runs)
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
