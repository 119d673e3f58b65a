package host

import (
	"io/fs"
	"path"
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
