package check

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

func lookDiscard(f *host.Facts, _ Role) view {
	v := view{absent: noLog(f)}
	waits := false
	var mounts []string
	for _, s := range logs(f) {
		for _, m := range mountsOf(s) {
			r := ofLog(read(m.Options, func(o string) bool { return !discards(o) }), s)
			if v.readings = append(v.readings, r); !r.bad {
				continue
			}
			waits = waits || !discardsLater(f, m)
			if dir := m.MountPoint.Or(s.Path); !slices.Contains(mounts, dir) {
				mounts = append(mounts, dir)
				v.fix = append(v.fix, withoutDiscard(m, dir)...)
			}
		}
	}
	v.bad = "freed blocks are trimmed in line with the log's writes"
	if !waits {
		v = v.atMost(Low).gainless()
		v.bad = "freed blocks are trimmed at once: on a device that trims slowly, the log's writes queue behind it"
	}
	v.fix = append(append(remedy{remark("take discard out of the options in /etc/fstab, or of the mount unit")}, v.fix...),
		run("sudo", "systemctl", "enable", "--now", "fstrim.timer").noting("trims once a week, for some minutes"))
	return v
}

// withoutDiscard mounts a file system anew. XFS takes a remount with nodiscard for success and does nothing
// (fs/xfs/xfs_super.c, xfs_fs_reconfigure).
func withoutDiscard(s host.Mounted, dir string) remedy {
	if s.FSType.Or("") == "xfs" {
		return remedy{remark("XFS cannot change it by a remount: stop the database first"), run("sudo", "umount", dir),
			run("sudo", "mount", dir)}
	}
	return remedy{run("sudo", "mount", "-o", "remount,nodiscard", dir)}
}

func discards(options string) bool {
	return slices.ContainsFunc(strings.Split(options, ","),
		func(o string) bool { return o == "discard" || o == "discard=sync" })
}

// discardsLater reports that a file system discards in the background, and lets no commit wait: ext4 since
// 55cdd0af2bc5, XFS since it completes discards from a work queue.
func discardsLater(f *host.Facts, s host.Mounted) bool {
	switch s.FSType.Or("") {
	case "ext4":
		return kernelAt(f, 5, 15)
	case "xfs":
		return kernelAt(f, 4, 11)
	}
	return false
}

func lookWriteCache(f *host.Facts, _ Role) (v view) {
	v.bad = "each commit flushes the device's whole cache; put the log on a device protected against power loss"
	advisable := false
	for _, s := range logs(f) {
		if c := whole(s.Class); c.unknown() { // some of the devices are not known
			v.readings = append(v.readings, c.because(notKnown(s)))
		}
		for _, l := range s.Stack {
			q := l.Queue
			// dm and md show what their members have; those are in the stack too.
			if q == nil || strings.HasPrefix(q.Name, "dm-") || strings.HasPrefix(q.Name, "md") {
				continue
			}
			r := oneOf(q.WriteCache, []string{"write through"}, []string{"write back"},
				"look at Documentation/block/writeback_cache_control.rst of this kernel")
			if r.bad && q.Class == "" && s.Class.State == host.StateError { // what is below it decides what a flush does
				r.bad, r.context = false, true
			}
			if r.bad && writesThrough(s) {
				fua := read(q.FUA, is(true))
				r.bad = !fua.unknown() && (fua.state != host.StateOK || fua.bad)
				fua.context = !fua.unknown()
				v.readings = append(v.readings, fua)
			}
			if r.bad && v.fix == nil {
				v.fix = measureLog(s, "what a commit costs here")
			}
			advisable = advisable || r.bad && q.Class != host.ClassVirtual
			r.of = s.PID
			v.readings = append(v.readings, r)
		}
	}
	if !advisable {
		v = v.atMost(Info)
		v.bad = "each commit flushes the virtual disk's cache; what that costs is up to the hypervisor's owner"
	}
	return v
}

// writesThrough reports that the database whose log this is opens it with O_DIRECT and O_DSYNC, so that Linux writes
// with FUA: from 4.18 on XFS, from 5.6 on ext4 (iomap).
func writesThrough(s host.Storage) bool {
	return strings.HasPrefix(s.Purpose, "sqlserver ") || strings.HasPrefix(s.Purpose, "oracle ")
}

// longestWait is from when on a disk's timeout, in s, counts as the longest. The kernel keeps it in ticks of 32 bits,
// and shows 2^32 ms less a little for the largest, or a third of that with 300 ticks a second.
const longestWait = float64(1<<30) / 1e3

func lookNVMe(f *host.Facts, _ Role) view {
	if rs := hiddenDisks(f); rs != nil {
		return see(rs...)
	}
	list := volumes(f)
	if len(list) == 0 {
		return view{absent: "no NVMe volume of AWS is seen"}
	}
	v := view{}
	later := read(f.Kernel.NVMeIOTimeout, atLeast(longestNVMe(f)))
	for _, b := range list {
		if r := read(b.IOTimeout, atLeast(longestWait)); r.state != host.StateAbsent {
			v.readings, later.context = append(v.readings, r), true
		}
	}
	v.readings = append(v.readings, later)
	return v
}

// adviseNVMe sets the volumes that are there, and those that will be attached.
func adviseNVMe(f *host.Facts, _ Role) (list []setting.Assignment) {
	for _, b := range volumes(f) {
		if own, ok := b.IOTimeout.Get(); ok && own < longestWait {
			list = append(list, setting.Assignment{Name: "io_timeout", Object: b.Name, Value: strconv.Itoa(math.MaxUint32)})
		}
	}
	if s, ok := f.Kernel.NVMeIOTimeout.Get(); ok && s < longestNVMe(f) && len(volumes(f)) > 0 {
		list = append(list, setting.Assignment{Name: "nvme_io_timeout", Value: strconv.FormatUint(longestNVMe(f), 10)})
	}
	return list
}

// longestNVMe is the longest timeout, in s, that the module's parameter holds.
func longestNVMe(f *host.Facts) uint64 {
	if f.Identity.Kernel.State == host.StateOK && !kernelAt(f, 4, 15) {
		return math.MaxUint8
	}
	return math.MaxUint32
}

// volumes are the NVMe disks that are volumes of AWS, by their model. A machine of AWS whose disks show no model
// may have any.
func volumes(f *host.Facts) (list []host.BlockDevice) {
	amazon := strings.Contains(f.Identity.Product.Or(""), "Amazon EC2")
	for _, b := range f.Block {
		model, known := b.Model.Get()
		if strings.HasPrefix(b.Name, "nvme") && (strings.Contains(model, "Amazon Elastic Block Store") || amazon && !known) {
			list = append(list, b)
		}
	}
	return list
}

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
