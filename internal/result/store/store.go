// Package store keeps the record of one experiment in a directory of its own, so
// that no power cut, kill or full disk loses a run that was reported as recorded.
//
//	experiment.json  the head, written once, whole or not at all
//	study.toml       the study file's bytes
//	runs.jsonl       one result.Run a line, appended and fsynced as each ends
//	levels.jsonl     the journal of levels that were changed, see Entry
//	ended.json       why it is over; not there while it can be resumed
//	lock             held by the hostlab that runs it, with its process ID
//	output/          what commands printed that failed
//
// All but the two .jsonl files are written beside their place and renamed into
// it. Those two only grow: what a crash can damage is the last line, and a last
// line that is torn was never acknowledged to anybody.
package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hostlab/internal/result"
)

// The names of the files of a record.
const (
	headFile   = "experiment.json"
	studyFile  = "study.toml"
	runsFile   = "runs.jsonl"
	levelsFile = "levels.jsonl"
	endFile    = "ended.json"
	lockFile   = "lock"
	outputDir  = "output"
)

// ErrNone is in the error of Open and Load for a directory that holds no record.
var ErrNone = errors.New("holds no experiment")

// ErrExists is in the error of Create for a directory that holds one already.
var ErrExists = errors.New("holds an experiment already")

// Store is a record that is open for appending, and locked. Its methods may not
// be called at the same time.
type Store struct {
	record *Record
	lock   *lock
	runs   *log
	levels *log
	places places
}

// Create makes the record of a new experiment in dir, which is made too, and locks
// it. A directory that holds anything but the leftovers of a Create that was
// killed is refused. Nothing is left behind when it fails.
func Create(dir string, x *result.Experiment, study []byte) (s *Store, err error) {
	made, err := makeDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", dir, why(err))
	}
	defer func() {
		if err != nil && made != "" {
			os.RemoveAll(made)
		}
	}()
	if err := vacant(dir); err != nil {
		return nil, err
	}
	l, err := takeLock(dir)
	if err != nil {
		made = ""
		return nil, err
	}
	if err := vacant(dir); err != nil { // another was quicker; its files stay
		l.release()
		made = ""
		return nil, err
	}
	defer func() {
		if err != nil {
			l.release()
			for _, name := range []string{lockFile, studyFile, headFile, runsFile, levelsFile} {
				os.Remove(filepath.Join(dir, name))
			}
		}
	}()
	head, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("cannot record the experiment: %w", err)
	}
	if err := writeWhole(dir, studyFile, study); err != nil {
		return nil, err
	}
	// The head comes last: with it, there is a record.
	if err := writeWhole(dir, headFile, append(head, '\n')); err != nil {
		return nil, err
	}
	if err := syncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("cannot record %s: %w", dir, why(err))
	}
	return open(dir, l)
}

// Open locks a record and opens it for appending. A torn last line of runs.jsonl
// or levels.jsonl is cut off, with a warning; all other damage is an error that
// names file and line.
func Open(dir string) (*Store, error) {
	if err := present(dir); err != nil {
		return nil, err
	}
	l, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	s, err := open(dir, l)
	if err != nil {
		l.release()
		return nil, err
	}
	return s, nil
}

func open(dir string, l *lock) (s *Store, err error) {
	loaded, err := load(dir)
	if err != nil {
		return nil, err
	}
	s = &Store{record: loaded.record, lock: l, places: loaded.places}
	defer func() {
		if err != nil {
			s.closeLogs() //nolint:errcheck // the first error tells more
		}
	}()
	if s.runs, err = openLog(dir, runsFile, loaded.runsSize); err != nil {
		return nil, err
	}
	if s.levels, err = openLog(dir, levelsFile, loaded.levelsSize); err != nil {
		return nil, err
	}
	if err := syncDir(dir); err != nil {
		return nil, fmt.Errorf("cannot record in %s: %w", dir, why(err))
	}
	return s, nil
}

// Record returns what was recorded so far. It grows with Append, Journal and End;
// callers must not change it.
func (s *Store) Record() *Record { return s.record }

// Append records a run. When it returns nil the run is on the disk; when it
// returns an error the run is not recorded, and what was recorded before is whole.
// A run that the plan does not have at its place, or whose place has an OK run
// already, is an error too.
func (s *Store) Append(r result.Run) error {
	if err := s.places.add(&r, s.record.Experiment); err != nil {
		return fmt.Errorf("cannot record a run in %s: %w", s.record.Dir, err)
	}
	if err := s.runs.append(r, true); err != nil {
		s.places.remove(&r)
		return err
	}
	s.record.Runs = append(s.record.Runs, r)
	return nil
}

// End records why the experiment is over.
func (s *Store) End(e result.End) error {
	data, err := json.MarshalIndent(e, "", "  ")
	if err != nil {
		return fmt.Errorf("cannot record the end: %w", err)
	}
	if err := writeWhole(s.record.Dir, endFile, append(data, '\n')); err != nil {
		return err
	}
	s.record.End = &e
	return nil
}

// Output returns the directory for what failing commands printed; it is made when
// first asked for.
func (s *Store) Output() (string, error) {
	dir := filepath.Join(s.record.Dir, outputDir)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cannot make %s: %w", dir, why(err))
	}
	return dir, nil
}

// Discard closes a record and removes it: for one in which nothing was recorded, so
// that its directory can be used again. Files of others stay.
func (s *Store) Discard() error {
	dir := s.record.Dir
	// The head goes first: without it, there is no record.
	for _, name := range []string{headFile, studyFile, runsFile, levelsFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(fmt.Errorf("cannot remove %s: %w", filepath.Join(dir, name), why(err)), s.Close())
		}
	}
	err := s.Close()
	os.Remove(filepath.Join(dir, lockFile))
	os.Remove(dir) // if nothing else is in it
	return err
}

// Close gives the lock back. It may be called again.
func (s *Store) Close() error {
	err := s.closeLogs()
	s.lock.release()
	return err
}

func (s *Store) closeLogs() error {
	var errs []error
	for _, l := range []*log{s.runs, s.levels} {
		if l != nil {
			errs = append(errs, l.close())
		}
	}
	return errors.Join(errs...)
}

// present reports a directory without a record.
func present(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", dir, why(err))
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	switch _, err := os.Stat(filepath.Join(dir, headFile)); {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s %w (there is no %s in it)", dir, ErrNone, headFile)
	case err != nil:
		return fmt.Errorf("%s: %w", filepath.Join(dir, headFile), why(err))
	}
	return nil
}

// vacant reports a directory that holds more than an interrupted Create leaves.
func vacant(dir string) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", dir, why(err))
	}
	leftovers := []string{lockFile, studyFile, temporary(studyFile), temporary(headFile)}
	other := ""
	for _, e := range list {
		if e.Name() == headFile {
			return fmt.Errorf("%s %w; resume it, or name another directory", dir, ErrExists)
		}
		if other == "" && !slices.Contains(leftovers, e.Name()) {
			other = e.Name()
		}
	}
	if other != "" {
		return fmt.Errorf("%s is not empty: it holds %s; name a new directory", dir, other)
	}
	return nil
}

// makeDir makes dir and its parents, durably. It returns the topmost one that was
// not there, "" if dir was.
func makeDir(dir string) (made string, err error) {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return "", errors.New("there is a file of that name")
		}
		return "", nil
	}
	var missing []string
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, d := range missing {
		if err := syncDir(filepath.Dir(d)); err != nil {
			return missing[len(missing)-1], err
		}
	}
	return missing[len(missing)-1], nil
}
