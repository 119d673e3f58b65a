package trust

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"sync"
)

// TooLarge is the error of data that goes on past its limit.
type TooLarge struct{ Limit int64 } // bytes

func (t *TooLarge) Error() string {
	if t.Limit < 1<<20 {
		return fmt.Sprintf("larger than %d KiB, the most that is read of it", t.Limit>>10)
	}
	return fmt.Sprintf("larger than %d MiB, the most that is read of it", t.Limit>>20)
}

// Reader reads at most limit bytes of r. If more follow, the error is a *TooLarge.
func Reader(r io.Reader, limit int64) io.Reader { return &reader{r, limit, limit} }

type reader struct {
	r           io.Reader
	left, limit int64
}

func (b *reader) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, &TooLarge{b.limit}
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more, to see whether there is more
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, &TooLarge{b.limit}
	}
	return n, err
}

// Open opens a regular file to read. Errors: *fs.PathError.
func Open(name string) (*os.File, error) {
	f, err := OpenLinked(name)
	if no, is := errors.AsType[*Refused](err); is {
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("it " + no.Why)}
	}
	return f, err
}

// ReadFile reads a regular file of at most limit bytes, and nothing of a larger one: a FIFO would be waited for.
// Errors:
// *fs.PathError, which may hold a *TooLarge.
func ReadFile(name string, limit int64) ([]byte, error) {
	f, err := Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return File(f, limit)
}

// File is ReadFile of an open file.
func File(f *os.File, limit int64) ([]byte, error) {
	size := int64(0) // of pipes and files in /proc
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if size = info.Size(); size > limit {
			return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: &TooLarge{limit}}
		}
	}
	// One piece, since io.ReadAll's growth takes three times the size.
	out := make([]byte, 0, size+512)
	in := Reader(f, limit)
	for {
		n, err := in.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch err.(type) { //nolint:errorlint // as reader gives it
		case nil:
		case *TooLarge:
			return nil, &fs.PathError{Op: "read", Path: f.Name(), Err: err}
		default:
			if err == io.EOF { //nolint:errorlint // as io.Reader gives it
				return out, nil
			}
			return out, err
		}
		if len(out) == cap(out) {
			out = append(out, 0)[:len(out)]
		}
	}
}

// Ends keeps the first and the last Keep bytes of what is written to it, so that a flood
// fills neither memory nor disk. It may be used by several at once.
type Ends struct {
	Keep int

	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	at    int    // where the ring goes on
	total int64
}

// Write implements io.Writer. It never fails.
func (e *Ends) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(p)
	e.total += int64(n)
	fill := func(to *[]byte) {
		k := min(e.Keep-len(*to), len(p))
		*to, p = append(*to, p[:k]...), p[k:]
	}
	fill(&e.head)
	p = p[max(0, len(p)-e.Keep):]
	fill(&e.tail)
	for len(p) > 0 {
		k := copy(e.tail[e.at:], p)
		e.at = (e.at + k) % len(e.tail)
		p = p[k:]
	}
	return n, nil
}

// Kept returns what was kept so far.
func (e *Ends) Kept() Kept {
	e.mu.Lock()
	defer e.mu.Unlock()
	head, tail := slices.Clone(e.head), slices.Concat(e.tail[e.at:], e.tail[:e.at])
	if e.total > int64(len(head)+len(tail)) {
		return Kept{[][]byte{head, tail}, e.total}
	}
	return Kept{[][]byte{append(head, tail...)}, e.total}
}

// Kept is what was kept.
type Kept struct {
	Parts [][]byte // all of it, or its beginning and its end
	Total int64    // bytes that were written
}

// Cut reports whether a part is missing.
func (k Kept) Cut() bool { return len(k.Parts) > 1 }

// Bytes is what was kept in one piece, with a mark where the rest was.
func (k Kept) Bytes() []byte {
	if !k.Cut() {
		return k.Parts[0]
	}
	gap := k.Total - int64(len(k.Parts[0])+len(k.Parts[1]))
	return slices.Concat(k.Parts[0], fmt.Appendf(nil, "\n[%d bytes left out]\n", gap), k.Parts[1])
}
