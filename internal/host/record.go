package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"syscall"

	"hostlab/internal/bounded"

	"golang.org/x/tools/txtar"
)

// Record writes what facts and checks read from a machine as a txtar archive,
// from which ExtractArchive makes a tree that they read like the machine itself.
// It reads, as this user may, the files listed in recorded, the limits of its own
// cgroup and its ancestors, the links that mounted devices are named by, and the
// name and arguments of running database servers. Paths are those whose storage will be
// asked about, and the comment is the archive's head: which machine, when, how. Nothing is
// executed and nothing is written but w. It fails if ctx ends, a path is not absolute or
// cannot be written as a member's name, or w fails; never because of the machine.
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
// Private data stays out: environments but for the three variables that facts
// read, serial numbers, asset tags, DMI and
// machine UUIDs, WWIDs and what is in log and data files are not taken at all;
// UUIDs, container ids, MAC and IP addresses, server names, the host's own name,
// builders' names in kernel versions, arguments of init, and passwords in a
// server's arguments are replaced (see recordMask). What remains, such as mount
// points, deserves a look before a recording is given away.
func Record(ctx context.Context, t Tree, comment string, paths []string, w io.Writer) error {
	r := &recorder{ctx: ctx, t: t, members: map[string]member{}}
	servers := findServers(t)
	for _, s := range servers {
		for _, p := range s.folders() {
			r.statx(p)
		}
	}
	for _, p := range paths {
		if abs, err := filepath.Abs(p); t.Live() && err == nil {
			p = abs
		}
		if !path.IsAbs(p) || !nameable(p) {
			return fmt.Errorf("path %q: a recording needs an absolute path without line breaks and \" -> \"", p)
		}
		r.statx(path.Clean(p))
	}
	for _, p := range slices.Concat(recorded, ownFiles(reflect.TypeFor[Facts]())) {
		r.take("", p)
	}
	r.conf = true
	for _, p := range recordedConf {
		r.take("", p)
	}
	for _, s := range servers {
		for _, f := range s.confs() {
			r.take(f, "")
		}
	}
	r.conf = false
	for _, d := range cgroupDirs(t) {
		r.take(d, "{"+cgroup2Files+","+cgroup1Files+"}")
	}
	for _, d := range mountSources(t) {
		r.take(d, "")
	}
	for _, s := range servers {
		r.take(path.Dir(s.file("comm")), "{comm,cmdline,environ,stat,status,cgroup,mountinfo,ns/mnt}")
		r.named(s.file("cwd"))
		for _, f := range s.logs() {
			r.named(f)
		}
	}
	r.configHz()
	if t.Live() {
		r.members[pageSizeFile] = member{data: fmt.Append(nil, os.Getpagesize())}
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

type recorder struct {
	ctx     context.Context
	t       Tree
	members map[string]member
	names   bool // take files without their content
	conf    bool // take the lines of confLine only
}

// recordLinks is what Linux itself follows (MAXSYMLINKS, include/linux/namei.h).
const recordLinks = 40

// take takes what matches a pattern with alternatives below a literal path.
func (r *recorder) take(dir, pattern string) {
	for _, p := range alternatives(pattern) {
		r.walk("/", append(components(literal.Replace(dir)), components(p)...), strings.HasSuffix(p, "/"), 0)
	}
}

// literal quotes what path.Match would take for a pattern.
var literal = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// walk takes everything below dir, a real path, that the components in rest
// match. Links are recorded and followed; wantDir takes directories that match
// the last component.
func (r *recorder) walk(dir string, rest []string, wantDir bool, links int) {
	if r.ctx.Err() != nil {
		return
	}
	if len(rest) == 0 {
		if _, known := r.members[dir]; wantDir && !known {
			r.members[dir] = member{dir: true}
		}
		return
	}
	names := rest[:1]
	meta := strings.ContainsAny(rest[0], `*?[\`) // systemd's cgroups have backslashes in their names
	if meta {
		names = nil
		all, _ := r.t.Dir(dir) // what may not be listed cannot be recorded by pattern
		for _, n := range all {
			if ok, _ := path.Match(rest[0], n); ok {
				names = append(names, n)
			}
		}
	}
	for _, n := range names {
		p := path.Join(dir, n)
		fi, err := os.Lstat(r.t.Join(p))
		switch {
		case errors.Is(err, fs.ErrNotExist) || private(p):
		case err != nil: // a directory that may not be entered: say so of the file in it
			if whole := path.Join(append([]string{p}, rest[1:]...)...); !strings.ContainsAny(whole, "*?[") {
				r.members[whole] = member{data: failed(err)}
			}
		case strings.HasPrefix(p, "/proc/") && asDirectory(p):
			r.walk(p, rest[1:], wantDir, links)
		case fi.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(r.t.Join(p))
			if err != nil || links == recordLinks {
				continue
			}
			real := path.Join(dir, target)
			if path.IsAbs(target) {
				root := processRoot(dir)
				real = root + target
				target = relativeLink(strings.TrimPrefix(dir, root), target)
			}
			if _, known := r.members[p]; !known {
				r.members[p] = member{link: target}
				r.walk("/", components(real), true, links+1) // even an empty directory, so that the link leads there
			}
			if len(rest) > 1 {
				r.walk("/", append(components(real), rest[1:]...), wantDir, links+1)
			}
		case fi.IsDir():
			r.walk(p, rest[1:], wantDir, links)
		case len(rest) == 1:
			r.file(p, fi.Mode())
		}
	}
}

// recordLargest bounds one member: /proc/cpuinfo of 8192 CPUs is about 12 MB.
const recordLargest = 16 << 20

func (r *recorder) file(p string, mode fs.FileMode) {
	if r.names || mode&fs.ModeDevice != 0 {
		r.members[p] = member{}
		return
	}
	if !mode.IsRegular() {
		return
	}
	data, err := bounded.ReadFile(r.t.Join(p), recordLargest) // not Tree.Read: of a recording, failures are copied as they are
	switch {
	case errors.Is(err, fs.ErrNotExist): // gone since the directory was listed
		return
	case errors.As(err, new(*bounded.TooLarge)):
		data = failed(syscall.EFBIG)
	case err != nil:
		data = failed(err)
	case r.t.Live() && bytes.HasPrefix(data, []byte(errnoMark)):
		data = append([]byte(" "), data...) // text that is no failure
	}
	if r.conf && err == nil {
		data = bytes.Join(confLine.FindAll(data, -1), []byte("\n"))
	}
	base := path.Base(p)
	if err == nil {
		switch base {
		case "environ":
			if data = knownEnviron(data); len(data) == 0 {
				return
			}
		case "FACP":
			if data = makerOf(data); len(data) == 0 {
				return
			}
		}
	}
	data = bytes.TrimRight(data, "\x00") // device-tree strings, arguments
	switch {
	case bytes.IndexByte(data, 0) >= 0 && base != "cmdline" && base != "compatible" && base != "environ": // binary
		return
	case base == "chassis_asset_tag" && err == nil && !knownTags[string(bytes.TrimSpace(data))]:
		return
	}
	r.members[p] = member{data: data}
}

// statxLine asks the file system about a path; from a recording it repeats what
// was recorded.
func statxLine(t Tree, p string) (string, error) {
	if !t.Live() {
		b, err := t.Read(statxFile(p))
		return string(b), err
	}
	if _, err := os.Stat(p); err != nil {
		return "", err
	}
	return attributeLine(p), nil
}

// statx records the file system's answers about a path and takes the path itself.
func (r *recorder) statx(p string) {
	line, err := inTime(func() (string, error) { return statxLine(r.t, p) })
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case errors.Is(err, ErrNoAnswer):
		r.members[statxFile(p)] = member{data: failed(syscall.ETIMEDOUT)}
		return
	case err != nil:
		line = string(failed(err))
	}
	r.members[statxFile(p)] = member{data: []byte(line)}
	r.named(p)
	if real, err := (view{t: r.t}).resolve(p); err == nil && real != p { // readers ask for either
		r.statx(real)
	}
}

// named takes a path and the links on the way, but never what is in a file.
func (r *recorder) named(p string) {
	r.names = true
	r.walk("/", components(literal.Replace(p)), true, 0)
	r.names = false
}

// statxFile is where the answers about a path lie in a recording. The path is a
// directory there, since one that was asked about may lie below another.
func statxFile(p string) string { return path.Join("/.hostlab/statx", p, ".attr") }

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
	m := newRecordMask(r.t)
	paths := make([]string, 0, len(r.members))
	for p := range r.members {
		paths = append(paths, p)
	}
	sort.Slice(paths, func(i, j int) bool { return naturalLess(paths[i], paths[j]) })
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
		case name == "" || e.dir && inner[p] || !nameable(p) || strings.ContainsAny(e.link, "\n\r"):
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

// alternatives expands {a,b}, not nested, from left to right.
func alternatives(pattern string) []string {
	head, tail, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	list, tail, _ := strings.Cut(tail, "}")
	var out []string
	for _, w := range strings.Split(list, ",") {
		out = append(out, alternatives(head+w+tail)...)
	}
	return out
}
