package host

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// PathQuery asks where a path is stored. Purpose says what lies there, as in
// "log-dir" or "postgresql log".
type PathQuery struct {
	Path, Purpose string
	PID           int // of the server whose path it is; 0: of none
}

// answerWithin is how long a path of the machine itself may take. Paths on a
// network file system whose server is gone block for ever.
const answerWithin = 2 * time.Second

func readStorage(t Tree, q []PathQuery) ([]Storage, []BlockDevice) {
	list := make([]Storage, 0, len(q))
	for _, ask := range q {
		s := StorageOf(t, ask.Path)
		s.Purpose, s.PID = ask.Purpose, ask.PID
		list = append(list, s)
	}
	return list, block{t}.disks()
}

// StorageOf tells where a path lies, from the mount down to the disks. It never
// writes. A relative path counts from the working directory, or from / in a
// recording. A path /proc/PID/root/... is looked up with that process's mounts,
// which is how a database in a container is asked about. What is not known is
// an unknown fact with the reason; a path that does not exist has none known.
func StorageOf(t Tree, asked string) Storage {
	if !t.Live() {
		return storageOf(t, asked)
	}
	ask := storageOf
	if t.Foreign() {
		ask = foreignStorage
	}
	s, err := inTime(func() (Storage, error) { return ask(t, asked), nil })
	if err != nil {
		t.stated(statxFile(filepath.ToSlash(asked)), errnoMark+"ETIMEDOUT")
		return silentStorage(t, asked, err)
	}
	return s
}

// ErrNoAnswer is the error of a path whose file system does not answer.
var ErrNoAnswer = fmt.Errorf("no answer in %s: is its server gone?", answerWithin)

// Stat is os.Stat, but gives up with ErrNoAnswer where a network file system
// would block for ever.
func Stat(name string) (fs.FileInfo, error) {
	return inTime(func() (fs.FileInfo, error) { return os.Stat(name) })
}

// inTime returns what ask does, or ErrNoAnswer; what hangs is left behind.
func inTime[T any](ask func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	got := make(chan answer, 1)
	go func() { v, err := ask(); got <- answer{v, err} }()
	select {
	case a := <-got:
		return a.value, a.err
	case <-time.After(answerWithin):
		var none T
		return none, ErrNoAnswer
	}
}

// silentStorage is what the mount table tells of a path that does not answer.
// Links in it cannot be followed, so this counts only where the path as it is
// lies on a network file system, which explains the silence.
func silentStorage(t Tree, asked string, err error) Storage {
	s := unknownStorage(asked, asked, err)
	full, _ := filepath.Abs(asked)
	v, inView := viewOf(t, filepath.ToSlash(full))
	mnt := readMounts(t, v.mounts).find(inView)
	if mnt == nil || networkFS[mnt.fsType] == "" {
		return s
	}
	s.describe(v, mnt)
	s.Class = Known(ClassNetwork, "", v.mounts+" "+mnt.point)
	return s
}

func (s *Storage) describe(v view, mnt *mount) {
	where := v.mounts + " " + mnt.point
	m := mnt.facts(v.mounts)
	s.MountPoint, s.FSType, s.Options = m.MountPoint, m.FSType, m.Options
	s.Device = Known(mnt.source, "", where)
	s.ReadOnly = Known(mnt.readOnly(), "", where)
}

// unknownStorage is a path of which nothing is known, for one reason.
func unknownStorage(asked, source string, err error) Storage {
	s := Storage{Path: asked, Stack: []StackLayer{}, Below: []Mounted{}}
	unknown(&s, source, err)
	return s
}

func storageOf(t Tree, asked string) Storage {
	full := asked
	if t.Live() {
		if abs, err := filepath.Abs(asked); err == nil {
			full = filepath.ToSlash(abs)
		}
	}
	v, inView := viewOf(t, full)
	resolved, err := v.resolve(inView)
	if err != nil {
		return unknownStorage(asked, full, adviseDenied(err))
	}
	st := stack{block: block{t}, layers: []StackLayer{}}
	if name, err := st.blockNode(v, resolved); err != nil {
		return unknownStorage(asked, full, adviseDenied(err))
	} else if name != "" {
		return st.rawStorage(asked, path.Clean(v.root+resolved), name)
	}
	m := readMounts(t, v.mounts)
	mnt := m.find(resolved)
	if mnt == nil {
		if m.err == nil {
			m.err = fmt.Errorf("no mount holds %s: %w", clip(resolved), fs.ErrNotExist)
		}
		s := unknownStorage(asked, v.mounts, m.err)
		s.Resolved = Known(path.Clean(v.root+resolved), "", full)
		return s
	}
	if !v.held(resolved, mnt) {
		return unknownStorage(asked, full, errNotHeld)
	}
	st.addMount(m, mnt, 0)
	attr := attributesOf(t, path.Clean(v.root+resolved))
	where := v.mounts + " " + mnt.point
	s := Storage{
		Path:      asked,
		Resolved:  Known(path.Clean(v.root+resolved), "", full),
		FreeBytes: attr.free,
		Stack:     st.layers,
		Below:     st.mounts[1:],
	}
	s.describe(v, mnt)
	if attr.readOnly.Or(false) {
		s.ReadOnly = attr.readOnly
	}
	s.DAX = daxInForce(mnt, &st, attr)
	s.Class = st.class(classSource(&st, where))
	if s.Class.Or("") == ClassPmem && s.DAX.Or(false) {
		s.Class = Known(ClassPmemDAX, "", s.DAX.Source)
	}
	return s
}

// classSource names the disks that the class was decided by.
func classSource(st *stack, where string) string {
	var disks []string
	for _, l := range st.layers {
		if l.Queue != nil && l.Queue.Class != "" && !slices.Contains(disks, l.Name) {
			disks = append(disks, l.Name)
		}
	}
	if len(disks) == 0 {
		return where
	}
	return "/sys/class/block/" + strings.Join(disks, ",")
}

// adviseDenied puts a refusal into words that say what to do.
func adviseDenied(err error) error {
	if StateOf(err) == StateDenied {
		return errDenied
	}
	return err
}

var errDenied error = worded{"permission denied: run as root or the database's user", fs.ErrPermission}

// volume is what a system without /proc and /sys tells of the file system that a
// path lies on.
type volume struct {
	Root     string // as in C:\ or \\server\share\
	FSType   string // NTFS, ReFS
	Remote   bool
	Memory   bool // a disk in memory
	ReadOnly bool
	DAX      bool
	Free     int64 // B
}

// foreignStorage is storageOf where there is no mount table to read. A volume does
// not say what its disks are.
func foreignStorage(_ Tree, asked string) Storage {
	full, err := filepath.Abs(asked)
	if err != nil {
		full = asked
	}
	v, source, err := volumeOf(full)
	if err != nil {
		return unknownStorage(asked, full, err)
	}
	return v.storage(asked, full, source)
}

func (v volume) storage(asked, full, source string) Storage {
	s := unknownStorage(asked, full, errForeign)
	s.Resolved = Known(full, "", full)
	s.MountPoint = Known(v.Root, "", source)
	s.FSType = Known(v.FSType, "", source)
	s.FreeBytes = Known(v.Free, "B", source)
	s.ReadOnly = Known(v.ReadOnly, "", source)
	s.DAX = Known(v.DAX, "", source)
	switch {
	case v.Remote:
		s.Class = Known(ClassNetwork, "", source)
	case v.Memory:
		s.Class = Known(ClassMemory, "", source)
	case v.DAX:
		s.Class = Known(ClassPmemDAX, "", source)
	default:
		s.Class = absentFact[string](source, "a volume does not say what its disks are")
	}
	return s
}
