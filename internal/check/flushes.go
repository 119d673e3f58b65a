package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
)

// A flushing file system is one that hands a program's flush on to its disk, unless an option says otherwise: that
// option and the one that takes it back while mounted, "" where only a new mount does. nil: no option does.
var flushing = map[string]map[string]string{
	"ext2": barriers, "ext3": barriers, "ext4": barriers, "btrfs": barriers, "nilfs2": barriers, "gfs2": barriers,
	"ocfs2":    barriers,
	"xfs":      {"nobarrier": ""}, // which no remount takes back
	"f2fs":     {"nobarrier": "barrier", "fsync_mode=nobarrier": "fsync_mode=posix"},
	"reiserfs": {"barrier=none": "barrier=flush"},
	"bcachefs": {"journal_flush_disabled": ""},
	"overlay":  {"volatile": "", "fsync=volatile": ""}, // overlayfs.rst, Volatile mount
	"jfs":      {"nointegrity": "integrity"},
	"cifs":     {"nostrictsync": ""}, "smb3": {"nostrictsync": ""}, // mount.cifs(8): no flush is sent
}

var barriers = map[string]string{"nobarrier": "barrier", "barrier=0": "barrier=1"}

// answersFor names who decides whether a flush reaches a disk where no option of the mount tells.
func answersFor(fs, mountPoint string) string {
	switch shared := host.Shared(fs); {
	case fs == "zfs":
		return "its property sync decides; zfs get sync " + mountPoint + " shows it"
	case fs == "nfs" || fs == "nfs4":
		return "the file server decides; on it exportfs -v shows sync or async" //nolint:misspell // a command
	case shared != "":
		return "who serves it (" + shared + ") decides"
	case strings.HasPrefix(fs, "fuse"):
		return "the program that serves it decides"
	}
	return "its documentation tells of its flushes"
}

// unflushed is the option by which a mounted file system does without flushes, and the one that takes it back.
func unflushed(m host.Mounted) (option, back string) {
	of := flushing[m.FSType.Or("")]
	for o := range strings.SplitSeq(m.Options.Or(""), ",") {
		if to, is := of[o]; is {
			return o, to
		}
		if to, is := barriers[o]; is && of == nil { // a file system that hostlab does not know, with the usual words
			return o, to
		}
	}
	return "", ""
}

// flushes judges a mounted file system by its options, where these decide.
func flushes(f *host.Facts, m host.Mounted) reading {
	fs := m.FSType.Or("")
	r := read(m.Options, func(string) bool { o, _ := unflushed(m); return o == "" })
	_, decides := flushing[fs]
	switch old := fs == "ext3" && f.Identity.Kernel.State == host.StateOK && !kernelAt(f, 3, 1); {
	case r.bad || r.state != host.StateOK || whole(m.FSType).state == host.StateAbsent:
		return r
	case m.FSType.State != host.StateOK:
		return whole(m.FSType)
	case old && !slices.Contains(strings.Split(m.Options.Value, ","), "barrier=1"): // Linux commit 00eacd66cd87
		return r.open(fmt.Sprintf("it is not known whether ext3 at %s flushes: by default it does since Linux 3.1 only; "+
			"barrier=1 has it flush",
			m.MountPoint.Or("")))
	case !decides || host.Shared(fs) != "":
		return r.open(fmt.Sprintf("whether flushes of %s at %s reach a disk is not known here: %s", fs, m.MountPoint.Or(""),
			answersFor(fs, m.MountPoint.Or(""))))
	}
	return r
}

// mountsOf are the file system that a directory is on, and those below it.
func mountsOf(s host.Storage) []host.Mounted {
	return append([]host.Mounted{{MountPoint: s.MountPoint, FSType: s.FSType, Options: s.Options}}, s.Below...)
}

// lookBarriers judges the file systems of logs and data, and those that hold an overlay or a loop device.
func lookBarriers(f *host.Facts, _ Role) view {
	v := view{absent: noLog(f)}
	for _, s := range places(f) {
		for i, m := range mountsOf(s) {
			if s.Class.Or("") == host.ClassMemory && i == len(s.Below) { // which STO-006 finds
				continue
			}
			r := ofLog(flushes(f, m), s)
			if v.readings = append(v.readings, r); r.bad {
				v.fix = v.fix.and(flushFix(m))
			}
		}
	}
	v.fix = append(v.fix, remark("and take the option out of /etc/fstab, or of what mounts it"))
	return v
}

// flushFix takes the option back, by a remount where the file system can do that.
func flushFix(m host.Mounted) remedy {
	option, back := unflushed(m)
	dir := m.MountPoint.Or("")
	switch {
	case back != "":
		return remedy{run("sudo", "mount", "-o", "remount,"+back, dir)}
	case m.FSType.Or("") == "overlay":
		return remedy{remark("an overlay takes it back only when it is made anew without " + option +
			": put the database on a volume of its own")}
	}
	return remedy{remark("it takes no remount: stop the database, and mount without " + option + ":"),
		run("sudo", "umount", dir),
		run("sudo", "mount", dir)}
}
