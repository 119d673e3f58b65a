package ring

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/klauspost/compress/zstd"

	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// Span is the time that a ring tells of.
type Span struct{ First, Last time.Time } // when its first and its last document began

// Is reports whether a directory holds a ring.
func Is(dir string) bool {
	root, err := trust.Directory(dir)
	if err != nil {
		return false
	}
	defer root.Close()
	list, err := files(root)
	return err == nil && len(list) > 0
}

// Read hands over the documents that began from a moment on and before another, in the order in which they were
// written, and says how many lines were damaged. Others may have written the ring, so that its documents are to be read
// as a stranger's. An error of each ends it.
func Read(dir string, from, to time.Time, each func(at time.Time, document []byte) error) (damaged int, err error) {
	root, err := trust.Directory(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	list, err := files(root)
	if err != nil {
		return 0, err
	}
	if len(list) == 0 {
		return 0, fmt.Errorf("%s holds no ring; 'hostlab watch --service NAME --ring 2d' keeps one", screen.Word(dir))
	}
	list = slices.DeleteFunc(list, func(f file) bool { return !f.began.Before(to) || !f.began.Add(f.lasts).After(from) })
	hours := map[time.Time]time.Duration{}
	for _, f := range list {
		hours[f.began] = f.lasts
	}
	left := int64(0)
	for _, lasts := range hours {
		left += mostHour * int64(lasts/time.Hour)
	}
	var stopped error
	for _, f := range list {
		n, err := read(root, f, func(at time.Time, document []byte) error {
			if left -= int64(len(document)); left < 0 {
				stopped = fmt.Errorf("%s has more in an hour than a ring keeps", screen.Word(dir))
			} else if !at.Before(from) && at.Before(to) {
				stopped = each(at, document)
			}
			return stopped
		})
		if damaged += n; stopped != nil {
			return damaged, stopped
		}
		if err != nil { // it was forgotten meanwhile, or is no file of a ring
			damaged++
		}
	}
	return damaged, nil
}

// mostHour is what an hour may have when it is unpacked, B; ours have ten.
const mostHour = 64 << 20

// SpanOf is what a ring tells of.
func SpanOf(dir string) (s Span, err error) {
	root, err := trust.Directory(dir)
	if err != nil {
		return s, err
	}
	defer root.Close()
	list, err := files(root)
	if err != nil {
		return s, err
	}
	if s.First, _, err = ends(root, list); err == nil {
		slices.Reverse(list)
		_, s.Last, err = ends(root, list)
	}
	return s, err
}

// ends are the first and the last moment in the first file that has any.
func ends(root *os.Root, list []file) (first, last time.Time, err error) {
	for _, f := range list {
		_, err := read(root, f, func(at time.Time, _ []byte) error {
			if first.IsZero() || at.Before(first) {
				first = at
			}
			if at.After(last) {
				last = at
			}
			return nil
		})
		if err != nil || !last.IsZero() {
			return first, last, err
		}
	}
	return first, last, nil
}

// read hands over the lines of one file. The last one may be under way.
func read(dir *os.Root, f file, each func(at time.Time, document []byte) error) (damaged int, err error) {
	in, err := trust.OpenFile(dir, f.name(), os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) && !f.packed { // it was packed meanwhile
		f.packed = true
		in, err = trust.OpenFile(dir, f.name(), os.O_RDONLY, 0)
	}
	if err != nil {
		return 0, err
	}
	defer in.Close()
	var text io.Reader = in
	if f.packed {
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(mostFile))
		if err != nil {
			return 0, err
		}
		defer z.Close()
		text = z
	}
	lines := bufio.NewReaderSize(io.LimitReader(text, mostFile), mostLine)
	for {
		line, err := lines.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) { // no line of ours is as long
			for damaged++; errors.Is(err, bufio.ErrBufferFull); {
				_, err = lines.ReadSlice('\n')
			}
			if err == nil {
				continue
			}
		}
		if err != nil { // it ends, within a line or behind one, or cannot be read on
			if err != io.EOF || len(line) > 0 && f.packed {
				damaged++
			}
			return damaged, nil
		}
		at, document, ok := parse(line[:len(line)-1])
		if !ok {
			damaged++
			continue
		}
		if err := each(at, document); err != nil {
			return damaged, err
		}
	}
}

// parse is a line's moment and document, if its sum is right.
func parse(line []byte) (at time.Time, document []byte, ok bool) {
	sum, rest, ok := bytes.Cut(line, []byte(" "))
	if !ok {
		return at, nil, false
	}
	if string(sum) != fmt.Sprintf("%08x", crc32.Checksum(rest, sums)) {
		return at, nil, false
	}
	ms, document, ok := bytes.Cut(rest, []byte(" "))
	n, err := strconv.ParseInt(string(ms), 10, 64)
	return time.UnixMilli(n), document, ok && err == nil
}
