package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/tools/txtar"
)

// Record writes what facts are read from as a txtar archive, from which ExtractArchive makes
// a tree that they read like the machine itself. It collects the facts, and takes what was
// read for them: no list says what that is. Other readers of the tree may be added. Paths are
// those whose storage will be asked about, and the comment is the archive's head: which
// machine, when, how. Nothing is executed and nothing is written but w. It fails if ctx ends,
// a path is not absolute or cannot be written as a member's name, or w fails; never because of
// the machine.
//
// Members are sorted by path and named without a leading slash:
//
//	proc/cpuinfo               content, always ending in a newline
//	sys/block/vda -> ../x      a symbolic link; absolute targets made relative
//	sys/devices/x/             an empty directory
//	.hostlab/statx/mnt/.attr   "dax=1 inherit=0 free=123456 readonly=0", free in B
//
// A file that is there but could not be read holds "!errno EACCES" or another
// name of errno(3). /proc/self is a directory, not a link to a process number.
// Device nodes become empty files. A line that would read as a txtar header is
// indented by one space, which facts do not see since they trim white space.
//
// Private data stays out. What no fact needs is not read, or the reader says what of it is
// kept (Tree.keeping). UUIDs, container ids, MAC and IP addresses, server names, the host's
// own name, builders' names in kernel versions, arguments of init, and passwords in a
// server's arguments are replaced (see recordMask). What remains, such as mount
// points, deserves a look before a recording is given away.
func Record(ctx context.Context, t Tree, comment string, paths []string, w io.Writer, others ...func(Tree)) error {
	var asked []PathQuery
	for _, p := range paths {
		if abs, err := filepath.Abs(p); t.Live() && err == nil {
			p = abs
		}
		if !path.IsAbs(p) || !nameable(p) {
			return fmt.Errorf("path %q: a recording needs an absolute path without line breaks and \" -> \"", p)
		}
		asked = append(asked, PathQuery{Path: path.Clean(p)})
	}
	n := &notes{of: map[string]note{}, made: map[string]member{}}
	noting := t
	noting.notes = n
	Collect(ctx, Options{Tree: noting, Paths: asked})
	for _, read := range others {
		read(noting)
	}
	t, end := t.begin(ctx)
	defer end()
	n.add(func() { n.closed = true })
	r := &recorder{t: t, members: n.made}
	for p, what := range n.of {
		if ctx.Err() == nil {
			r.take(p, what)
		}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	_, err := w.Write(txtar.Format(r.archive(comment)))
	return err
}

type member struct {
	data []byte
	link string // target, if it is a link
	dir  bool
}

// notes are what was read of a tree.
type notes struct {
	mu     sync.Mutex
	of     map[string]note
	made   map[string]member // what the machine tells otherwise than by files
	closed bool              // a file system may answer after all, when nobody waits for it any more
}

type note struct {
	content bool                // or its name alone
	links   bool                // of a directory
	keep    func([]byte) []byte // what of the content is kept; nil: all
}

// add changes the notes of a tree, if it has any.
func (n *notes) add(change func()) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.closed {
		change()
	}
}

// noted tells what was read.
func (t Tree) noted(p string, what note) {
	t.notes.add(func() {
		old := t.notes.of[path.Clean(p)]
		if old.keep != nil {
			what.keep = old.keep
		}
		t.notes.of[path.Clean(p)] = note{what.content || old.content, what.links || old.links, what.keep}
	})
}

// stated adds a file to a recording that holds what the machine tells by a call.
func (t Tree) stated(p, text string) {
	if text != "" {
		t.notes.add(func() { t.notes.made[p] = member{data: []byte(text)} })
	}
}

// quiet is the tree for reading what shall not be recorded.
func (t Tree) quiet() Tree {
	t.notes = nil
	return t
}

// keeping is the tree for reading files of which only a part is recorded.
func (t Tree) keeping(keep func([]byte) []byte) Tree {
	t.keep = keep
	return t
}

type recorder struct {
	t       Tree
	members map[string]member
	dirs    sync.Map // on the way of earlier paths: no links, and not asked about again
}

// take takes a path. On the machine itself it does not wait for a file system that does not
// answer, on which a link may end.
func (r *recorder) take(p string, what note) {
	found, err := inTime(func() (map[string]member, error) {
		found := map[string]member{}
		r.walk(found, p, what, 0)
		return found, nil
	})
	if err != nil {
		return
	}
	for p, m := range found {
		if old, known := r.members[p]; !known || old.data == nil && m.data != nil { // a name may be of a content
			r.members[p] = m
		}
	}
}

// walk finds what a path needs: the links on the way, and what it is itself.
func (r *recorder) walk(found map[string]member, p string, what note, links int) {
	dir := "/"
	for rest := components(p); len(rest) > 0; rest = rest[1:] {
		at := path.Join(dir, rest[0])
		if _, seen := r.dirs.Load(at); seen && len(rest) > 1 {
			dir = at
			continue
		}
		mode, err := r.t.lstat(at)
		switch {
		case StateOf(err) == StateAbsent:
			return
		case StateOf(err) == StateDenied: // which may not be entered
			found[dir] = member{data: failed(err)}
			return
		case err != nil:
			found[path.Join(append([]string{dir}, rest...)...)] = member{data: failed(err)}
			return
		case strings.HasPrefix(at, "/proc/") && asDirectory(at):
		case mode&fs.ModeSymlink != 0:
			target, err := r.t.readlink(at)
			if err != nil || links == maxLinks {
				return
			}
			real := path.Join(dir, target)
			if path.IsAbs(target) {
				root := processRoot(dir)
				real = root + target
				target = relativeLink(strings.TrimPrefix(dir, root), target)
			}
			found[at] = member{link: target}
			r.walk(found, path.Join(append([]string{real}, rest[1:]...)...), what, links+1)
			return
		case mode.IsDir():
			r.dirs.Store(at, true)
		case len(rest) == 1:
			r.file(found, at, mode, what)
			return
		default: // a file where a directory was expected
			return
		}
		dir = at
	}
	found[dir] = member{dir: true}
	if names, err := r.t.list(dir); what.links && err == nil {
		for _, name := range names {
			if mode, err := r.t.lstat(path.Join(dir, name)); err == nil && mode&fs.ModeSymlink != 0 {
				r.walk(found, path.Join(dir, name), note{}, links)
			}
		}
	} else if what.links {
		found[dir] = member{data: failed(err)}
	}
}

func (r *recorder) file(found map[string]member, p string, mode fs.FileMode, what note) {
	if !what.content {
		found[p] = member{}
		return
	}
	if !mode.IsRegular() {
		return
	}
	var data []byte
	// Not Tree.Read: of a recording, failures are copied as they are.
	err := r.t.read(p, maxFile+1, func(b []byte) error { data = bytes.Clone(b); return nil })
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone since it was read
		return
	case errors.Is(err, errTooLarge):
		data = failed(syscall.EFBIG)
	case err != nil:
		data = failed(err)
	case r.t.Live() && bytes.HasPrefix(data, []byte(errnoMark)):
		data = append([]byte(" "), data...) // text that is no failure
	}
	if what.keep != nil && marked(data) == nil {
		if data = what.keep(data); len(data) == 0 {
			return
		}
	}
	data = bytes.TrimRight(data, "\x00") // device-tree strings, arguments
	texts := []string{"cmdline", "compatible", "environ"}
	if bytes.IndexByte(data, 0) >= 0 && !slices.Contains(texts, path.Base(p)) { // binary
		return
	}
	found[p] = member{data: append([]byte{}, data...)}
}

// failed is the content of a file that could not be read: the mark that Tree.Read
// takes for the same failure.
func failed(err error) []byte {
	name := "EIO"
	for n, marked := range markedErrors {
		if no, ok := errors.AsType[syscall.Errno](marked); ok && errors.Is(err, no) {
			name = n
		}
	}
	if errors.Is(err, fs.ErrPermission) { // EPERM and EACCES are one state
		name = "EACCES"
	}
	return []byte(errnoMark + name)
}

func (r *recorder) archive(comment string) *txtar.Archive {
	paths := slices.Collect(maps.Keys(r.members))
	SortNatural(paths)
	m := newRecordMask(r.t, wordsOf(paths))
	inner := map[string]bool{} // directories that other members make
	for _, p := range paths {
		for d := path.Dir(p); d != "/" && !inner[d]; d = path.Dir(d) {
			inner[d] = true
		}
	}
	a := &txtar.Archive{Comment: inert([]byte(strings.TrimSpace(comment) + "\n\n"))}
	for _, p := range paths {
		e := r.members[p]
		name := strings.TrimPrefix(m.name(p), "/")
		switch {
		case name == "" || e.link == "" && inner[p] || !nameable(p) || strings.ContainsAny(e.link, "\n\r"):
			continue
		case e.dir:
			name += "/"
		case e.link != "":
			name += " -> " + m.target(p, e.link)
		}
		a.Files = append(a.Files, txtar.File{Name: name, Data: inert(m.content(p, e.data))})
	}
	return a
}

// nameable reports whether a path can be the name of a member.
func nameable(p string) bool {
	return !strings.ContainsAny(p, "\n\r") && !strings.Contains(p, " -> ")
}

// inert indents lines that would end a member of the archive.
func inert(data []byte) []byte {
	if n := len(data); n > 0 && data[n-1] != '\n' {
		data = append(data[:n:n], '\n') // before looking, since txtar would add it after
	}
	if len(txtar.Parse(data).Files) == 0 {
		return data
	}
	return bytes.ReplaceAll(append([]byte("\n"), data...), []byte("\n-- "), []byte("\n -- "))[1:]
}

// relativeLink turns an absolute link target into one that stays inside a recording.
func relativeLink(dir, target string) string {
	return strings.Repeat("../", len(components(dir))) + strings.TrimPrefix(path.Clean(target), "/")
}

// asDirectory says which links of /proc, which lead where no path does, are taken
// as the directory that they show.
func asDirectory(p string) bool {
	return p == "/proc/self" || processRoot(p) == p
}

// processRoot returns the /proc/PID/root that p lies in, or "".
func processRoot(p string) string {
	c := components(p)
	if len(c) < 3 || c[0] != "proc" || c[2] != "root" {
		return ""
	}
	return "/" + path.Join(c[:3]...)
}

func components(p string) []string {
	return strings.FieldsFunc(p, func(c rune) bool { return c == '/' })
}

// MostCPUs is twice the CPUs that a Linux kernel can have (CONFIG_NR_CPUS), with
// whatever else lies beside their directories.
const MostCPUs = 2 * 8192
