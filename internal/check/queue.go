package check

import (
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/screen"
)

const (
	noDisks   = "no disk with a request queue is seen"
	keepQueue = "# udev rules or a tuned profile keep it over a reboot"
)

// hiddenDisks is the reading of a host that shows no disk since /sys is hidden.
func hiddenDisks(f *host.Facts) []reading {
	if len(f.Block) == 0 && host.Masked(f.Topology.Present) {
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

var scheduler = Check{
	ID: "STO-001", Lever: LeverLog, Title: "I/O scheduler",
	Why: "A scheduler sorts and holds back requests to spare a disk's head movements. Flash, arrays and virtual disks " +
		"have their own, so a second one only adds latency and a lock to each write of the log.",
	Source: "SAP notes 2578899, 1984787, 2161991; sapconf; AWS documentation (none)",
	Disagree: "The notes ask for none wherever it is offered. A machine's own rotating disks are not judged, since " +
		"those gain from mq-deadline.",
	Severity: inProduction(Medium, Low),
	Look: func(f *host.Facts, _ Role) Outcome {
		rs := hiddenDisks(f)
		for _, b := range disks(f) {
			if spinning(f, b) {
				continue
			}
			rs = append(rs, read(b.Scheduler, func(c host.Choice) bool {
				return c.Active == "none" || c.Active == "noop" || !c.Has("none") && !c.Has("noop")
			}))
		}
		return judge(rs, answers{
			absent: noDisks + ", other than rotating ones",
			ok:     "requests go to the devices unsorted",
			bad: func([]reading) (string, string) {
				value := "none"
				for _, b := range disks(f) {
					if c := b.Scheduler.Or(host.Choice{}); c.Has("noop") && !c.Has("none") {
						value = "noop" // kernels before 5.0 without blk-mq
					}
				}
				return "requests are sorted before they go to a device that does so itself",
					forDisks(disks(f), "scheduler", value, func(b host.BlockDevice) bool { return sorted(f, b) })
			},
		})
	},
}

// sorted reports a disk whose scheduler STO-001 advises to take away.
func sorted(f *host.Facts, b host.BlockDevice) bool {
	c, ok := b.Scheduler.Get()
	return ok && !spinning(f, b) && c.Active != "none" && c.Active != "noop" && (c.Has("none") || c.Has("noop"))
}

// forDisks is the command that writes one queue setting on the disks that need it.
func forDisks(list []host.BlockDevice, file, value string, wants func(host.BlockDevice) bool) string {
	var names []string
	for _, b := range list {
		if wants(b) {
			names = append(names, screen.Word(b.Name))
		}
	}
	return "for d in " + strings.Join(names, " ") + "; do echo " + value + " | sudo tee \"/sys/block/$d/queue/" + file +
		"\"; done\n" + keepQueue
}

var noMerges = Check{
	ID: "STO-002", Lever: LeverLog, Title: "Merging of requests (nomerges)",
	Why: "Before it queues a request the kernel looks for a neighbour to merge it with. A load of small random requests " +
		"on flash finds none and pays for the search; sequential loads gain from merging.",
	Source: "Scylla perftune (2)",
	Disagree: "Only perftune asks for it, for Scylla's own I/O. The kernel's default 0 suits databases with sequential " +
		"scans and backups, so this is information: measure before changing it. Judged on NVMe and SSD only.",
	Severity: map[Role]Severity{ProductionDB: Info},
	Look: func(f *host.Facts, _ Role) Outcome {
		flash := func(b host.BlockDevice) bool { return b.Class == host.ClassNVMe || b.Class == host.ClassSSD }
		good := func(v int64) bool { return v == 2 }
		rs := hiddenDisks(f)
		for _, b := range disks(f) {
			if flash(b) {
				rs = append(rs, read(b.NoMerges, good))
			}
		}
		return judge(rs, answers{
			absent: "no NVMe device or SSD is seen",
			ok:     "requests are not searched for neighbours",
			bad: func([]reading) (string, string) {
				return "each request is searched for neighbours to merge with",
					forDisks(disks(f), "nomerges", "2", func(b host.BlockDevice) bool {
						v, ok := b.NoMerges.Get()
						return ok && flash(b) && !good(v)
					})
			},
		})
	},
}

// readAheadWanted is 4096 KiB, from tuned throughput-performance.
const readAheadWanted = 4096 << 10

var readAhead = Check{
	ID: "STO-003", Lever: LeverLog, Title: "Read-ahead",
	Why: "Read-ahead fetches what follows a sequential read before it is asked for. A larger window speeds scans, " +
		"backups and extracts through the page cache; random reads and direct I/O do not use it.",
	Source: "tuned throughput-performance (4096 KiB or more)",
	Disagree: "The throughput profiles raise it, the latency profiles leave the default of 128 KiB, since a large " +
		"window wastes bandwidth and memory on wrong guesses. Information only: it pays for scans, not for commits.",
	Severity: inProduction(Info, Info),
	Look: func(f *host.Facts, _ Role) Outcome {
		good := func(v int64) bool { return v >= readAheadWanted }
		rs := hiddenDisks(f)
		for _, b := range readingAhead(f) {
			rs = append(rs, read(b.ReadAhead, good))
		}
		return judge(rs, answers{
			absent: noDisks,
			ok:     "sequential reads fetch at least 4 MiB ahead",
			bad: func([]reading) (string, string) {
				return "smaller than what profiles for throughput set",
					forDisks(readingAhead(f), "read_ahead_kb", "4096", func(b host.BlockDevice) bool {
						v, ok := b.ReadAhead.Get()
						return ok && !good(v)
					})
			},
		})
	},
}
