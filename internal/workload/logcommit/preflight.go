package logcommit

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"hostlab/internal/host"
)

// DirError is a directory that cannot be committed to: the user's to mend. Its
// text is one line that says what, where and what to do.
type DirError struct {
	Dir     string
	Problem string // what is wrong with it
	Remedy  string // what to do
	Err     error  // the cause, if the kernel gave one
}

func (e *DirError) Error() string {
	return fmt.Sprintf("log directory %s: %s: %s", e.Dir, e.Problem, e.Remedy)
}

func (e *DirError) Unwrap() error { return e.Err }

const elsewhere = "name another with --log-dir"

// Preflight reports why dir cannot be committed to, as a *DirError, or nil. s is
// what is known of its storage; what is not known there is asked of the kernel.
// need is how many bytes must be free. It writes nothing.
func Preflight(s host.Storage, dir string, need int64) error {
	return preflight(s, dir, need, system)
}

// kernel is what Preflight asks of the operating system.
type kernel struct {
	stat     func(dir string) (fs.FileInfo, error)
	writable func(dir string) error
	complete func(s host.Storage, dir string) host.Storage // fills what s does not know
}

func preflight(s host.Storage, dir string, need int64, k kernel) error {
	fail := func(problem, remedy string, err error) error {
		return &DirError{Dir: dir, Problem: problem, Remedy: remedy, Err: err}
	}
	if dir == "" {
		return fail("no name was given", elsewhere, nil)
	}
	info, err := k.stat(dir)
	switch {
	case err != nil:
		return dirError(dir, err)
	case !info.IsDir():
		return fail("not a directory", "name the directory, not a file in it", nil)
	}
	s = k.complete(s, dir)
	fsType := s.FSType.Or("")
	if host.Pseudo(fsType) || fsType == "devtmpfs" || fsType == "hugetlbfs" { // memory, but for other things than files
		return fail("on "+fsType+", which the kernel makes up and which holds no files", elsewhere, nil)
	}
	// A commit there is a message to another machine, or to the hypervisor's host:
	// its latency says nothing about a log device of this one. virtiofs is taken,
	// since guests have it for their disk.
	if name := host.Shared(fsType); name != "" && fsType != "virtiofs" || s.NetworkFS() {
		return fail(fmt.Sprintf("on %s (%s)", cmp.Or(name, "a network file system"), cmp.Or(fsType, "type unknown")),
			"name a directory on a local device with --log-dir", nil)
	}
	if s.ReadOnly.Or(false) {
		return dirError(dir, syscall.EROFS)
	}
	if err := k.writable(dir); err != nil {
		return dirError(dir, err)
	}
	if free, ok := s.FreeBytes.Get(); ok && free < need {
		return fail(fmt.Sprintf("%s free, %s needed", mib(free), mib(need)), "make room or "+elsewhere, syscall.ENOSPC)
	}
	return nil
}

// dirError puts an error of the file system into plain words. An error that it
// does not know keeps the kernel's.
func dirError(dir string, err error) error {
	e := &DirError{Dir: dir, Remedy: elsewhere, Err: err}
	if plain, ok := errors.AsType[*DirError](err); ok {
		return plain
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, host.ErrNoAnswer):
		e.Problem, e.Remedy = "the file system does not answer", "see whether its server is up, or "+elsewhere
	case errors.Is(err, fs.ErrNotExist):
		e.Problem, e.Remedy = "does not exist", "create it or "+elsewhere
	case errors.Is(err, syscall.ENOTDIR):
		e.Problem, e.Remedy = "not a directory", "name the directory, not a file in it"
	case errors.Is(err, syscall.EROFS):
		e.Problem = "the file system is mounted read-only"
	case errors.Is(err, syscall.ENOSPC):
		e.Problem, e.Remedy = "the file system is full", "make room or "+elsewhere
	case errors.Is(err, syscall.EDQUOT):
		e.Problem, e.Remedy = "the disk quota is used up", "make room or "+elsewhere
	case errors.Is(err, fs.ErrPermission):
		e.Problem, e.Remedy = "not writable by this user"+whoAmI(), "run as the user who owns it or "+elsewhere
	case errors.Is(err, syscall.EIO):
		e.Problem, e.Remedy = "the device reported an error ("+bare(err)+")", "look into the kernel's log, then "+elsewhere
	default:
		e.Problem = bare(err)
	}
	return e
}

// bare is the text without a path: DirError names the directory, and the file in
// it is gone by the time that anybody reads this.
func bare(err error) string {
	text := err.Error()
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		text = strings.ReplaceAll(text, pe.Error(), pe.Op+": "+pe.Err.Error())
	}
	return text
}

func whoAmI() string {
	if uid := os.Geteuid(); uid >= 0 {
		return fmt.Sprintf(" (uid %d)", uid)
	}
	return ""
}

func mib(n int64) string {
	if n < 10<<20 {
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
