package store

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"hostlab/internal/lockfile"
	"hostlab/internal/result"
)

// Registry is a directory that names the records whose changes may be in force: a file each, called by the
// experiment's ID, with the record's directory in it. What was not put back is found there after a power cut.
type Registry string

// Registered is a record that a Registry names.
type Registered struct{ ID, Dir string }

const maxRegistered = 4 << 10 // bytes: PATH_MAX

// alone is the lock of the one experiment that may change something.
const alone = ".running"

// Lock keeps a second experiment of this user away until the lock is released. The error may be a *lockfile.Busy.
func (r Registry) Lock(work string) (*lockfile.Lock, error) {
	f, err := r.made()
	if err != nil {
		return nil, err
	}
	return lockfile.Take(f.Root, alone, work)
}

// made opens the directory, which is made where it is not there.
func (r Registry) made() (*folder, error) {
	if _, err := makeDir(string(r)); err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", r, why(err))
	}
	return openFolder(string(r), true)
}

// Locked reports the process that has the lock, 0 where it has not said.
func (r Registry) Locked() (pid int, held bool) {
	f, err := openFolder(string(r), false)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	return lockfile.Holder(f.Root, alone)
}

// Add names a record, durably, before anything is changed.
func (r Registry) Add(e Registered) error {
	at, err := filepath.Abs(e.Dir)
	if err != nil {
		return err
	}
	f, err := r.made()
	if err != nil {
		return err
	}
	defer f.Close()
	return f.writeWhole(e.ID, []byte(at+"\n"))
}

// Remove takes a record out, of which nothing is changed any more. One that is not there is none.
func (r Registry) Remove(id string) error {
	f, err := openFolder(string(r), true)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Remove(id); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("cannot remove %s: %w", filepath.Join(string(r), id), why(err))
	}
	return syncDir(f.Name())
}

// List returns what is registered, in the order of the directories. To run commands of the records (ours), one that
// another user has written, or could write, is refused.
func (r Registry) List(ours bool) (list []Registered, err error) {
	f, err := openFolder(string(r), ours)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := fs.ReadDir(f.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, why(err))
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") { // not complete when its writer was killed
			continue
		}
		b, err := f.read(e.Name(), maxRegistered)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Join(string(r), e.Name()), why(err))
		}
		dir := strings.TrimSuffix(string(b), "\n")
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("%s names no directory", filepath.Join(string(r), e.Name()))
		}
		list = append(list, Registered{ID: e.Name(), Dir: dir})
	}
	slices.SortStableFunc(list, func(a, b Registered) int { return strings.Compare(a.Dir, b.Dir) })
	return list, nil
}

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
