package host

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
)

const selfMounts = "/proc/self/mountinfo"

// mount is a line of mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	id, parent int
	dev        string // MAJ:MIN as stat gives it; 0:N has no block device of its own
	root       string // the directory of the file system that is mounted
	point      string
	opts       string // of this mount
	fsType     string
	source     string
	super      string // options of the file system
}

// mountTable is what one process has mounted. prometheus/procfs reads the same
// file, but gives up at the first line it does not understand, loses the order
// of the options, and leaves the octal escapes in the paths.
type mountTable struct {
	path   string
	mounts []mount
	err    error
}

func readMounts(t Tree, path string) mountTable {
	b, err := t.Read(path)
	if err != nil {
		return mountTable{path: path, err: err}
	}
	m := mountTable{path: path, mounts: parseMounts(string(b))}
	if len(m.mounts) == 0 {
		m.err = errors.New("no line in the form of mountinfo")
	}
	return m
}

// UserMounts returns where this process has file systems of a type that a user mounted, as
// FUSE tells it (fuse_show_options in fs/fuse/inode.c), by the numbers of the mounts.
func UserMounts(t Tree, fsType string, uid int) map[int]string {
	points := map[int]string{}
	for _, m := range readMounts(t, selfMounts).mounts {
		if id, _ := m.option("user_id"); m.fsType == fsType && id == strconv.Itoa(uid) {
			points[m.id] = m.point
		}
	}
	return points
}

func parseMounts(s string) []mount {
	var list []mount
	for line := range strings.Lines(s) {
		if m, ok := parseMount(strings.TrimSuffix(line, "\n")); ok {
			list = append(list, m)
		}
	}
	return list
}

// parseMount splits a line such as
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//
// in which any number of optional fields may stand before the hyphen.
func parseMount(line string) (mount, bool) {
	left, right, ok := strings.Cut(line, " - ")
	if !ok {
		return mount{}, false
	}
	l, r := strings.Split(left, " "), strings.SplitN(right, " ", 3)
	if len(l) < 6 || len(r) < 2 {
		return mount{}, false
	}
	id, err1 := strconv.Atoi(l[0])
	parent, err2 := strconv.Atoi(l[1])
	if err1 != nil || err2 != nil || !strings.HasPrefix(l[4], "/") {
		return mount{}, false
	}
	m := mount{
		id: id, parent: parent, dev: l[2], root: unescapeOctal(l[3]), point: unescapeOctal(l[4]),
		opts: l[5], fsType: r[0], source: unescapeOctal(r[1]),
	}
	if len(r) == 3 {
		m.super = r[2]
	}
	return m, true
}

// unescapeOctal undoes the kernel's mangling of blanks and backslashes (\040).
func unescapeOctal(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(v))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (m *mount) options() string {
	var out []string
	for _, o := range strings.Split(m.opts+","+m.super, ",") {
		if o != "" && !slices.Contains(out, o) {
			out = append(out, o)
		}
	}
	return strings.Join(out, ",")
}

// facts are what the table in a file says of the mount.
func (m *mount) facts(file string) Mounted {
	where := file + " " + m.point
	return Mounted{Known(m.point, "", file), Known(m.fsType, "", where), Known(m.options(), "", where)}
}

// option returns an option's value; the last one set counts.
func (m *mount) option(name string) (value string, set bool) {
	for _, o := range strings.Split(m.opts+","+m.super, ",") {
		if k, v, _ := strings.Cut(o, "="); k == name {
			value, set = v, true
		}
	}
	return unescapeOctal(value), set
}

// readOnly tells whether writes are refused: by the mount, or by the file system,
// as after an error with errors=remount-ro.
func (m *mount) readOnly() bool {
	_, ro := m.option("ro")
	return ro
}

// find returns the mount that a path lies on; nil if there is none. The path is
// absolute, clean and free of links.
//
// Neither the longest mount point nor the last line is the answer by itself: a
// later mount over /a hides an earlier one on /a/b. So this goes the kernel's
// way, from the root down, along mounts whose parent is the mount reached.
func (m mountTable) find(path string) *mount {
	cur := m.rootMount()
	if cur == nil {
		return m.longest(path)
	}
	for end := 0; ; {
		prefix := cmp.Or(path[:end], "/")
		for hops := 0; hops < len(m.mounts); hops++ { // mounts stacked on one point
			next := m.child(cur, prefix)
			if next == nil {
				break
			}
			cur = next
		}
		if end >= len(path) || path == "/" {
			return cur
		}
		next := strings.IndexByte(path[end+1:], '/')
		if next < 0 {
			end = len(path)
		} else {
			end += 1 + next
		}
	}
}

// place names a directory by its file system and where it is in that, which is
// the same in every mount namespace; "" if no mount holds it.
func (m mountTable) place(dir string) string {
	mnt := m.find(dir)
	if mnt == nil {
		return ""
	}
	return mnt.dev + " " + path.Join(mnt.root, strings.TrimPrefix(dir, mnt.point))
}

// rootMount returns the lowest mount on /. A process in a chroot may have none.
func (m mountTable) rootMount() *mount {
	for i := range m.mounts {
		c := &m.mounts[i]
		if c.point == "/" && (c.parent == c.id || !slices.ContainsFunc(m.mounts,
			func(o mount) bool { return o.id == c.parent })) {
			return c
		}
	}
	return nil
}

func (m mountTable) child(of *mount, point string) *mount {
	for i := len(m.mounts) - 1; i >= 0; i-- {
		if c := &m.mounts[i]; c.parent == of.id && c.id != of.id && c.point == point {
			return c
		}
	}
	return nil
}

// longest is what can be said without a root mount: the longest mount point that
// holds the path, the last line of several.
func (m mountTable) longest(path string) *mount {
	var best *mount
	for i := range m.mounts {
		c := &m.mounts[i]
		if within(path, c.point) && (best == nil || len(c.point) >= len(best.point)) {
			best = c
		}
	}
	return best
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	dir = strings.TrimSuffix(dir, "/")
	return path == dir || strings.HasPrefix(path, dir+"/")
}
