package check

import (
	"slices"

	"hostlab/internal/host"
)

// disk makes a block device with its queue's settings; read-ahead in KiB.
func disk(name, class, scheduler string, noMerges, readAhead int64) host.BlockDevice {
	dir := "/sys/block/" + name + "/queue"
	return host.BlockDevice{Name: name, Class: class,
		Rotational: known(class == host.ClassDisk, dir+"/rotational"),
		Scheduler:  pick(dir+"/scheduler", scheduler),
		NoMerges:   known(noMerges, dir+"/nomerges"),
		ReadAhead:  size(readAhead<<10, dir+"/read_ahead_kb"),
	}
}

func drives(hypervisor string, ds ...host.BlockDevice) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Block = slices.Clone(ds)
		f.Virt.Hypervisor = known(hypervisor, "cpuid")
	}
}

func lost(change func(b *host.BlockDevice)) func(*host.Facts) {
	b := disk("nvme0n1", host.ClassNVMe, "[none]", 2, 4096)
	change(&b)
	return drives("none", b)
}

var queueCases = []lookCase{
	{id: "STO-001", name: "mq-deadline on two NVMe", want: Finding,
		evidence: "/sys/block/nvme{0-1}n1/queue/scheduler = [mq-deadline] none",
		remedy:   "echo none | sudo tee /sys/block/nvme0n1/queue/scheduler /sys/block/nvme1n1/queue/scheduler",
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[mq-deadline] none", 0, 128),
			disk("nvme1n1", host.ClassNVMe, "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "only the wrong one is mended", want: Finding,
		remedy: "sudo tee /sys/block/sdb/queue/scheduler #",
		facts: drives("none", disk("sda", host.ClassSSD, "[none] bfq", 0, 128),
			disk("sdb", host.ClassSSD, "none [bfq]", 0, 128))},
	{id: "STO-001", name: "noop of an older kernel", want: Finding, remedy: "echo noop",
		facts: drives("none", disk("sda", host.ClassSSD, "noop deadline [cfq]", 0, 128))},
	{id: "STO-001", name: "a volume that says it rotates", want: Finding,
		facts: drives("vmware", disk("sda", host.ClassDisk, "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "none", want: OK, facts: drives("none",
		disk("nvme0n1", host.ClassNVMe, "[none] mq-deadline", 0, 128))},
	{id: "STO-001", name: "a scheduler that nobody knows", want: Unknown, detail: "does not know the value",
		facts: drives("none", disk("vda", host.ClassVirtual, "[foo] bar", 0, 128))},
	{id: "STO-001", name: "no choice", want: NotApplicable, detail: "no scheduler that leaves",
		facts: drives("none", disk("vda", host.ClassVirtual, "[mq-deadline] kyber", 0, 128))},
	{id: "STO-001", name: "own rotating disk", want: NotApplicable,
		facts: drives("none", disk("sda", host.ClassDisk, "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "only loop and dm", want: NotApplicable,
		facts: drives("none", disk("loop0", "", "[mq-deadline] none", 0, 128),
			disk("dm-0", "", "[mq-deadline] none", 0, 128))},
	{id: "STO-001", name: "denied", want: Unknown,
		facts: lost(func(b *host.BlockDevice) { b.Scheduler = denied[host.Choice]("/sys/block/nvme0n1/queue/scheduler") })},

	{id: "STO-002", name: "merging", want: Finding, remedy: "echo 2",
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[none]", 0, 128))},
	{id: "STO-002", name: "not merging", want: OK,
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[none]", 2, 128))},
	{id: "STO-002", name: "rotating", want: NotApplicable,
		facts: drives("none", disk("sda", host.ClassDisk, "[none]", 0, 128))},
	{id: "STO-002", name: "application server", role: ProductionApp, want: NotApplicable,
		facts: drives("none", disk("nvme0n1", host.ClassNVMe, "[none]", 0, 128))},
	{id: "STO-002", name: "error", want: Unknown,
		facts: lost(func(b *host.BlockDevice) { b.NoMerges = failed[int64]("/sys/block/nvme0n1/queue/nomerges") })},

	{id: "STO-003", name: "default", want: Finding, evidence: "131072 B (128 KiB)", remedy: "echo 4096",
		facts: drives("none", disk("vda", host.ClassVirtual, "[none]", 0, 128))},
	{id: "STO-003", name: "raised on the disk, not on the volume that files are read from", want: Finding,
		remedy: "/sys/block/dm-0/queue/read_ahead_kb",
		facts:  drives("none", disk("dm-0", "", "[none]", 0, 128), disk("nvme0n1", host.ClassNVMe, "[none]", 0, 4096))},
	{id: "STO-003", name: "raised", want: OK, facts: drives("none", disk("vda", host.ClassVirtual, "[none]", 0, 4096))},
	{id: "STO-003", name: "no disk", want: NotApplicable, facts: drives("none")},
	{id: "STO-003", name: "denied", want: Unknown,
		facts: lost(func(b *host.BlockDevice) { b.ReadAhead = denied[int64]("/sys/block/nvme0n1/queue/read_ahead_kb") })},
}
