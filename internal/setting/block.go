package setting

import (
	"math"
	"syscall"
)

const (
	queueDir = blockDir + "*/queue/"
	noQueue  = "no disk with a request queue is seen"
)

// block holds the settings of disks.
var block = []Setting{
	{
		Name: "io_scheduler", Title: "I/O scheduler (queue/scheduler)", Order: rankBlock,
		About: "A scheduler sorts and holds back requests to spare a disk's head movements. Flash, arrays and virtual " +
			"disks have their own, so that a second one " +
			"only adds latency; a machine's own rotating disks gain from mq-deadline. Requests in flight are waited for while " +
			"it is switched.",
		Source: "kernel documentation, block/switching-sched.rst; SAP notes 2578899, 1984787, 2161991, sapconf, AWS (none)",
		Values: "a scheduler that the disk offers; name a disk: io_scheduler@sda=none",
		File:   queueDir + "scheduler", Absent: noQueue, Unrotating: true,
		Effect: "requests in flight are waited for",
		// A scheduler brings its own number of requests (block/blk-mq-sched.c, blk_mq_init_sched).
		Moves: []Move{{Setting: "nr_requests"}},
		// The last three before Linux 5.0.
		Takes: words{from: ".", known: []string{"none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq"}},
		Words: []Word{
			{Tool: "tuned", Option: "disk/elevator", Each: true},
			{Tool: "saptune", Option: "block/IO_SCHEDULER", Each: true},
		},
	},
	{
		Name: "nomerges", Title: "Merging of requests (queue/nomerges)", Order: rankBlock,
		About: "0 looks for neighbours to merge a request with, 1 only for simple ones, 2 not at all: less work for small " +
			"random requests, more requests for " +
			"sequential ones.",
		Source: "kernel documentation, ABI/stable/sysfs-block; Scylla perftune (2)",
		Values: "0, 1 or 2; name a disk: nomerges@nvme0n1=2",
		File:   queueDir + "nomerges", Absent: noQueue, Takes: words{known: []string{"0", "1", "2"}},
		Tries: []Try{{"2", ""}, {"1", ""}},
	},
	{
		Name: "read_ahead_kb", Title: "Read-ahead (queue/read_ahead_kb)", Order: rankBlock, Rounds: true,
		About: "How far ahead of a sequential reader the kernel fetches. A file system takes that of the device it is on, " +
			"so of a stack the top (dm, md) decides. " +
			"The kernel rounds to pages.",
		Source: "kernel documentation, ABI/stable/sysfs-block; tuned throughput-performance (4096 and more)",
		Values: "KiB, a whole number, or a size such as 4MiB; name a disk: read_ahead_kb@dm-0=4096",
		File:   queueDir + "read_ahead_kb", Absent: noQueue, Stacked: true, Takes: quantity{hi: 1 << 22, unit: "KiB"},
		Words: []Word{
			{Tool: "tuned", Option: "disk/readahead", Each: true},
			{Tool: "saptune", Option: "block/READ_AHEAD_KB", Each: true},
		},
		Tries: []Try{{"4096", ""}},
	},
	{
		Name: "nr_requests", Title: "Requests in a queue (queue/nr_requests)", Order: rankBlock,
		About: "How many requests wait for a disk, or are in it, before those who issue more have to wait. Many let a " +
			"scheduler sort and merge; few " +
			"keep the queue, and with it the wait of each request, short. Without a scheduler it is at most what the disk's " +
			"driver takes. " +
			"A change of the scheduler resets it.",
		Source: "kernel documentation, ABI/stable/sysfs-block; saptune NRREQ",
		Values: "a whole number from 4 to 10240; name a disk: nr_requests@sda=64",
		File:   queueDir + "nr_requests", Absent: noQueue,
		// block/blk-sysfs.c, queue_requests_store, raises fewer than BLKDEV_MIN_RQ; no tag set has more than
		// BLK_MQ_MAX_DEPTH.
		Takes: quantity{lo: 4, hi: 10240},
		refusals: []refusal{{syscall.EINVAL, "with a scheduler 2048 are the most, without one as many as the disk's driver " +
			"takes"}},
		Words: []Word{{Tool: "saptune", Option: "block/NRREQ", Each: true}},
		Tries: []Try{{"64", ""}},
	},
	{
		Name: "nvme_io_timeout", Title: "NVMe timeout (nvme_core io_timeout)", Order: rankBlock,
		Effect: "programs wait for a device that does not answer",
		About: "After how many seconds without an answer the kernel gives a request up. It holds for disks that are " +
			"attached from then on; io_timeout is that of " +
			"one that is. On AWS, a volume on the network is better waited for; local NVMe disks should keep the default of 30.",
		Source: "AWS documentation on EBS and NVMe; SAP note 1656250 (4294967295)",
		Values: "seconds, a whole number",
		File:   "/sys/module/nvme_core/parameters/io_timeout", Absent: "the NVMe driver is not loaded, or shows no timeout",
		Takes: quantity{lo: 1, hi: math.MaxUint32, unit: "s"},
		Tries: []Try{{"4294967295", ""}},
	},
	{
		Name: "io_timeout", Title: "Timeout of a disk's requests (queue/io_timeout)", Order: rankBlock, Rounds: true,
		About: "After how many milliseconds without an answer the kernel gives a request of this disk up. Only drivers " +
			"that can do so have it. The kernel keeps " +
			"it in ticks of its clock, and may show a little less.",
		Source: "kernel documentation, ABI/stable/sysfs-block; block/blk-sysfs.c (queue_io_timeout_store)",
		Values: "milliseconds, a whole number, or a time such as 30s; name a disk: io_timeout@nvme1n1=4294967295",
		File:   queueDir + "io_timeout", Absent: "no disk's driver gives requests up after a time",
		Effect: "programs wait for a device that does not answer",
		Takes:  quantity{lo: 1, hi: math.MaxUint32, unit: "ms"},
		Tries:  []Try{{"60000", ""}, {"4294967295", "4294967288"}},
	},
}
