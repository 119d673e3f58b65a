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
// The first two and ended.json are written beside their place and renamed into it.
// The two .jsonl files only grow: what a crash can damage is the last line, and a
// last line that is torn was never acknowledged to anybody. lock and
// output/ are not needed to read a record.
package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"hostlab/internal/lockfile"
	"hostlab/internal/result"
	"hostlab/internal/trust"
)

// LockFile is the file of a record whose lock its session holds.
const LockFile = "lock"

// The names of the other files of a record.
const (
	headFile   = "experiment.json"
	studyFile  = "study.toml"
	runsFile   = "runs.jsonl"
	levelsFile = "levels.jsonl"
	endFile    = "ended.json"
	outputDir  = "output"
)

// created is what Create makes, and ofRecord what a record's directory may hold, the head first.
var (
	created  = []string{headFile, studyFile, runsFile, levelsFile}
	ofRecord = append(slices.Clip(created), endFile, temporary(endFile), outputDir, WorkDir)
)

// WorkDir is where workloads keep files of their own while the experiment runs.
const WorkDir = "work"

// ErrNone is in the error of Open and Load for a directory that holds no record.
var ErrNone = errors.New("holds no experiment")

// ErrExists is in the error of Create for a directory that holds one already.
var ErrExists = errors.New("holds an experiment already")

// Store is a record that is open for appending, and locked. Its methods may not
// be called at the same time.
type Store struct {
	record *Record
	dir    *folder
	lock   *lockfile.Lock
	runs   *log
	levels *log
	places places
}

// Create makes the record of a new experiment in dir, which is made too, and locks
// it. A directory that holds anything but the leftovers of a Create that was
// killed, or a record of which no run counts, is refused. Nothing is left behind when it fails.
func Create(dir string, x *result.Experiment, study []byte) (s *Store, err error) {
	made, err := makeDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", dir, why(err))
	}
	defer func() {
		if err != nil {
			for _, d := range made {
				os.Remove(d) // not if another has put something there meanwhile
			}
		}
	}()
	f, err := openFolder(dir, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := f.vacant(); err != nil {
		return nil, err
	}
	l, err := f.lock()
	if err != nil {
		return nil, err
	}
	if err := f.vacant(); err != nil { // another was quicker; its files stay
		l.Release()
		return nil, err
	}
	anew := f.present() == nil
	if err := f.clear(ofRecord); err != nil {
		l.Release()
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.clear(created)
			l.Remove()
		}
	}()
	head, err := result.RecordJSON(x, result.Indented)
	if err != nil {
		return nil, fmt.Errorf("cannot record the experiment: %w", err)
	}
	if err := f.writeWhole(studyFile, study); err != nil {
		return nil, advise(err, 0)
	}
	// The head comes last: with it, there is a record.
	if err := f.writeWhole(headFile, append(head, '\n')); err != nil {
		return nil, advise(err, 0)
	}
	if err := syncDir(filepath.Dir(filepath.Clean(dir))); err != nil {
		return nil, fmt.Errorf("cannot record %s: %w", dir, why(err))
	}
	if s, err = open(f, l); err == nil && anew {
		s.record.Warnings = append(s.record.Warnings,
			"no run of the experiment that was in "+dir+" counted; this one takes its place")
	}
	return s, err
}

// clear removes files of a record.
func (f *folder) clear(names []string) error {
	// The head goes first: without it, there is no record.
	for _, name := range names {
		if err := f.RemoveAll(name); err != nil {
			return fmt.Errorf("cannot remove %s: %w", filepath.Join(f.Name(), name), why(err))
		}
	}
	return nil
}

// vacant reports a directory that holds more than an interrupted Create leaves. A record of which no run counts, and
// which has nothing changed, is in nobody's way: what failed is mended, and begun anew.
func (f *folder) vacant() error {
	list, err := fs.ReadDir(f.FS(), ".")
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", f.Name(), why(err))
	}
	leftovers := []string{LockFile, studyFile, temporary(studyFile), temporary(headFile)}
	if f.present() == nil {
		if l, err := load(f); err != nil || l.record.counts() {
			return fmt.Errorf("%s %w; resume it, or name another directory", f.Name(), ErrExists)
		}
		leftovers = append(leftovers, ofRecord...)
	}
	for _, e := range list {
		if !slices.Contains(leftovers, e.Name()) {
			return fmt.Errorf("%s is not empty: it holds %s; name a new directory", f.Name(), e.Name())
		}
	}
	return nil
}

// counts reports a record that something can be learnt from, or put back by.
func (r *Record) counts() bool {
	return slices.ContainsFunc(r.Runs, func(run result.Run) bool { return run.Status == result.OK }) || r.End != nil ||
		r.Experiment.Design.Kind == result.Switchback || len(r.Changed())+len(r.Waiting()) > 0
}

// Open locks a record and opens it for appending. A torn last line of runs.jsonl
// or levels.jsonl is cut off, with a warning; all other damage is an error that
// names file and line. A record of which another user has written, or could write, any
// file is refused.
func Open(dir string) (s *Store, err error) {
	f, err := openFolder(dir, true)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	if err := f.present(); err != nil {
		return nil, err
	}
	l, err := f.lock()
	if err != nil {
		return nil, err
	}
	if s, err = open(f, l); err != nil {
		l.Release()
	}
	return s, err
}

func open(f *folder, l *lockfile.Lock) (_ *Store, err error) {
	loaded, err := load(f)
	if err != nil {
		return nil, err
	}
	s := &Store{record: loaded.record, dir: f, lock: l, places: loaded.places}
	defer func() {
		if err != nil {
			s.closeLogs() //nolint:errcheck // the first error tells more
		}
	}()
	if s.runs, err = f.openLog(runsFile, loaded.runsSize); err != nil {
		return nil, err
	}
	if s.levels, err = f.openLog(levelsFile, loaded.levelsSize); err != nil {
		return nil, err
	}
	if err := syncDir(f.Name()); err != nil {
		return nil, fmt.Errorf("cannot record in %s: %w", f.Name(), why(err))
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
	r.Seq = len(s.record.Runs)
	if err := s.runs.append(r); err != nil {
		s.places.remove(&r)
		return s.advise(err)
	}
	s.places.withdraw(s.record.Runs, &r)
	s.record.Runs = append(s.record.Runs, r)
	return nil
}

// End records why the experiment is over, with the number of its runs.
func (s *Store) End(e result.End) error {
	e.Runs = len(s.record.Runs)
	data, err := result.RecordJSON(e, result.Indented)
	if err != nil {
		return fmt.Errorf("cannot record the end: %w", err)
	}
	if err := s.dir.writeWhole(endFile, append(data, '\n')); err != nil {
		return s.advise(err)
	}
	s.record.End = &e
	return nil
}

// Root is the record's directory, held open until the record is closed: what is worked on
// through it stays in it, also where its path comes to lead elsewhere.
func (s *Store) Root() *os.Root { return s.dir.Root }

// Output opens the directory for what failing commands printed; it is made when
// first asked for.
func (s *Store) Output() (*os.Root, error) {
	if err := s.dir.Mkdir(outputDir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("cannot make %s: %w", filepath.Join(s.record.Dir, outputDir), why(err))
	}
	return trust.Below(s.dir.Root, outputDir)
}

// Discard closes a record and removes it: for one in which nothing was recorded, so
// that its directory can be used again. Files of others stay.
func (s *Store) Discard() error {
	if err := s.dir.clear(created); err != nil {
		return errors.Join(err, s.Close())
	}
	err := s.closeLogs()
	s.lock.Remove()
	s.dir.Close()
	os.Remove(s.record.Dir) // if nothing else is in it
	return err
}

// Close gives the lock back. It may be called again.
func (s *Store) Close() error {
	err := s.closeLogs()
	s.lock.Release()
	s.dir.Close()
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

// Vacant reports why Create would not make a record in dir.
func Vacant(dir string) error {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", dir, why(err))
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	f, err := openFolder(dir, true)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.vacant()
}

// makeDir makes dir and its parents, durably. It returns those that were not there,
// the deepest first.
func makeDir(dir string) (missing []string, err error) {
	if info, err := os.Stat(dir); err == nil {
		if !info.IsDir() {
			return nil, errors.New("there is a file of that name")
		}
		return nil, nil
	}
	for d := filepath.Clean(dir); ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		}
		missing = append(missing, d)
	}
	if err := trust.MkdirAll(dir, 0o755); err != nil {
		return missing, err
	}
	for _, d := range missing {
		if err := syncDir(filepath.Dir(d)); err != nil {
			return missing, err
		}
	}
	return missing, nil
}
