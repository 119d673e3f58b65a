package check

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

const noLogPath = "no log directory was named or found (--log-dir)"

// lies describes where a path's storage is, for evidence and details.
func lies(s host.Storage) string {
	where := s.MountPoint.Or("")
	if s.Path == "" {
		return s.Purpose
	}
	if where == "" {
		return orElse(s.Purpose, "path") + " " + s.Path
	}
	return fmt.Sprintf("%s %s on %s", orElse(s.Purpose, "path"), s.Path, where)
}

// logs are the directories to judge: those whose storage was asked about, and the
// logs of servers that this user may not see, of which nothing is known. Without
// them it would look as if there were no log.
func logs(f *host.Facts) []host.Storage {
	list := slices.Clone(f.Storage)
	for _, d := range f.Databases {
		if st := d.LogDir.State; st == host.StateDenied || st == host.StateError {
			list = append(list, host.Storage{
				Purpose: fmt.Sprintf("%s log of process %d", d.Kind, d.PID),
				Class:   d.LogDir, Options: d.LogDir,
			})
		}
	}
	return list
}

// noLog says why no log directory can be judged.
func noLog(f *host.Facts) string {
	if len(logs(f)) == 0 {
		return noLogPath
	}
	return "this does not apply to what the log lies on, or the kernel does not tell"
}

// measureLog is the command that tells what a commit costs on a path. Measuring
// takes a directory that it can write a file to.
func measureLog(s host.Storage) string {
	if s.Raw() || s.NetworkFS() {
		return measureDisk
	}
	return "hostlab assess --log-dir " + screen.Word(s.Path)
}

// measureDisk finds a place that can be measured, where the log's own cannot.
const measureDisk = "findmnt -o TARGET,FSTYPE,SOURCE --real # choose a file system on a disk, and measure it:\n" +
	"hostlab assess --log-dir DIRECTORY"

var discard = Check{
	ID: "STO-004", Lever: LeverLog, Title: "Log file system mounted with discard",
	Why: "With the mount option discard, freeing blocks sends trim commands to the device at once, in line with the " +
		"log's writes; many devices stop for them. A weekly fstrim does the same at a quiet time.",
	Source:   "PerfSpect",
	Disagree: "btrfs collects its discards (discard=async), which is accepted.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		var rs []reading
		for _, s := range logs(f) {
			r := read(s.Options, func(v string) bool { return !discards(v) })
			r.path += " (" + lies(s) + ")"
			rs = append(rs, r)
		}
		return judge(rs, answers{
			absent: noLog(f),
			ok:     "freed blocks are not trimmed in line with writes",
			bad: func([]reading) (string, string) {
				var fix []string
				for _, s := range logs(f) {
					mount := "sudo mount -o remount,nodiscard " + screen.Word(s.MountPoint.Or(s.Path))
					if discards(s.Options.Or("")) && !slices.Contains(fix, mount) {
						fix = append(fix, mount)
					}
				}
				fix = append(fix, "sudo systemctl enable --now fstrim.timer", "# and take discard out of /etc/fstab")
				return "freed blocks are trimmed in line with the log's writes", strings.Join(fix, "\n")
			},
		})
	},
}

func discards(options string) bool {
	for _, o := range strings.Split(options, ",") {
		if o == "discard" || o == "discard=sync" {
			return true
		}
	}
	return false
}

var pmemDAX = Check{
	ID: "STO-005", Lever: LeverLog, Title: "Persistent memory used as a block device (no DAX)",
	Why: "Without DAX, persistent memory is read and written through the page cache and the block layer, so a commit " +
		"costs system calls and copies where a few cache lines would do. With DAX, programs store to it directly.",
	Source: "published measurements of SAP NetWeaver with the redo log on persistent memory (DAX-mounted gave the " +
		"largest gain); kernel documentation on DAX",
	Disagree: "Being mounted with dax is not enough: it is in force only in namespaces of mode fsdax and for files that " +
		"say so, which is asked of the file itself (statx).",
	Severity: inProduction(Medium, Low),
	Look:     lookDAX,
}

func lookDAX(f *host.Facts, _ Role) Outcome {
	var rs []reading
	var fix string
	for _, s := range logs(f) {
		class, known := s.Class.Get()
		if !known {
			rs = append(rs, whole(s.Class))
			continue
		}
		if class != host.ClassPmem && class != host.ClassPmemDAX {
			continue
		}
		r := read(s.DAX, isTrue)
		r.path += " (" + lies(s) + ")"
		if r.bad && fix == "" {
			fix = daxFix(s)
		}
		rs = append(rs, r)
	}
	return judge(rs, answers{
		absent: "no log directory lies on persistent memory, or the kernel does not say whether DAX is in force",
		ok:     "programs store to persistent memory directly",
		bad: func([]reading) (string, string) {
			return "the log lies on persistent memory, but goes through the page cache", fix
		},
	})
}

func daxFix(s host.Storage) string {
	fix := "sudo ndctl list -N # the namespace must be of mode fsdax\n"
	if fs, ok := s.FSType.Get(); ok && fs != "ext4" && fs != "xfs" {
		return fix + "# its file system has no DAX: make it anew as ext4 or xfs"
	}
	dir := s.MountPoint.Or(s.Path)
	return fix + "# stop the database; dax cannot be switched on by a remount\n" +
		"sudo umount " + screen.Word(dir) + "\n" +
		"sudo mount -o dax=always " + screen.Word(s.Device.Or("/dev/pmem0")) + " " + screen.Word(dir)
}

var logInMemory = Check{
	ID: "STO-006", Lever: LeverLog, Title: "Log directory in volatile memory",
	Why: "A file system in memory forgets everything at power-off, crash or reboot. A database whose log lies there " +
		"loses commits that it has confirmed, and usually cannot start again.",
	Source:   "kernel documentation on tmpfs; PostgreSQL documentation on reliability",
	Disagree: "It is a fine place to measure the most that a faster log device could give, and to test with.",
	Severity: everywhere(High, High, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		return lookClass(f, host.ClassMemory, "logs lie on storage that keeps them", func(s host.Storage) (string, string) {
			return lies(s) + " does not survive a reboot",
				measureDisk
		})
	},
}

var logOnNetwork = Check{
	ID: "STO-007", Lever: LeverLog, Title: "Log directory on a network file system",
	Why: "Each commit waits for the network and the file server, and shares both with others. A soft or asynchronous " +
		"mount can also confirm writes that are then lost.",
	Source: "PostgreSQL documentation on network file systems; measurements of redo logs on slower and faster storage",
	Disagree: "Database vendors support certified network storage for logs. What it costs depends on the server, the " +
		"network and the mount options: the database's own log write times tell. hostlab assess measures a disk that is " +
		"reached over a network (iSCSI, Fibre Channel), and for a network file system a local disk to compare with.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		return lookClass(f, host.ClassNetwork, "logs lie on storage of this machine", func(s host.Storage) (string, string) {
			return lies(s) + " waits for the network at each commit", measureLog(s)
		})
	},
}

// lookClass finds log directories of one class of storage.
func lookClass(f *host.Facts, class, ok string, say func(host.Storage) (detail, fix string)) Outcome {
	var rs []reading
	var first *host.Storage
	list := logs(f)
	for i, s := range list {
		r := readAs(s.Class, func(v string) string { return v + " (" + orElse(s.FSType.Or(""), "file system unknown") + ")" },
			func(v string) bool { return v != class })
		r.path += " (" + lies(s) + ")"
		if r.bad && first == nil {
			first = &list[i]
		}
		rs = append(rs, r)
	}
	return judge(rs, answers{
		absent: noLog(f),
		ok:     ok,
		bad:    func([]reading) (string, string) { return say(*first) },
	})
}

var writeCache = Check{
	ID: "STO-008", Lever: LeverLog, Title: "Log device with a volatile write cache and no FUA",
	Why: "A device that reports a write-back cache has to flush it at each commit. With FUA one write can go past the " +
		"cache; without, the whole cache is flushed, with everything other writers left in it. A device protected " +
		"against power loss reports write through and commits much faster.",
	Source: "kernel documentation on writeback cache control",
	Disagree: "No tool recommends a value: the kernel only reports it, and what it costs has to be measured. Switching " +
		"the cache off in the kernel alone (write_cache) makes commits fast by losing them.",
	Severity: inProduction(Medium, Info),
	Look:     lookWriteCache,
}

func lookWriteCache(f *host.Facts, _ Role) Outcome {
	var rs []reading
	var slow *host.Storage
	list := logs(f)
	for i, s := range list {
		if c := whole(s.Class); c.unknown() { // then there is no stack to judge
			rs = append(rs, c)
		}
		for _, l := range s.Stack {
			q := l.Queue
			// dm and md show what their members have; those are in the stack too.
			if q == nil || strings.HasPrefix(q.Name, "dm-") || strings.HasPrefix(q.Name, "md") {
				continue
			}
			r := read(q.WriteCache, func(v string) bool { return v != "write back" })
			if r.bad {
				fua := read(q.FUA, isTrue)
				switch {
				case fua.state == host.StateOK && !fua.bad:
					r.bad = false
				case fua.unknown():
					r.bad = false
				}
				fua.context = !fua.unknown()
				rs = append(rs, fua)
			}
			if r.bad && slow == nil {
				slow = &list[i]
			}
			rs = append(rs, r)
		}
	}
	return judge(rs, answers{
		absent: "no block device with a write cache is known below a log directory",
		ok:     "log writes need no flush of a whole volatile cache",
		bad: func([]reading) (string, string) {
			return "each commit flushes the device's whole cache; put the log on a device protected against power loss",
				measureLog(*slow) + cost(*slow)
		},
	})
}

// cost says what measuring would tell, where the log's own place can be measured.
func cost(s host.Storage) string {
	if measureLog(s) == measureDisk {
		return ""
	}
	return " # what a commit costs here"
}
