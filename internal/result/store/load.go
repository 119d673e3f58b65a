package store

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"hostlab/internal/lockfile"
	"hostlab/internal/result"
)

// The largest files of a record that are read. 100,000 runs have some 60 MB, and take up to
// three times that in memory.
const (
	maxStudy = 1 << 20
	maxHead  = 16 << 20 // in memory ten times that, if it is made for it
	// Of a head, since an object or a list takes two bytes there, and hundreds in memory.
	maxObjects = 100_000
	maxLists   = 1_000_000
	maxLines   = 128 << 20
	maxRuns    = 400_000 // lines
	maxLine    = 1 << 20
	maxHeld    = 200 << 20 // what the values of all lines take in memory
)

// Record is all that a directory holds of an experiment.
type Record struct {
	Dir        string
	Experiment *result.Experiment
	Study      []byte // study.toml
	Runs       []result.Run
	End        *result.End // nil: it can be resumed
	Journal    []Entry
	Warnings   []string
}

// Load reads a record without locking it, so that a running experiment can be
// reported on. A torn last line is dropped, with a warning unless it is being written
// just now; all other damage is an error that names file and line.
func Load(dir string) (*Record, error) { return loadAs(dir, false) }

// LoadToRun is Load of a record of which commands will be run: one that another user has
// written, or could write, is refused.
func LoadToRun(dir string) (*Record, error) { return loadAs(dir, true) }

func loadAs(dir string, ours bool) (*Record, error) {
	f, err := openFolder(dir, ours)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.present(); err != nil {
		return nil, err
	}
	l, err := load(f)
	if err != nil {
		return nil, err
	}
	// Where a hostlab is at work, the line is being written.
	if len(l.record.Warnings) > 0 && lockfile.Held(f.Root, LockFile) {
		l.record.Warnings = nil
	}
	return l.record, nil
}

// Latest is the directory below dir in which an experiment was begun last; "": none is there.
func Latest(dir string) (newest string) {
	heads, _ := filepath.Glob(filepath.Join(dir, "*", headFile)) // which fails for a bad pattern alone
	var last time.Time
	for _, head := range heads {
		if info, err := os.Lstat(head); err == nil && info.ModTime().After(last) {
			newest, last = filepath.Dir(head), info.ModTime()
		}
	}
	return newest
}

// loaded is a record with where its logs end.
type loaded struct {
	record               *Record
	places               places
	runsSize, levelsSize int64
}

func load(f *folder) (*loaded, error) {
	dir := f.Name()
	r := &Record{Dir: dir}
	out := &loaded{record: r, places: places{}}
	if err := readJSON(f, headFile, &r.Experiment); err != nil {
		var other struct{ Schema int }
		if readJSON(f, headFile, &other) == nil && other.Schema != result.SchemaVersion {
			return nil, checkHead(filepath.Join(dir, headFile), &result.Experiment{Schema: other.Schema})
		}
		return nil, err
	}
	if err := checkHead(filepath.Join(dir, headFile), r.Experiment); err != nil {
		return nil, err
	}
	var err error
	if r.Study, err = f.read(studyFile, maxStudy); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, studyFile), why(err))
	}
	if err := readJSON(f, endFile, &r.End); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if r.Runs, out.runsSize, err = readLines[result.Run](f, r, runsFile, "the run is to be done again"); err != nil {
		return nil, err
	}
	for i := range r.Runs {
		if err := cmp.Or(out.places.add(&r.Runs[i], r.Experiment), inOrder(&r.Runs[i], i)); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Join(dir, runsFile), i+1, err)
		}
		out.places.withdraw(r.Runs[:i], &r.Runs[i])
	}
	if r.Journal, out.levelsSize, err = readLines[Entry](f, r, levelsFile,
		"what it was to announce had not happened yet"); err != nil {
		return nil, err
	}
	for i := range r.Journal {
		if err := r.Journal[i].check(); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", filepath.Join(dir, levelsFile), i+1, err)
		}
	}
	// It is made before anything is written to the journal.
	if _, err := f.Lstat(runsFile); errors.Is(err, fs.ErrNotExist) && (r.End != nil || len(r.Journal) > 0) {
		return nil, fmt.Errorf("%s is missing, though the experiment had begun: its runs are lost unless there is a copy",
			filepath.Join(dir, runsFile))
	}
	return out, r.checkCount()
}

// checkHead reports a head that analyses could not index safely.
func checkHead(name string, x *result.Experiment) error {
	switch {
	case x == nil:
		return fmt.Errorf("%s: is null, not an experiment", name)
	case x.Schema != result.SchemaVersion:
		return fmt.Errorf("%s: has schema %d; this hostlab reads schema %d", name, x.Schema, result.SchemaVersion)
	}
	for b := range x.Blocks {
		for _, plot := range x.Blocks[b].Plots {
			for _, cell := range plot {
				if cell < 0 || cell >= len(x.Cells) {
					return fmt.Errorf("%s: block %d has cell %d of %d", name, b, cell, len(x.Cells))
				}
			}
		}
	}
	return nil
}

// readJSON reads a file that holds one value.
func readJSON(f *folder, name string, v any) error {
	data, err := f.read(name, maxHead)
	name = filepath.Join(f.Name(), name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, why(err))
	}
	if objects, lists := bytes.Count(data, []byte("{")), bytes.Count(data, []byte("[")); objects > maxObjects ||
		lists > maxLists {
		return fmt.Errorf("%s: holds %d objects and %d lists; at most %d and %d are read", name, objects, lists, maxObjects,
			maxLists)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if err = d.Decode(v); err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something follows the end")
		}
	}
	if err != nil {
		line := 1 + bytes.Count(data[:min(offset(err, d.InputOffset(), len(data)), int64(len(data)))], []byte("\n"))
		return fmt.Errorf("%s:%d: damaged: %s", name, line, brief(err))
	}
	return nil
}

// offset returns where in a file an error of encoding/json lies.
func offset(err error, here int64, size int) int64 {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return int64(size)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return max(0, e.Offset-1)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return max(0, e.Offset-1)
	}
	return here
}

// brief returns an error of encoding/json in a few words.
func brief(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return err.Error()
}

// readLines reads a file of JSON lines, none if there is no file. size is where
// its last whole line ends.
func readLines[T any](f *folder, r *Record, name, torn string) (out []T, size int64, err error) {
	data, err := f.read(name, maxLines)
	name = filepath.Join(f.Name(), name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", name, why(err))
	}
	whole := wholeLines(data)
	if n := bytes.Count(data, []byte("\n")); n > maxRuns {
		return nil, 0, fmt.Errorf("%s: holds %d lines; at most %d are read", name, n, maxRuns)
	}
	if held(data) > maxHeld {
		return nil, 0, fmt.Errorf("%s: its lines hold more values than fit in %d MiB of memory, the most that is kept", name,
			maxHeld>>20)
	}
	lines := bytes.SplitAfter(data[:whole], []byte("\n"))
	lines = lines[:len(lines)-1] // the empty one behind the last line's end
	if whole < len(data) {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%s:%d: the last line is torn, as a power cut or a full disk leaves it; dropped: %s",
				name, len(lines)+1, torn))
	}
	out = make([]T, len(lines))
	for i, line := range lines {
		if len(line) > maxLine {
			return nil, 0, fmt.Errorf("%s:%d: the line is longer than %d MiB, the most that is read of one", name, i+1,
				maxLine>>20)
		}
		if err := json.Unmarshal(line, &out[i]); err != nil {
			return nil, 0, fmt.Errorf("%s:%d: damaged: %s", name, i+1, brief(err))
		}
	}
	return out, int64(whole), nil
}

// wholeLines returns where the last whole line ends. A line is whole with its line
// end; one that also holds zero bytes, which JSON never does, had its end written
// before its beginning when the power went.
func wholeLines(data []byte) int {
	end := bytes.LastIndexByte(data, '\n') + 1
	if end == 0 {
		return 0
	}
	start := bytes.LastIndexByte(data[:end-1], '\n') + 1
	if end == len(data) && bytes.IndexByte(data[start:end], 0) >= 0 {
		return start
	}
	return end
}

// held is about what decoded lines take in memory: a name of two bytes is forty there, an entry or an event fifty, and a
// number in a list eight.
func held(data []byte) int {
	return 20*bytes.Count(data, []byte(`"`)) + 50*bytes.Count(data, []byte("{")) + 8*bytes.Count(data, []byte(","))
}
