package host

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// attributes are what only system calls tell of a path.
type attributes struct {
	free     Fact[int64] // B, for users without a reserve: statfs f_bavail
	readOnly Fact[bool]
	isDAX    Fact[bool] // statx of a regular file there: STATX_ATTR_DAX
	inherits Fact[bool] // the directory's FS_DAX_FL, which new files inherit
}

// statxDir is where a recording keeps attributes, a file for each path. Its
// content is one line of words in any order, those that are known:
//
//	dax=1 inherit=0 free=123456 readonly=0
//
// dax is STATX_ATTR_DAX of a regular file, inherit the directory's FS_DAX_FL,
// free the bytes of statfs, readonly its ST_RDONLY. The file has the path's own
// name below this folder, as in /.hostlab/statx/var/lib/pgsql; where that has to
// be a folder itself, since a path below it was recorded as well, the file is
// named ".attr" in it. attributeLine makes the line.
const statxDir = "/.hostlab/statx"

// attributeLine returns the line that a recording keeps for a path of this
// machine, with its end. It is empty where the system tells nothing.
func attributeLine(path string) string {
	a := liveAttributes(path)
	var words []string
	for _, f := range []struct {
		name string
		fact Fact[bool]
	}{{"dax", a.isDAX}, {"inherit", a.inherits}, {"readonly", a.readOnly}} {
		if v, ok := f.fact.Get(); ok {
			words = append(words, f.name+map[bool]string{true: "=1", false: "=0"}[v])
		}
	}
	if v, ok := a.free.Get(); ok {
		words = append(words, fmt.Sprintf("free=%d", v))
	}
	if len(words) == 0 {
		return ""
	}
	return strings.Join(words, " ") + "\n"
}

// attributesOf reads a path's attributes: from the kernel on the machine itself,
// else from the recording.
func attributesOf(t Tree, path string) attributes {
	if t.Live() {
		return liveAttributes(path)
	}
	var err error
	for _, file := range []string{statxDir + path, statxFile(path)} {
		var b []byte
		if b, err = t.Read(file); err == nil {
			return parseAttributes(string(b), file)
		}
	}
	const source, why = "statx, statfs", "the recording does not hold it"
	return attributes{
		free: absentFact[int64](source, why), readOnly: absentFact[bool](source, why),
		isDAX: absentFact[bool](source, why), inherits: absentFact[bool](source, why),
	}
}

func parseAttributes(s, source string) attributes {
	words := map[string]string{}
	for _, w := range strings.Fields(s) {
		k, v, _ := strings.Cut(w, "=")
		words[k] = v
	}
	flag := func(name string) Fact[bool] {
		switch v, ok := words[name]; {
		case !ok:
			return absentFact[bool](source+" "+name, "the recording does not hold it")
		case v == "0" || v == "1":
			return Known(v == "1", "", source+" "+name)
		}
		return Unknown[bool](source+" "+name, errors.New("expected 0 or 1"))
	}
	a := attributes{readOnly: flag("readonly"), isDAX: flag("dax"), inherits: flag("inherit")}
	a.free = absentFact[int64](source+" free", "the recording does not hold it")
	if v, ok := words["free"]; ok {
		n, err := strconv.ParseInt(v, 10, 64)
		if a.free = Known(n, "B", source+" free"); err != nil || n < 0 {
			a.free = Unknown[int64](source+" free", fmt.Errorf("expected a number, found %s", clip(v)))
		}
	}
	return a
}

// daxInForce tells whether a new file on a mount is accessed without the page
// cache (Documentation/filesystems/dax.rst, Linux 5.8 and later: dax=always,
// dax=never, dax=inode, and inode where nothing is set; "dax" alone is always).
// A device that can and a mount that asks are needed both; then the directory's
// flag decides where the option leaves it open. statx has the last word, but
// says it of regular files only: a directory never has STATX_ATTR_DAX.
func daxInForce(m *mount, st *stack, a attributes) Fact[bool] {
	where := "mount options of " + m.point
	mode, set := m.option("dax")
	switch m.fsType {
	case "ext2", "ext4", "xfs":
	case "virtiofs":
		return Known(set && mode != "never", "", where) // the host's page cache is mapped
	default:
		return Known(false, "", "file system "+m.fsType+" has no DAX")
	}
	if set && mode == "never" {
		return Known(false, "", where+": dax=never")
	}
	if st.top != "" {
		dev := st.block.t.Bool(st.block.dir(st.top) + "/queue/dax")
		if can, ok := dev.Get(); ok && !can {
			return Known(false, "", dev.Source)
		} else if dev.State == StateAbsent {
			return Known(false, "", dev.Source+" is not there: no DAX")
		}
	}
	if a.isDAX.State == StateOK {
		return a.isDAX
	}
	if set && (mode == "" || mode == "always") {
		return Known(true, "", where+": dax")
	}
	if a.inherits.State == StateOK {
		return a.inherits
	}
	f := Unknown[bool](where, fs.ErrNotExist)
	f.Reason = "the directory's own attribute decides (dax=inode), and it could not be read"
	return f
}
