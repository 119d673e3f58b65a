package host

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hostlab/internal/screen"
	"hostlab/internal/trust"
)

// Tree reads a machine's /proc, /sys, /dev and /etc below Root. Root is "" or
// "/" for the machine itself, or a folder that holds a recorded one, so that
// every fact and check can be tried on machines that are not here.
type Tree struct {
	Root  string
	at    *session // nil: each call opens the root for itself
	notes *notes   // of what is read; nil: it is not recorded
	// process is "/proc/PID/" where what is read is named by that process or its files; but for those of the kernel, that
	// is opened as what another user names. "": hostlab names what is read.
	process string
	keep    func([]byte) []byte // what of the contents is recorded; nil: all
}

// maxFile bounds what one file can make us read. /proc/cpuinfo has some 2 KiB
// for each CPU, so 1 MiB would not do for 512 of them.
const maxFile = 16 << 20

// errNamed is a path that others name, below what the kernel makes up. To open it may act: a watchdog begins to count,
// and /proc/kmsg gives its lines away.
var errNamed = errors.New(
	"it lies below /dev, /proc or /sys, where hostlab opens nothing that others name; name a regular file")

var errTooLarge = fmt.Errorf("larger than %d MiB", maxFile>>20)

// errnoMark starts a recorded file whose reading failed: "!errno EACCES". A
// recording cannot keep permissions, since its reader may be root.
const errnoMark = "!errno "

var markedErrors = map[string]error{
	"EACCES":     fs.ErrPermission,
	"EPERM":      fs.ErrPermission,
	"ENOENT":     fs.ErrNotExist,
	"ENODEV":     syscall.ENODEV,
	"ENXIO":      syscall.ENXIO,
	"ESRCH":      syscall.ESRCH,
	"EIO":        syscall.EIO,
	"EAGAIN":     syscall.EAGAIN,
	"EINVAL":     syscall.EINVAL,
	"EBUSY":      syscall.EBUSY,
	"EOPNOTSUPP": syscall.EOPNOTSUPP,
	"ETIMEDOUT":  syscall.ETIMEDOUT,
}

// Live reports whether the tree is this machine itself.
func (t Tree) Live() bool { return t.Root == "" || t.Root == "/" }

// Foreign reports whether the tree is this machine itself, and that has no such
// tree: it does not run Linux.
func (t Tree) Foreign() bool { return t.Live() && runtime.GOOS != "linux" }

// errForeign is the error of every file of a foreign tree.
var errForeign = none(NotTold)

// NotTold is the reason of facts that only Linux tells, on another system.
var NotTold = "not known on " + strings.Replace(runtime.GOOS, "windows", "Windows", 1)

// worded is an error of this package's own words that stands for one of another.
type worded struct {
	text string
	is   error
}

// none is the error of a thing that a machine does not have.
func none(text string) error { return worded{text, fs.ErrNotExist} }

func (w worded) Error() string { return w.text }
func (w worded) Unwrap() error { return w.is }

// Join returns where an absolute path of the machine lies for this process.
func (t Tree) Join(path string) string {
	if t.Live() {
		return path
	}
	return filepath.Join(t.Root, path)
}

// Read returns a file's content. Errors are *fs.PathError with the machine's
// own path, never that of a recording. It does not wait for a writer of a FIFO
// and gives up on files above 16 MiB.
func (t Tree) Read(path string) ([]byte, error) { return t.head(path, maxFile+1) }

// head reads at most the first bytes of a file. The kernel makes up
// /proc/cpuinfo while it is read, at some microseconds a CPU, so that not
// reading on matters on a large host.
func (t Tree) head(path string, most int) ([]byte, error) {
	var out []byte
	err := t.with(path, most, func(b []byte) { out = bytes.Clone(b) })
	return out, err
}

// with lends a file's content to use, which must not keep it.
func (t Tree) with(path string, most int, use func([]byte)) error {
	err := t.read(path, most, func(b []byte) error {
		if !t.Live() {
			if err := marked(b); err != nil {
				return err
			}
		}
		use(b)
		return nil
	})
	t.noted(path, note{content: !errors.Is(err, errNamed), keep: t.keep})
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.ENOTDIR) && !t.Live() {
		err = t.parentMark(path, err)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if hidden := t.masked(path); hidden != nil {
			err = hidden
		}
	}
	return &fs.PathError{Op: "read", Path: path, Err: t.explain(trust.Bare(err))}
}

// maxClue is how much is believed of why something failed on a recorded machine.
const maxClue = 200

// marked returns the error that a recorded file's content stands for.
func marked(b []byte) error {
	mark, ok := bytes.CutPrefix(b, []byte(errnoMark))
	if !ok {
		return nil
	}
	name, why, _ := strings.Cut(strings.TrimSpace(string(mark)), " ")
	switch err := markedErrors[name]; {
	case err == nil:
		return fmt.Errorf("recorded failure %s", clip(name))
	case why != "":
		return worded{screen.Clean(screen.Cut(why, maxClue)), err}
	default:
		return err
	}
}

// parentMark finds a marked file that stands where the machine had a directory:
// so a recording says that a directory could not be entered.
func (t Tree) parentMark(path string, other error) error {
	for dir := filepath.ToSlash(filepath.Dir(path)); dir != "/" && dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		err := t.read(dir, maxFile+1, marked)
		if err == nil {
			return other // a file without a mark
		}
		if !errors.Is(err, syscall.ENOTDIR) {
			return err
		}
	}
	return other
}

// explain says what would help where permission is missing; "run it as root" is
// no help to root, whom a container's device list or lockdown refuses.
func (t Tree) explain(err error) error {
	if !t.Live() || !errors.Is(err, fs.ErrPermission) {
		return err
	}
	if os.Geteuid() == 0 {
		return worded{"refused even to root, as containers and lockdown do", fs.ErrPermission}
	}
	return worded{"permission denied, needs root", fs.ErrPermission}
}

// Dir lists the names in a directory in natural order.
func (t Tree) Dir(path string) ([]string, error) {
	names, err := t.list(path)
	t.noted(path, note{links: true})
	if err != nil {
		if errors.Is(err, syscall.ENOTDIR) && !t.Live() {
			err = t.parentMark(path+"/.", err)
		}
		return nil, &fs.PathError{Op: "list", Path: path, Err: t.explain(trust.Bare(err))}
	}
	SortNatural(names)
	return names, nil
}

// Exists reports whether a path is there, following links.
func (t Tree) Exists(path string) bool {
	there := t.exists(path)
	t.noted(path, note{})
	return there
}

// maxSetting is what a file of one setting can hold: sysfs gives a page at most
// (sysfs_emit, Linux 5.10). Arm has pages of up to 64 KiB, yet no setting is
// longer than the smallest.
const maxSetting = 4 << 10

// maxList is for lists of CPUs, which sysfs may give in more than a page (Linux
// 5.15): 8192 of them, every other one written out, take 24 KB.
const maxList = 64 << 10

// Text reads a file's content without surrounding white space. A setting, which
// is what /sys and /proc/sys hold, of more than 4 KiB is StateError.
func (t Tree) Text(path string) Fact[string] {
	switch {
	case strings.HasPrefix(path, "/sys/"), strings.HasPrefix(path, "/proc/sys/"):
		return t.text(path, maxSetting)
	case path == "/proc/cmdline":
		return t.text(path, maxList) // COMMAND_LINE_SIZE is 2 KiB on x86 and arm64, 64 KiB at most
	}
	return t.text(path, maxFile)
}

func (t Tree) text(path string, most int) Fact[string] {
	var s string
	var long error
	err := t.with(path, maxFile+1, func(b []byte) {
		if b = bytes.TrimSpace(b); len(b) > most {
			long = fmt.Errorf("longer than a settings file can be (%d bytes)", len(b))
			return
		}
		s = string(b)
	})
	if err == nil {
		err = long
	}
	if err != nil {
		return Unknown[string](path, err)
	}
	return Known(s, "", path)
}

// Word is Text of a file that is never empty. What container runtimes mask
// reads as empty, and so do some files of devices that are going away.
func (t Tree) Word(path string) Fact[string] {
	return Convert(t.Text(path), "", func(s string) (string, error) {
		if s == "" {
			return "", errors.New("the file is empty")
		}
		return s, nil
	})
}

// Int reads a whole number and multiplies it by scale into unit: kHz files are
// Int(path, "Hz", 1000). An empty file or one with text is StateError.
func (t Tree) Int(path, unit string, scale int64) Fact[int64] {
	return Convert(t.Text(path), unit, func(s string) (int64, error) {
		v, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("expected a whole number, found %s", clip(s))
		}
		if scale != 1 && v != 0 && (v*scale)/scale != v {
			return 0, fmt.Errorf("%d is too large for %s", v, unit)
		}
		return v * scale, nil
	})
}

// Bool reads a file that holds 0/1, Y/N or on/off.
func (t Tree) Bool(path string) Fact[bool] {
	return Convert(t.Text(path), "", func(s string) (bool, error) {
		switch s {
		case "1", "Y", "y", "on":
			return true, nil
		case "0", "N", "n", "off":
			return false, nil
		}
		return false, fmt.Errorf("expected 0 or 1, found %s", clip(s))
	})
}

// Choice reads a file that lists its choices with the one in force in brackets,
// as in "always [madvise] never".
func (t Tree) Choice(path string) Fact[Choice] {
	return Convert(t.Text(path), "", ParseChoice)
}

// Choice is a setting with a closed list of values.
type Choice struct {
	Active string   `json:"active"`
	Offers []string `json:"offers"`
}

// String returns the value in force.
func (c Choice) String() string { return c.Active }

// Has reports whether the kernel offers a value here.
func (c Choice) Has(v string) bool { return slices.Contains(c.Offers, v) }

// ParseChoice parses the form "always [madvise] never".
func ParseChoice(s string) (Choice, error) {
	var c Choice
	for _, w := range strings.Fields(s) {
		if len(w) > 2 && w[0] == '[' && w[len(w)-1] == ']' {
			w = w[1 : len(w)-1]
			if c.Active != "" {
				return Choice{}, fmt.Errorf("two values in brackets in %s", clip(s))
			}
			c.Active = w
		}
		c.Offers = append(c.Offers, w)
	}
	if len(c.Offers) == 1 && c.Active == "" {
		c.Active = c.Offers[0] // a scheduler file of a device without choices reads just "none"
	}
	if c.Active == "" {
		return Choice{}, fmt.Errorf("expected one value in brackets, found %s", clip(s))
	}
	return c, nil
}

// List reads a CPU or node list such as "0-3,8".
func (t Tree) List(path string) Fact[[]int] {
	return Convert(t.text(path, maxList), "", ParseList)
}

// maxListed bounds what a garbled list file can make us allocate; Linux itself
// supports 8192 CPUs at most (CONFIG_NR_CPUS on x86, 6.12).
const maxListed = 1 << 16

// ParseList parses the kernel's list format, as in "0-3,8" or "0-10:2/4". Empty
// text is an empty list. The result is in the order written.
func ParseList(s string) ([]int, error) {
	s = strings.TrimSpace(s)
	list := []int{}
	if s == "" {
		return list, nil
	}
	for _, part := range strings.Split(s, ",") {
		span, group, grouped := strings.Cut(part, ":")
		lo, hi, ranged := strings.Cut(span, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && ranged {
			b, err = strconv.Atoi(hi)
		}
		used, size := 1, 1
		if err == nil && grouped {
			u, g, _ := strings.Cut(group, "/")
			if used, err = strconv.Atoi(u); err == nil {
				size, err = strconv.Atoi(g)
			}
		}
		if err != nil || a < 0 || b < a || b >= maxListed || used < 1 || size < used {
			return nil, fmt.Errorf("expected a list like 0-3,8, found %s", clip(s))
		}
		// No step without a number: a crafted file may hold thousands of groups.
		for from := a; from <= b; from += size {
			for i := from; i < from+min(used, maxListed) && i <= b; i++ {
				list = append(list, i)
			}
			if size >= maxListed {
				break
			}
		}
		if len(list) > maxListed {
			return nil, fmt.Errorf("a list of more than %d numbers", maxListed)
		}
	}
	return list, nil
}

// FormatList is the inverse of ParseList for an ascending list.
func FormatList(list []int) string {
	var b strings.Builder
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(list[i]))
		if j > i {
			b.WriteByte('-')
			b.WriteString(strconv.Itoa(list[j]))
		}
		i = j + 1
	}
	return b.String()
}

// clip quotes text from a file for an error line, without control characters
// and not longer than a line can bear.
func clip(s string) string {
	const most = 40
	if len(s) > most {
		return strconv.Quote(s[:most]) + "..."
	}
	return strconv.Quote(s)
}
