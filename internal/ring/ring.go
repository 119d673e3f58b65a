// Package ring keeps what was seen of a service for days, in files of an hour each. A file is only ever appended to,
// each of its lines carries a checksum, and it is read while it is written. After a kill or a power cut, the last line
// may be missing.
package ring

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"hostlab/internal/lockfile"
	"hostlab/internal/trust"
)

// The most that a line may have, a file when it is unpacked, and all files of a day, B.
const (
	mostLine = 1 << 20
	mostFile = 256 << 20
	mostDay  = 50 << 20
)

// Files are called by a number, which counts them in the order in which they were begun whatever the clock does, and by
// their hour in UTC. One that is complete is packed.
const (
	hourForm = "20060102T15"
	dayForm  = "20060102"
	open     = ".jsonl"
	packed   = ".jsonl.zst"
	lockName = "lock"
)

const day = 24 * time.Hour

// Longest is how long a ring keeps what comes every few seconds, at most.
const Longest = 60 * day

var sums = crc32.MakeTable(crc32.Castagnoli)

type file struct {
	number int
	began  time.Time
	lasts  time.Duration // an hour, or a day
	packed bool
}

func (f file) name() string {
	ending := open
	if f.packed {
		ending = packed
	}
	form := hourForm
	if f.lasts == day {
		form = dayForm
	}
	return fmt.Sprintf("%08d-%s%s", f.number, f.began.UTC().Format(form), ending)
}

// files are those of a directory, in the order in which they were begun. One that was packed, and not yet removed, is
// open.
func files(dir *os.Root) (list []file, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	slices.Sort(names) // a number's open file comes before its packed one
	for _, name := range names {
		f := file{packed: strings.HasSuffix(name, packed)}
		number, hour, ok := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, ".zst"), open), "-")
		var err1, err2 error
		f.number, err1 = strconv.Atoi(number)
		form := hourForm
		if f.lasts = time.Hour; len(hour) == len(dayForm) {
			form, f.lasts = dayForm, day
		}
		f.began, err2 = time.Parse(form, hour)
		if ok && err1 == nil && err2 == nil && f.name() == name {
			list = append(list, f)
		}
	}
	return slices.CompactFunc(list, func(a, b file) bool { return a.number == b.number }), nil
}

// Writer appends to a ring.
type Writer struct {
	dir   *os.Root
	lock  *lockfile.Lock
	each  time.Duration // of a file
	count int           // of files that are kept
	most  int64         // B that all files have
	next  int           // number of the next file
	at    file
	f     *os.File // nil: none is open
	size  int64    // of its whole lines
	added int64    // B since all files were last counted
}

// counted is after how many B all files are counted anew: at 50 MB a day, every seven minutes.
const counted = 256 << 10

// Open makes the directory of a ring where there is none, and packs what an earlier writer left. Others of hostlab
// cannot write to it meanwhile: *lockfile.Busy.
//
// Files are of an hour each, or, where something is kept for more than two months, of a day.
func Open(dir string, keep time.Duration) (*Writer, error) {
	if err := trust.AsRoot(filepath.Dir(filepath.Clean(dir))); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := trust.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := trust.Held(dir)
	if err != nil {
		return nil, err
	}
	if d, err := root.Open("."); err == nil { // nobody else is to write where root does
		err = trust.Ours(d)
		d.Close()
		if err != nil {
			root.Close()
			return nil, err
		}
	}
	w := &Writer{dir: root, each: time.Hour}
	if keep > Longest {
		w.each = day
	}
	w.count = int((keep+w.each-1)/w.each) + 1
	w.most = int64(w.count) * mostDay * int64(w.each/time.Hour) / 24
	if w.lock, err = lockfile.Take(root, lockName, "keeps a ring in "+dir+" already"); err != nil {
		root.Close()
		return nil, err
	}
	list, err := files(root)
	if err != nil {
		w.Close()
		return nil, err
	}
	for _, f := range list {
		w.next = max(w.next, f.number+1)
		if !f.packed {
			_ = w.pack(f) // it stays as it is where there is no room
		}
	}
	return w, nil
}

// Append adds a document of one line, and returns when it is on the disk. After an error the ring is as it was before,
// and the next one may succeed.
func (w *Writer) Append(at time.Time, document []byte) error {
	line := fmt.Appendf(nil, "%d ", at.UnixMilli())
	line = append(append(line, document...), '\n')
	if len(line) > mostLine || bytes.IndexByte(document, '\n') >= 0 {
		return fmt.Errorf("a document of %d B is no line of a ring", len(document))
	}
	line = append(fmt.Appendf(nil, "%08x ", crc32.Checksum(line[:len(line)-1], sums)), line...)
	began := at.UTC().Truncate(w.each)
	if w.f == nil || !began.Equal(w.at.began) || w.size > w.most/4 { // an hour with that much goes on in a second file
		if err := w.begin(began); err != nil {
			return err
		}
	}
	if w.added += int64(len(line)); w.added > counted {
		if err := w.forget(w.count); err != nil {
			return err
		}
	}
	_, err := w.f.Write(line)
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		if w.f.Truncate(w.size) != nil { // else half a line and the next one would be one
			w.end()
		}
		return err
	}
	w.size += int64(len(line))
	return nil
}

// begin ends the hour before and makes the file of the next.
func (w *Writer) begin(began time.Time) error {
	w.end()
	hours := w.count
	if !began.Equal(w.at.began) {
		hours-- // the new one is an hour, too
	}
	if err := w.forget(hours); err != nil {
		return err
	}
	at := file{number: w.next, began: began, lasts: w.each}
	f, err := w.dir.OpenFile(at.name(), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	w.f, w.at, w.size = f, at, 0
	w.next++
	return w.sync()
}

// sync has the names of files on the disk.
func (w *Writer) sync() error {
	d, err := w.dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// end closes the open file and packs it.
func (w *Writer) end() {
	if w.f != nil {
		w.f.Close()
		w.f = nil
		_ = w.pack(w.at) // it stays as it is where there is no room
	}
}

// pack puts the lines of a file into a packed one, which takes its place.
func (w *Writer) pack(f file) (err error) {
	from := f.name()
	in, err := trust.OpenFile(w.dir, from, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	f.packed = true
	const half = "packing"
	out, err := w.dir.OpenFile(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	z, err := zstd.NewWriter(out, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20)) // 3 MB, and 17 by default
	if err == nil {
		_, err = io.Copy(z, in)
		err = errors.Join(err, z.Close(), out.Sync())
	}
	if err = errors.Join(err, out.Close()); err != nil {
		_ = w.dir.Remove(half)
		return err
	}
	if err := w.dir.Rename(half, f.name()); err != nil {
		return err
	}
	return w.dir.Remove(from)
}

// forget removes the oldest files, as far as there are more hours than so many, or more bytes than a ring keeps. Hours
// are counted by their files, since a clock that was set wrong for a while must not end a ring. The open file stays.
func (w *Writer) forget(hours int) error {
	w.added = 0
	list, err := files(w.dir)
	if err != nil {
		return err
	}
	begun, size := map[time.Time]bool{}, int64(0)
	for _, f := range slices.Backward(list) {
		if info, err := w.dir.Lstat(f.name()); err == nil {
			size += info.Size()
		}
		begun[f.began] = true
		if len(begun) <= hours && size <= w.most || w.f != nil && f.number == w.at.number {
			continue
		}
		if err := w.dir.Remove(f.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close ends the ring. Its last file is packed when it is written to again.
func (w *Writer) Close() {
	if w.f != nil {
		w.f.Close()
	}
	w.lock.Release()
	w.dir.Close()
}
