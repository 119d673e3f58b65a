package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hostlab/internal/lockfile"
	"hostlab/internal/trust"
)

// Recorder appends samples to a file.
type Recorder struct {
	file     *os.File
	interval time.Duration
	info     func() Info
	head     Head
	buf      []byte
	wrote    int64
	ours     bool // nobody else records to it, so that it may be removed
}

// NotRecord is a file that is there already and is no record, or one of another host.
type NotRecord struct {
	File, Why string
}

func (e *NotRecord) Error() string { return fmt.Sprintf("%s: %s", e.File, e.Why) }

// OpenRecorder opens a file to append to. What is there must be a record of the same
// host; a last line that was cut off is removed. Another process that records to it
// is a *NotRecord too, and so is what is no regular file, or one that has a second name: that
// may be anywhere. An empty file that Close finds so is removed.
func OpenRecorder(name string, hostname string, interval time.Duration, info func() Info) (*Recorder, error) {
	dir, err := trust.Held(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := trust.OpenFile(dir, filepath.Base(name), os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if refused, ok := errors.AsType[*trust.Refused](err); ok {
		return nil, &NotRecord{name, refused.Why + "; name a file that can be appended to"}
	}
	if err != nil {
		return nil, err
	}
	r := &Recorder{file: f, interval: interval, info: info}
	if err := r.begin(name, hostname); err != nil {
		_ = r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Recorder) begin(name, hostname string) error {
	stat, err := r.file.Stat()
	if err != nil {
		return err
	}
	if ok, err := lockfile.Try(r.file, true); err != nil {
		return err
	} else if !ok {
		return &NotRecord{name, "another hostlab records to it; name another file, or end that one"}
	}
	if stat.Size() == 0 {
		r.ours = true
		return nil
	}
	first := make([]byte, min(stat.Size(), 1<<20))
	if _, err := r.file.ReadAt(first, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	line, _, whole := bytes.Cut(first, []byte{'\n'})
	var h Head
	switch {
	case json.Unmarshal(line, &h) != nil || h.Kind != Kind || !whole:
		return &NotRecord{name, "holds something else than a record of hostlab watch; name another file"}
	case h.Schema != Schema:
		return &NotRecord{name, fmt.Sprintf("is a record of schema %d, and this version writes %d; name another file",
			h.Schema,
			Schema)}
	case h.Host != hostname:
		return &NotRecord{name, fmt.Sprintf("is a record of host %q, and this is %q; name another file", h.Host, hostname)}
	}
	return r.mend(stat.Size())
}

// mend removes a last line without an end.
func (r *Recorder) mend(size int64) error {
	const most = 1 << 20
	tail := make([]byte, min(size, most))
	if _, err := r.file.ReadAt(tail, size-int64(len(tail))); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if cut := len(tail) - 1 - bytes.LastIndexByte(tail, '\n'); cut > 0 {
		return r.file.Truncate(size - int64(cut))
	}
	return nil
}

// Write appends a sample. Where CPUs have come or the machine has learnt of something
// else that is unknown, a head goes before it.
func (r *Recorder) Write(now Reading, s Sample) error {
	r.buf = r.buf[:0]
	h := NewHead(r.info(), now, r.interval)
	if !r.covers(h) {
		h.Started = s.At.Add(-time.Duration(s.Seconds * float64(time.Second))).UTC().Truncate(time.Second)
		r.head, r.buf = h, append(r.buf, HeadLine(h)...)
	}
	var err error
	if r.buf, err = AppendLine(r.buf, r.head, s); err != nil {
		return err
	}
	n, err := r.file.Write(r.buf)
	r.wrote += int64(n)
	return err
}

func (r *Recorder) covers(h Head) bool {
	if r.head.CPUs == nil || len(h.Unknown) != len(r.head.Unknown) {
		return false
	}
	for _, c := range h.CPUs {
		if _, ok := slices.BinarySearch(r.head.CPUs, c); !ok {
			return false
		}
	}
	return true
}

// Written is how many bytes were appended so far.
func (r *Recorder) Written() int64 { return r.wrote }

// Close ends the recording. A file without a sample, made for this, is removed.
func (r *Recorder) Close() error {
	var err error
	if stat, e := r.file.Stat(); e == nil && r.ours && stat.Size() == 0 {
		err = os.Remove(r.file.Name())
	}
	return errors.Join(err, r.file.Close())
}

// DaySize is about how large a day's record of so many CPUs becomes, in bytes: as a
// quiet machine and a busy one fill it.
func DaySize(cpus int, interval time.Duration) (quiet, busy float64) {
	lines := (24 * time.Hour).Seconds() / interval.Seconds()
	return lines * (140 + 0.5*float64(cpus)), lines * (160 + 11*float64(cpus))
}
