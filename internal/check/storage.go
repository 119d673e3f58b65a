package check

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

const noDisks = "no disk with a request queue is seen"

// storage holds the checks of disks and of what the log lies on.
var storage = []Check{
	{
		ID: "STO-001", Subject: Log, Title: "Requests sorted in vain (I/O scheduler)",
		Severity: inProduction(Medium, Low),
		absent:   noDisks + ", other than rotating ones", ok: "requests go to the devices unsorted",
		bad: "requests are sorted before they go to a device that does so itself",
		look: func(f *host.Facts, _ Role) view {
			v := ofDisks(f, disks(f), func(b host.BlockDevice) bool { return !spinning(f, b) },
				func(b host.BlockDevice) reading {
					r := read(b.Scheduler, func(c host.Choice) bool { return unsorted(c) == "" })
					if now := b.Scheduler.Value.Active; r.state == host.StateOK && !r.bad {
						r.context = slices.Contains(sortingSchedulers, now) // and nothing better is offered
						r = r.unless(r.context || now == "none" || now == "noop",
							"the kernel's documentation on block devices names its schedulers")
					}
					return r
				}, "", "")
			if slices.ContainsFunc(v.readings, func(r reading) bool { return r.context }) {
				v.absent = "the kernel offers no scheduler that leaves requests unsorted"
			}
			return v.atMost(sortingWeighs(f))
		},
		advise: func(f *host.Facts, _ Role) (list []setting.Assignment) {
			if len(f.Block) == 0 {
				return []setting.Assignment{{Name: "io_scheduler", Value: "none"}}
			}
			for _, b := range disks(f) {
				if c, ok := b.Scheduler.Get(); ok && !spinning(f, b) && unsorted(c) != "" {
					list = append(list, setting.Assignment{Name: "io_scheduler", Object: b.Name, Value: unsorted(c)})
				}
			}
			return list
		},
	},
	{
		ID: "STO-002", Subject: Log, Title: "Requests searched for neighbours (nomerges)",
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   "no NVMe device or SSD is seen", ok: "requests are not searched for neighbours",
		bad: "each request is searched for neighbours to merge with", left: "measure before changing it",
		look: func(f *host.Facts, _ Role) view {
			return ofDisks(f, disks(f), func(b host.BlockDevice) bool {
				return b.Class == host.ClassNVMe || b.Class == host.ClassSSD
			},
				func(b host.BlockDevice) reading { return read(b.NoMerges, is[int64](2)) }, "nomerges", "2")
		},
	},
	{
		ID: "STO-003", Subject: Log, Title: "Small read-ahead",
		Severity: inProduction(Info, Info),
		absent:   noDisks, ok: "sequential reads fetch at least 4 MiB ahead",
		bad:  "smaller than what profiles for throughput set",
		left: "it pays for scans only: measure before changing it",
		look: func(f *host.Facts, _ Role) view {
			if runs(f, "mongodb") {
				return view{absent: "MongoDB asks for a small window, 8 to 32 sectors, as its reads are random"}
			}
			return ofDisks(f, readingAhead(f), func(host.BlockDevice) bool { return true },
				func(b host.BlockDevice) reading { return read(b.ReadAhead, atLeast[int64](readAheadWanted)) }, "read_ahead_kb",
				"4096")
		},
	},
	{
		ID: "STO-004", Subject: Log, Title: "Log file system mounted with discard",
		Severity: inProduction(Medium, Low),
		ok:       "freed blocks are not trimmed in line with writes", look: lookDiscard,
	},
	{
		ID: "STO-005", Subject: Log, Title: "Persistent memory used as a block device (no DAX)",
		Severity: inProduction(Medium, Low),
		absent:   "no log directory lies on persistent memory, or the kernel does not say whether DAX is in force",
		ok:       "programs store to persistent memory directly",
		bad:      "the log lies on persistent memory, but goes through the page cache",
		look:     lookDAX,
	},
	{
		ID: "STO-006", Subject: Log, Title: "Log directory in volatile memory",
		Severity: everywhere(High, High, Low),
		ok:       "logs lie on storage that keeps them", fix: measureDisk,
		look: func(f *host.Facts, _ Role) view {
			v, first := ofClass(f, host.ClassMemory, func(host.Storage) bool { return false })
			v.bad = lies(first) + " does not survive a reboot"
			return v
		},
	},
	{
		ID: "STO-007", Subject: Log, Title: "Log directory on a network file system",
		Severity: inProduction(Medium, Low),
		ok:       "logs lie on storage of this machine, or on one that the vendor certifies",
		look: func(f *host.Facts, _ Role) view {
			v, first := ofClass(f, host.ClassNetwork, certified)
			v.bad, v.fix = lies(first)+" waits for the network at each commit", measureLog(first, "")
			return v
		},
	},
	{
		ID: "STO-008", Subject: Log, Title: "Log device with a volatile write cache",
		Severity: inProduction(Medium, Info),
		absent:   "no block device with a write cache is known below a log directory",
		ok:       "as the kernel has it, no device below a log has a volatile write cache to flush", look: lookWriteCache,
	},
}

// hiddenDisks is the reading of a host that shows no disk since /sys is hidden.
func hiddenDisks(f *host.Facts) []reading {
	if len(f.Block) == 0 && f.Topology.Present.State == host.StateMasked {
		return []reading{whole(f.Topology.Present)}
	}
	return nil
}

// disks are the whole devices whose queue settings mean something: no loop, RAM
// or optical devices, and no dm or md, which hand their requests on.
func disks(f *host.Facts) []host.BlockDevice {
	var out []host.BlockDevice
	for _, b := range f.Block {
		if host.HasQueue(b.Name) {
			out = append(out, b)
		}
	}
	return out
}

// readingAhead are the devices whose read-ahead counts. A file system takes that of
// the device it is on (its bdi), so of a stack the top, dm or md, decides.
func readingAhead(f *host.Facts) []host.BlockDevice {
	list := disks(f)
	for _, b := range f.Block {
		if host.IsStacked(b.Name) {
			list = append(list, b)
		}
	}
	return list
}

// spinning reports a rotating disk that is this machine's own. Hypervisors and
// storage arrays leave the rotational flag set on volumes that do not rotate.
func spinning(f *host.Facts, b host.BlockDevice) bool {
	return b.Class == host.ClassDisk && b.Rotational.Or(false) && f.Virt.Hypervisor.Or("none") == "none"
}

// ofDisks reads a setting of the disks that it is judged for, and writes a value to the file of those that
// differ, unless that is advised. Hidden disks make it unknown.
func ofDisks(f *host.Facts, list []host.BlockDevice, judged func(host.BlockDevice) bool,
	look func(host.BlockDevice) reading, file, value string) view {
	v := see(hiddenDisks(f)...)
	var files []string
	for _, b := range list {
		if !judged(b) {
			continue
		}
		r := look(b)
		if v.readings = append(v.readings, r); len(wrong([]reading{r})) > 0 {
			files = append(files, "/sys/block/"+b.Name+"/queue/"+file)
		}
	}
	if file != "" {
		v.fix = remedy{into(value, files...), tillBoot}
	}
	return v
}

// sortingWeighs is how much a scheduler on the worst of the disks matters.
func sortingWeighs(f *host.Facts) (worst Severity) {
	for _, b := range disks(f) {
		if c, ok := b.Scheduler.Get(); ok && !spinning(f, b) && unsorted(c) != "" {
			worst = max(worst, sortingOn(f, b))
		}
	}
	return worst
}

// sortingOn is the most that a scheduler weighs on a disk: those that answer in some 10 us lose most. Disks that answer
// in 100 us or more lose next to nothing, so that only SAP's notes decide there.
func sortingOn(f *host.Facts, b host.BlockDevice) Severity {
	sap := runs(f, "hana") || runs(f, "sap")
	switch {
	case (b.Class == host.ClassVirtual || b.Class == host.ClassSSD || b.Class == "") && !sap:
		return Info
	case b.Class == host.ClassSSD:
		return Low
	}
	return High
}

// sortingSchedulers are those that sort requests, or hold them back.
var sortingSchedulers = []string{"mq-deadline", "bfq", "kyber", "deadline", "cfq", "anticipatory", "adios"}

// unsorted is the scheduler to have in place of the one in force; "": that one, or nothing better.
func unsorted(c host.Choice) string {
	switch {
	case c.Active == "none" || c.Active == "noop":
		return ""
	case c.Has("none"):
		return "none"
	case c.Has("noop"): // kernels before 5.0 without blk-mq
		return "noop"
	}
	return ""
}

// readAheadWanted is 4096 KiB, from tuned throughput-performance.
const readAheadWanted = 4096 << 10

// lies describes where a path's storage is, for evidence and details.
func lies(s host.Storage) string {
	where := s.MountPoint.Or("")
	if s.Path == "" {
		return s.Purpose
	}
	if where == "" {
		return cmp.Or(s.Purpose, "path") + " " + s.Path
	}
	return fmt.Sprintf("%s %s on %s", cmp.Or(s.Purpose, "path"), s.Path, where)
}

// logs are the directories to judge: those whose storage was asked about, and the
// logs of servers that this user may not see, of which nothing is known. Without
// them it would look as if there were no log.
func logs(f *host.Facts) []host.Storage {
	list := slices.Clone(f.Storage)
	for _, d := range f.Databases {
		for _, l := range append([]host.ServerLog{{Purpose: d.Kind + " log", Dir: d.LogDir}}, d.MoreLogs...) {
			if whole(l.Dir).unknown() {
				list = append(list, host.Storage{Purpose: fmt.Sprintf("%s of process %d", l.Purpose, d.PID), PID: d.PID,
					Class: l.Dir, Options: l.Dir})
			}
		}
	}
	return list
}

// noLog says why no log directory can be judged.
func noLog(f *host.Facts) string {
	if len(logs(f)) == 0 {
		return "no log directory was named or found (--log-dir)"
	}
	return "this does not apply to what the log lies on, or the kernel does not tell"
}

// measureLog tells what a commit costs on a path. Measuring takes a directory that it can write a file to.
func measureLog(s host.Storage, why string) remedy {
	if s.Raw() || s.NetworkFS() {
		return measureDisk
	}
	return remedy{run("hostlab", "assess", "--log-dir", s.Path).noting(why)}
}

// measureDisk finds a place that can be measured, where the log's own cannot.
var measureDisk = remedy{
	run("findmnt", "-o", "TARGET,FSTYPE,SOURCE", "--real").noting("choose a file system on a disk, and measure it:"),
	run("hostlab", "assess", "--log-dir", "DIRECTORY"),
}

// ofLog puts the log's place after the path of a reading.
func ofLog(r reading, s host.Storage) reading {
	r.path, r.of = r.path+" ("+lies(s)+")", s.PID
	return r
}

func lookDAX(f *host.Facts, _ Role) (v view) {
	for _, s := range logs(f) {
		class, known := s.Class.Get()
		if !known {
			r := whole(s.Class).because(notKnown(s))
			r.context = len(s.Stack) > 0 && !slices.ContainsFunc(s.Stack,
				func(l host.StackLayer) bool { return l.Kind == "pmem" })
			v.readings = append(v.readings, r)
			continue
		}
		if class != host.ClassPmem && class != host.ClassPmemDAX {
			continue
		}
		r := ofLog(read(s.DAX, is(true)), s)
		if v.readings = append(v.readings, r); r.bad && v.fix == nil {
			v.fix = daxFix(s)
		}
	}
	return v
}

func daxFix(s host.Storage) remedy {
	list := run("sudo", "ndctl", "list", "-N").noting("the namespace must be of mode fsdax")
	if fs, ok := s.FSType.Get(); ok && fs != "ext4" && fs != "xfs" {
		return remedy{list, remark("its file system has no DAX: make it anew as ext4 or xfs")}
	}
	dir := s.MountPoint.Or(s.Path)
	return remedy{list, remark("stop the database; dax cannot be switched on by a remount"), run("sudo", "umount", dir),
		run("sudo", "mount", "-o", "dax=always", s.Device.Or("/dev/pmem0"), dir)}
}

// notKnown says why it is not known what a path's storage is.
func notKnown(s host.Storage) string {
	return fmt.Sprintf("it is not known what %s lies on: %s", lies(s), cmp.Or(s.Class.Reason, "no reason recorded"))
}

// classes are those that storage can be of.
var classes = []string{host.ClassNetwork, host.ClassDisk, host.ClassVirtual, host.ClassSSD, host.ClassNVMe,
	host.ClassPmem, host.ClassPmemDAX,
	host.ClassMemory}

// certified reports the log of a server whose vendor certifies network storage for it.
func certified(s host.Storage) bool { return s.Purpose == "oracle log" || s.Purpose == "hana log" }

// ofClass finds log directories of one class of storage, which is wrong but for exempt ones, and the first of
// them.
func ofClass(f *host.Facts, class string, exempt func(host.Storage) bool) (v view, first host.Storage) {
	v.absent = noLog(f)
	found := false
	for _, s := range logs(f) {
		r := readAs(s.Class, func(v string) string { return v + " (" + cmp.Or(s.FSType.Or(""), "file system unknown") + ")" },
			func(v string) bool { return v != class || exempt(s) }).
			unless(slices.Contains(classes, s.Class.Value), "lsblk tells what it is")
		if v.readings = append(v.readings, ofLog(r, s).because(notKnown(s))); r.bad && !found {
			first, found = s, true
		}
	}
	return v, first
}
