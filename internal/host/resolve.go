package host

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"hostlab/internal/trust"
)

// maxLinks is the kernel's own limit for links in one path (MAXSYMLINKS).
const maxLinks = 40

// view is a file system as one process sees it: a database in a container has
// other mounts than hostlab, and another root.
type view struct {
	t      Tree
	root   string // prefix of each path: "" for our own, else /proc/PID/root
	mounts string // the process's mountinfo
}

// viewOf splits a path like /proc/123/root/var/lib/mysql into the view of that
// process and the path in it. Any other path is in our own view.
func viewOf(t Tree, p string) (view, string) {
	if pid, rest, ok := strings.Cut(strings.TrimPrefix(p, "/proc/"), "/root"); ok && strings.HasPrefix(p, "/proc/") &&
		isNumber(pid) && (rest == "" || rest[0] == '/') {
		return view{t, "/proc/" + pid + "/root", "/proc/" + pid + "/mountinfo"}, path.Clean("/" + rest)
	}
	return view{t, "", selfMounts}, path.Clean("/" + p)
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// resolve follows all links of an absolute path. It walks by itself, since the
// absolute links of a recording, and of another process's root, do not start at
// our root.
//
// In a recording, which does not hold the files themselves, what is missing is
// taken as a plain directory. On the machine itself it is fs.ErrNotExist.
func (v view) resolve(p string) (string, error) {
	todo := strings.Split(path.Clean("/"+p), "/")
	done := "/"
	for links := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			done = path.Dir(done)
			continue
		}
		next := path.Join(done, name)
		mode, err := v.t.lstat(v.root + next)
		v.t.noted(v.root+next, note{})
		switch {
		case err != nil && StateOf(err) == StateAbsent && !v.t.Live():
		case err != nil:
			return "", &fs.PathError{Op: "resolve", Path: next, Err: trust.Bare(err)}
		case mode&fs.ModeSymlink != 0:
			target, err := v.t.readlink(v.root + next)
			if err != nil {
				return "", &fs.PathError{Op: "resolve", Path: next, Err: trust.Bare(err)}
			}
			if links++; links > maxLinks {
				return "", &fs.PathError{Op: "resolve", Path: p, Err: syscall.ELOOP}
			}
			if path.IsAbs(target) {
				done = "/"
			}
			todo = append(strings.Split(target, "/"), todo...)
			continue
		case !mode.IsDir() && len(todo) > 0:
			if !v.t.Live() { // a recorded directory that could not be read
				if _, err := v.t.Read(v.root + next); err != nil {
					return "", err
				}
			}
			return "", &fs.PathError{Op: "resolve", Path: next, Err: syscall.ENOTDIR}
		}
		done = next
	}
	return done, nil
}

func readLink(t Tree, p string) (string, error) {
	target, err := t.readlink(p)
	t.noted(p, note{})
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: p, Err: trust.Bare(err)}
	}
	return target, nil
}

// readPath returns where a link to a path of the machine leads. Unpacking a
// recording makes absolute links relative, so that they stay below its root.
func readPath(t Tree, p string) (string, error) {
	target, err := readLink(t, p)
	if err == nil && !t.Live() && !path.IsAbs(target) && strings.Contains(target, "/") {
		target = path.Join(path.Dir(p), target)
	}
	return target, err
}

// What is not below these can be said to be missing from the machine only while
// they are there themselves. A container that puts an empty file system over
// one of them hides settings that every kernel has, and "absent" would clear
// them. The outer ones come first.
var mountRoots = []string{"/proc", "/proc/sys", "/sys", cpuDir}

// masked is the error of a file that is not there because nothing is.
type masked string

func (m masked) Error() string { return string(m) + " is missing or masked" }

// masked returns the reason why a file that is not there may exist nevertheless,
// or nil.
func (t Tree) masked(path string) error {
	if t.Foreign() {
		return nil
	}
	for _, root := range mountRoots {
		below, is := strings.CutPrefix(path, root+"/")
		if !is {
			continue
		}
		hidden := t.hides(root)
		// The option subset=pid of procfs (Linux 5.8) leaves nothing but processes.
		if first, _, _ := strings.Cut(below, "/"); hidden == all || hidden == others && !isProcess(first) {
			return masked(root)
		}
	}
	return nil
}

// What a root of mounts hides: nothing, all, or what is no process.
const (
	nothing = iota
	others
	all
)

func (t Tree) hides(root string) (hidden int) {
	if t.at != nil {
		if known, ok := t.at.hidden.Load(root); ok {
			return known.(int)
		}
		defer func() { t.at.hidden.Store(root, hidden) }()
	}
	names, err := t.list(root)
	switch {
	case len(names) == 0 && (err == nil || StateOf(err) == StateAbsent):
		return all
	case root == "/proc" && err == nil && !slices.ContainsFunc(names, func(n string) bool { return !isProcess(n) }):
		return others
	}
	return nothing
}

func isProcess(name string) bool { return name == "self" || name == "thread-self" || isNumber(name) }
