package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"syscall"

	"github.com/prometheus/procfs"
)

// absentFact is a fact of something that this machine does not have.
func absentFact[T any](source, why string) Fact[T] {
	return Fact[T]{Source: source, State: StateAbsent, Reason: why}
}

// withReason replaces the reason of a fact that is in a given state, so that the
// user reads what to do instead of an errno.
func withReason[T any](f Fact[T], st State, why string) Fact[T] {
	if f.State == st {
		f.Reason = why
	}
	return f
}

// firstKnown returns the first known fact. If none is known, it returns the
// first that is more than absent, since "denied" says more than "not there".
func firstKnown[T any](facts ...Fact[T]) Fact[T] {
	var best Fact[T]
	for i, f := range facts {
		if f.State == StateOK {
			return f
		}
		if i == 0 || (best.State == StateAbsent && f.State != StateAbsent) {
			best = f
		}
	}
	return best
}

// procFact reads what prometheus/procfs can parse. The library opens the file by
// itself, so a recording's must be a plain file, and failures that it holds as
// marks are looked for first.
func procFact[T any](t Tree, path string, parse func(procfs.FS) (T, error)) Fact[T] {
	if t.Foreign() {
		return Unknown[T](path, errForeign)
	}
	t.noted(path, note{content: true})
	if !t.Live() {
		if _, err := t.Read(path); err != nil {
			return Unknown[T](path, err)
		}
		if err := t.plain(path); err != nil {
			return Unknown[T](path, err)
		}
	}
	pfs, err := procfs.NewFS(t.Join("/proc"))
	if err != nil {
		return Unknown[T](path, stateOnly(err, "/proc is not mounted"))
	}
	v, err := parse(pfs)
	if err != nil {
		return Unknown[T](path, stateOnly(err, ""))
	}
	return Known(v, "", path)
}

// stateOnly keeps an error's state and drops the library's text around it, which
// would name the folder of a recording.
func stateOnly(err error, text string) error {
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist) && text != "":
		return fmt.Errorf("%s: %w", text, fs.ErrNotExist)
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, fs.ErrPermission):
		return fs.ErrPermission
	case errors.Is(err, fs.ErrNotExist):
		return fs.ErrNotExist
	}
	return errors.New("not in the form that Linux writes")
}

// plain reports why a recorded path is not a file in folders: a link, even one to
// a folder, would be followed out of the recording by who does not know its root,
// and a FIFO waited for.
func (t Tree) plain(file string) error {
	for p := file; p != "/" && p != "."; p = path.Dir(p) {
		mode, err := t.lstat(p)
		if err != nil {
			return err
		}
		if p == file && !mode.IsRegular() || p != file && !mode.IsDir() {
			return fmt.Errorf("%s is no plain file or folder", p)
		}
	}
	return nil
}

// readHead returns at most the first n bytes of a file. The kernel makes up
// /proc/cpuinfo while it is read, at some microseconds a CPU, so that not
// reading on matters on a large host.
func readHead(t Tree, path string, n int) ([]byte, error) {
	b, err := t.head(path, n)
	t.noted(path, note{content: true})
	if err == nil && !t.Live() {
		err = marked(b)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: t.explain(bare(err))}
	}
	return b, nil
}

// readUint reads an unsigned number, as those that may be 2^64-1 for "no limit".
func readUint(t Tree, path, unit string) Fact[uint64] {
	return Convert(t.Text(path), unit, func(s string) (uint64, error) {
		v, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("expected a whole number, found %s", clip(s))
		}
		return v, nil
	})
}
