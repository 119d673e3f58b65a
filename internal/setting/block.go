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
		Values: "0, 1 or 2; name a disk: nomerges@nvme0n1=2",
		File:   queueDir + "nomerges", Absent: noQueue, Takes: words{known: []string{"0", "1", "2"}},
		Tries: []Try{{"2", ""}, {"1", ""}},
	},
	{
		Name: "read_ahead_kb", Title: "Read-ahead (queue/read_ahead_kb)", Order: rankBlock, Rounds: true,
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
		Values: "seconds, a whole number",
		File:   "/sys/module/nvme_core/parameters/io_timeout", Absent: "the NVMe driver is not loaded, or shows no timeout",
		Takes: quantity{lo: 1, hi: math.MaxUint32, unit: "s"},
		Tries: []Try{{"4294967295", ""}},
	},
	{
		Name: "io_timeout", Title: "Timeout of a disk's requests (queue/io_timeout)", Order: rankBlock, Rounds: true,
		Values: "milliseconds, a whole number, or a time such as 30s; name a disk: io_timeout@nvme1n1=4294967295",
		File:   queueDir + "io_timeout", Absent: "no disk's driver gives requests up after a time",
		Effect: "programs wait for a device that does not answer",
		Takes:  quantity{lo: 1, hi: math.MaxUint32, unit: "ms"},
		Tries:  []Try{{"60000", ""}, {"4294967295", "4294967288"}},
	},
}
