package check

import (
	"math"

	"hostlab/internal/host"
)

const kernDir = "/proc/sys/kernel"

func segments(maximum, pages uint64, total int64) func(*host.Facts) {
	return mem(func(m *host.Memory) {
		m.ShmMax, m.ShmAll = host.Known(maximum, "B", kernDir+"/shmmax"), known(pages, kernDir+"/shmall")
		m.Total, m.PageSize = size(total, "/proc/meminfo"), size(4096, "getpagesize")
	})
}

func kern(set func(k *host.Kernel)) func(*host.Facts) {
	return func(f *host.Facts) { set(&f.Kernel) }
}

func clock(active, offered, hypervisor string) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Kernel.Clocksource = known(active, "/sys/devices/system/clocksource/clocksource0/current_clocksource")
		f.Kernel.Clocksources = known(offered, "/sys/devices/system/clocksource/clocksource0/available_clocksource")
		f.Virt.Hypervisor = known(hypervisor, "cpuid")
	}
}

func nvme(product, model, kernel string, timeout uint64) func(*host.Facts) {
	return func(f *host.Facts) {
		f.Identity.Product, f.Identity.Kernel = known(product, "/sys/class/dmi/id"), known(kernel, "uname")
		f.Block = []host.BlockDevice{{Name: "nvme0n1", Model: known(model, "/sys/block/nvme0n1/device/model"),
			Class: host.ClassNVMe}}
		f.Kernel.NVMeIOTimeout = host.Known(timeout, "s", "/sys/module/nvme_core/parameters/io_timeout")
	}
}

// waiting is a volume with a timeout of its own, in s, under a driver with the longest for those to come.
func waiting(s float64) func(*host.Facts) {
	return func(f *host.Facts) {
		nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0", math.MaxUint32)(f)
		f.Block[0].IOTimeout = host.Known(s, "s", "/sys/block/nvme0n1/queue/io_timeout")
	}
}

var kernelCases = []lookCase{

	{id: "KRN-002", name: "smaller than memory", facts: segments(32<<20, 1<<60, 8*gib), want: Finding,
		remedy: "kernel.shmmax="},
	{id: "KRN-002", name: "kernel's default", facts: segments(18446744073692774399, 1<<60, 8*gib), want: OK},
	{id: "KRN-002", name: "memory unknown", want: NotApplicable,
		facts: mem(func(m *host.Memory) { m.ShmMax = known[uint64](1, kernDir+"/shmmax") })},
	{id: "KRN-002", name: "error", want: Unknown, facts: func(f *host.Facts) {
		segments(1, 1, 1)(f)
		f.Memory.ShmMax = failed[uint64](kernDir + "/shmmax")
	}},

	{id: "KRN-003", name: "2 MiB pages' worth", facts: segments(math.MaxUint64, 2<<20-1, 8*gib), want: Finding,
		remedy: "kernel.shmall="},
	{id: "KRN-003", name: "just all memory", facts: segments(math.MaxUint64, 2<<20, 8*gib), want: OK},
	{id: "KRN-003", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "KRN-003", name: "page size unknown", want: Unknown, facts: func(f *host.Facts) {
		segments(1, 1, 1)(f)
		f.Memory.PageSize = failed[int64]("getpagesize")
	}},

	{id: "KRN-007", name: "hpet", facts: clock("hpet", "hpet acpi_pm", "none"), want: Finding, detail: "no better source",
		remedy: "dmesg"},
	{id: "KRN-007", name: "xen with tsc offered", facts: clock("xen", "xen tsc hpet", "xen"), want: Finding,
		remedy: "echo tsc"},
	{id: "KRN-007", name: "Hyper-V by register", facts: clock("hyperv_clocksource_msr", "hyperv_clocksource_msr",
		"hyper-v"), want: Finding},
	{id: "KRN-007", name: "tsc", facts: clock("tsc", "tsc hpet", "none"), want: OK},
	{id: "KRN-007", name: "kvm-clock on KVM", facts: clock("kvm-clock", "kvm-clock tsc", "kvm"), want: OK},
	{id: "KRN-007", name: "Hyper-V's page", facts: clock("hyperv_clocksource_tsc_page", "hyperv_clocksource_tsc_page",
		"hyper-v"), want: OK},
	{id: "KRN-007", name: "arm64", facts: clock("arch_sys_counter", "arch_sys_counter", "none"), want: OK},
	{id: "KRN-007", name: "development", role: Development, facts: clock("hpet", "hpet", "none"), want: Finding},
	{id: "KRN-007", name: "none", facts: func(*host.Facts) {}, want: NotApplicable},
	{id: "KRN-007", name: "denied", want: Unknown,
		facts: kern(func(k *host.Kernel) { k.Clocksource = denied[string]("current_clocksource") })},

	{id: "KRN-008", name: "default on AWS", facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0", 30),
		want:     Finding,
		evidence: "io_timeout = 30 s", remedy: "echo 4294967295"},
	{id: "KRN-008", name: "known by the volume in a container", facts: nvme("", "Amazon Elastic Block Store", "6.1.0", 30),
		want: Finding},
	{id: "KRN-008", name: "an attached volume keeps its own", want: Finding, evidence: "nvme0n1/queue/io_timeout = 30 s",
		remedy: "echo 4294967295 | sudo tee /sys/block/nvme0n1/queue/io_timeout", facts: waiting(30)},
	{id: "KRN-008", name: "an attached volume waits, as the kernel shows it", want: OK, facts: waiting(4294966.296)},
	{id: "KRN-008", name: "an attached volume's own cannot be read", want: Unknown, facts: func(f *host.Facts) {
		waiting(30)(f)
		f.Block[0].IOTimeout = denied[float64]("/sys/block/nvme0n1/queue/io_timeout")
	}},
	{id: "KRN-008", name: "a local disk of AWS", facts: nvme("Amazon EC2 i4i.large", "Amazon EC2 NVMe Instance Storage",
		"6.1.0", 30), want: NotApplicable},
	{id: "KRN-008", name: "longest", facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0",
		math.MaxUint32), want: OK},
	{id: "KRN-008", name: "longest of an old kernel",
		facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "4.14.355-aws", 255), want: OK},
	{id: "KRN-008", name: "255 on a newer kernel",
		facts: nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "5.10.0", 255), want: Finding},
	{id: "KRN-008", name: "elsewhere", facts: nvme("Dell Inc. PowerEdge", "Samsung", "6.1.0", 30), want: NotApplicable},
	{id: "KRN-008", name: "denied", want: Unknown, facts: func(f *host.Facts) {
		nvme("Amazon EC2 m5.large", "Amazon Elastic Block Store", "6.1.0", 30)(f)
		f.Kernel.NVMeIOTimeout = denied[uint64]("/sys/module/nvme_core/parameters/io_timeout")
	}},
}
