package setting

import (
	"errors"
	"math"
	"strings"

	"hostlab/internal/host"
)

const blockDir = "/sys/block/"

// queueFile makes objects of a queue's file of those disks that wanted keeps.
func queueFile(file string, wanted func(name string) bool) func(*System) ([]Object, error) {
	return func(sys *System) (list []Object, err error) {
		names, _ := sys.FS.ReadDir(strings.TrimSuffix(blockDir, "/"))
		for _, name := range names {
			if path := blockDir + name + "/queue/" + file; wanted(name) && sys.exists(path) {
				list = append(list, Object{Name: name, Path: path})
			}
		}
		if len(list) == 0 {
			return nil, errors.New("no disk with a request queue is seen")
		}
		return list, nil
	}
}

var ioScheduler = Setting{
	Name: "io_scheduler", Title: "I/O scheduler (queue/scheduler)", Order: rankBlock,
	About: "A scheduler sorts and holds back requests to spare a disk's head movements. Flash, arrays and virtual disks have their own, so that a second one " +
		"only adds latency; a machine's own rotating disks gain from mq-deadline. Requests in flight are waited for while it is switched.",
	Source:  "kernel documentation, block/switching-sched.rst; SAP notes 2578899, 1984787, 2161991, sapconf, AWS (none)",
	Values:  "a scheduler that the disk offers; name a disk: io_scheduler@sda=none",
	objects: queueFile("scheduler", host.HasQueue), levels: choices, parse: oneOf(choices),
	offline: known("none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq"), // the last three before Linux 5.0
}

var noMerges = Setting{
	Name: "nomerges", Title: "Merging of requests (queue/nomerges)", Order: rankBlock,
	About: "0 looks for neighbours to merge a request with, 1 only for simple ones, 2 not at all: less work for small random requests, more requests for " +
		"sequential ones.",
	Source:  "kernel documentation, ABI/stable/sysfs-block; Scylla perftune (2)",
	Values:  "0, 1 or 2; name a disk: nomerges@nvme0n1=2",
	objects: queueFile("nomerges", host.HasQueue), levels: fixed("0", "1", "2"), parse: oneOf(fixed("0", "1", "2")),
}

var readAhead = Setting{
	Name: "read_ahead_kb", Title: "Read-ahead (queue/read_ahead_kb)", Order: rankBlock, Rounds: true,
	About: "How far ahead of a sequential reader the kernel fetches. A file system takes that of the device it is on, so of a stack the top (dm, md) decides. " +
		"The kernel rounds to pages.",
	Source:  "kernel documentation, ABI/stable/sysfs-block; tuned throughput-performance (4096 and more)",
	Values:  "KiB, a whole number, or a size such as 4MiB; name a disk: read_ahead_kb@dm-0=4096",
	objects: queueFile("read_ahead_kb", func(name string) bool { return host.HasQueue(name) || host.IsStacked(name) }),
	parse:   size(0, 1<<22, 10), show: withUnit("KiB"),
}

var nvmeIOTimeout = Setting{
	Name: "nvme_io_timeout", Title: "NVMe timeout (nvme_core io_timeout)", Order: rankBlock,
	About: "After how many seconds without an answer the kernel gives a request up. It holds for disks that are attached from then on. On AWS, a volume on the " +
		"network is better waited for; local NVMe disks should keep the default of 30.",
	Source:  "AWS documentation on EBS and NVMe; SAP note 1656250 (4294967295)",
	Values:  "seconds, a whole number",
	objects: single("/sys/module/nvme_core/parameters/io_timeout", "the NVMe driver is not loaded, or shows no timeout"),
	parse:   whole(1, math.MaxUint32, "s"), show: withUnit("s"),
}
