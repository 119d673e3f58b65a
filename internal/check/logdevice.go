package check

import (
	"slices"
	"strings"

	"hostlab/internal/host"
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
