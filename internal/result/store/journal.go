package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/trust"
)

// Op is what an entry of the journal says.
type Op string

// The entries of the journal. Started and Stopped frame a session; one that was
// killed has no Stopped. Original precedes the first change of a factor, Restored
// follows when it is back. Pending is a level that needs a reboot or a person. Struck follows
// when harm to a live service has brought the baseline back.
const (
	Started  Op = "started"
	Stopped  Op = "stopped"
	Original Op = "original"
	Restored Op = "restored"
	Pending  Op = "pending"
	Struck   Op = "struck"
)

// Entry is a line of levels.jsonl.
type Entry struct {
	Op     Op        `json:"op"`
	At     time.Time `json:"at"`
	Boot   string    `json:"boot,omitempty"` // ID of the boot it was written under
	PID    int       `json:"pid,omitempty"`
	Window string    `json:"window,omitempty"` // of a Started: the hours in which a live experiment may run
	// Watched is, of a Started, the database of this host that a live experiment watches and changes.
	Watched string `json:"watched,omitempty"`
	Factor  string `json:"factor,omitempty"`
	// Value is what the factor read before its first change, or the level that is
	// pending. Unread is set where there is no way to read it.
	Value  string `json:"value,omitempty"`
	Unread bool   `json:"unread,omitempty"`
	// Disk is what the server's file of its own changes had of a parameter; nil: nothing.
	Disk *string `json:"disk,omitempty"`
	// Of is the server whose parameter it is.
	Of    string `json:"of,omitempty"`
	Block int    `json:"block,omitempty"` // of a pending level, with its plot
	Plot  int    `json:"plot,omitempty"`
	// Applied is set once the command that brings a pending level about ended well.
	Applied bool `json:"applied,omitempty"`
}

// Journal adds an entry, durably.
func (s *Store) Journal(e Entry) error {
	if err := s.levels.append(e); err != nil {
		return s.advise(err)
	}
	s.record.Journal = append(s.record.Journal, e)
	return nil
}

// Changed returns the factors whose levels were changed and not put back, in the
// order of their first change: the Original entry of each.
func (r *Record) Changed() []Entry { return r.open(Original, Restored) }

// Waiting returns the levels that wait for a reboot or a person: the last Pending
// entry of each factor, if nothing but Started and Stopped follows it.
func (r *Record) Waiting() []Entry { return r.open(Pending, Original, Restored) }

// open returns the last entry of a kind for each factor, if none that ends it follows.
func (r *Record) open(kind Op, ends ...Op) (list []Entry) {
	for _, e := range r.Journal {
		if e.Op == kind || slices.Contains(ends, e.Op) {
			list = slices.DeleteFunc(list, func(old Entry) bool { return old.Factor == e.Factor })
		}
		if e.Op == kind {
			list = append(list, e)
		}
	}
	return list
}

// Window is that of the last session, "" for always.
func (r *Record) Window() (text string) {
	for _, e := range r.Journal {
		if e.Op == Started {
			text = e.Window
		}
	}
	return text
}

// Watched is the database of this host that is watched, "" where none was found by its directory.
func (r *Record) Watched() (text string) {
	for _, e := range r.Journal {
		if e.Op == Started && e.Watched != "" {
			text = e.Watched
		}
	}
	return text
}

// LastRestored returns the newest Restored entry of a factor, nil if there is none.
func (r *Record) LastRestored(factor string) *Entry {
	for i := len(r.Journal) - 1; i >= 0; i-- {
		if e := &r.Journal[i]; e.Op == Restored && e.Factor == factor {
			return e
		}
	}
	return nil
}

// Spent returns how long sessions took in all, pauses between them not counted. One
// that was killed lasted until its last run ended, or its last change was announced.
// Restored does not extend it: what puts back what it left does that later.
func (r *Record) Spent() time.Duration {
	var all time.Duration
	var began, last time.Time
	i := 0
	through := func(until time.Time) { // runs that started before until
		for ; i < len(r.Runs) && (until.IsZero() || r.Runs[i].Start.Before(until)); i++ {
			last = later(last, r.Runs[i].Start.Add(time.Duration(r.Runs[i].Seconds*float64(time.Second))))
		}
	}
	finish := func() {
		if !began.IsZero() && last.After(began) {
			all += last.Sub(began)
		}
		began = time.Time{}
	}
	for _, e := range r.Journal {
		switch e.Op {
		case Started:
			through(e.At)
			finish()
			began, last = e.At, e.At
		case Stopped:
			through(e.At)
			last = later(last, e.At)
			finish()
		case Original, Pending, Struck:
			last = later(last, e.At)
		case Restored:
		}
	}
	through(time.Time{})
	finish()
	return all
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// check reports an entry that no hostlab writes.
func (e *Entry) check() error {
	switch e.Op {
	case Started, Stopped:
		return nil
	case Original, Restored, Pending, Struck:
		if e.Factor == "" {
			return fmt.Errorf("%q names no factor", e.Op)
		}
		return nil
	}
	return fmt.Errorf("unknown entry %q", e.Op)
}

// log is a file that only grows, a line at a time.
type log struct {
	name string
	f    *os.File
	size int64 // of whole lines
	bad  bool  // what follows size could not be cut off
}

// openLog opens a file for appending and cuts it to its whole lines.
func (d *folder) openLog(name string, size int64) (*log, error) {
	f, err := d.open(name, os.O_RDWR|os.O_CREATE)
	name = filepath.Join(d.Name(), name)
	if err != nil {
		return nil, fmt.Errorf("cannot write %s: %w", name, why(err))
	}
	l := &log{name: name, f: f, size: size}
	if err := l.cut(); err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// cut removes what follows the last whole line.
func (l *log) cut() error {
	l.bad = true
	info, err := l.f.Stat()
	if err == nil && info.Size() != l.size {
		if err = l.f.Truncate(l.size); err == nil {
			err = l.f.Sync()
		}
	}
	if err == nil {
		_, err = l.f.Seek(l.size, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", l.name, why(err))
	}
	l.bad = false
	return nil
}

// append adds one line, durable when it returns nil. After an error the file is as
// before, or is cut before the next line is added.
func (l *log) append(v any) error {
	if l.bad {
		if err := l.cut(); err != nil {
			return err
		}
	}
	line, err := result.RecordJSON(v)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", l.name, err)
	}
	// One write: a kill comes before or after it, so only a power cut or a full disk
	// can tear the line.
	line = append(line, '\n')
	_, err = l.f.Write(line)
	if err == nil {
		err = l.f.Sync()
	}
	if err != nil {
		err = fmt.Errorf("cannot write %s: %w", l.name, why(err))
		if cut := l.cut(); cut != nil {
			return fmt.Errorf("%w (nor cut it back to its %d bytes)", err, l.size)
		}
		return err
	}
	l.size += int64(len(line))
	return nil
}

func (l *log) close() error {
	if err := l.f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("%s: %w", l.name, why(err))
	}
	return nil
}

// writeWhole writes a file whole or not at all, durably.
func (d *folder) writeWhole(name string, data []byte) (err error) {
	tmp := temporary(name)
	defer func() {
		if err != nil {
			_ = d.Remove(tmp)
			err = fmt.Errorf("cannot write %s: %w", filepath.Join(d.Name(), name), why(err))
		}
	}()
	f, err := d.open(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := d.Rename(tmp, name); err != nil {
		return err
	}
	return syncDir(d.Name())
}

func temporary(name string) string { return "." + name + ".new" }

// why is trust.Bare, also of what is refused.
func why(err error) error {
	if r, ok := errors.AsType[*trust.Refused](err); ok {
		return errors.New(r.Why)
	}
	return trust.Bare(err)
}
