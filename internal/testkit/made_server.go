package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// server writes what is not about CPUs: memory, kernel settings, limits.
func (w *writer) server() {
	w.file("proc/cpuinfo", cpuinfo())
	w.file("proc/meminfo", fmt.Sprintf(`MemTotal:       %d kB
MemFree:        %d kB
MemAvailable:   %d kB
Buffers:          204800 kB
Cached:         83886080 kB
SwapTotal:       8388604 kB
SwapFree:        8388604 kB
Shmem:           1048576 kB
HugePages_Total:       0
HugePages_Free:        0
HugePages_Rsvd:        0
HugePages_Surp:        0
Hugepagesize:       2048 kB`, totalKiB, totalKiB/2, totalKiB/2))
	w.files("proc", "version", "Linux version 6.12.0-55.el10.x86_64 (gcc 14.2.1) #1 SMP PREEMPT_DYNAMIC",
		"cmdline", "BOOT_IMAGE=(hd0,gpt2)/vmlinuz-6.12.0-55.el10.x86_64 root=/dev/mapper/vg0-root ro crashkernel=2G",
		"uptime", "4233119.21 1998877665.10", "loadavg", "12.10 11.80 11.00 13/9876 123456",
		"pressure/cpu", "some avg10=0.10 avg60=0.08 avg300=0.05 total=123456\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0",
		"pressure/io",
		"some avg10=1.10 avg60=0.90 avg300=0.70 total=654321\nfull avg10=0.90 avg60=0.70 avg300=0.60 total=543210",
		"self/cgroup", "0::/", "self/limits", limits, "self/status",
		"Name:\thostlab\nUid:\t0\t0\t0\t0\nCpus_allowed_list:\t0-511\nMems_allowed_list:\t0-7")
	stat := []string{"cpu  512000000 1000 25600000 90000000000 100000 0 200000 0 0 0"}
	for c := range cpus {
		stat = append(stat, fmt.Sprintf("cpu%d 1000000 2 50000 175000000 200 0 400 0 0 0", c))
	}
	w.file("proc/stat", strings.Join(append(stat, "ctxt 123456789", "btime 1790000000", "processes 7654321"), "\n"))
	w.files("proc/sys/kernel", "hostname", "made512", "osrelease", "6.12.0-55.el10.x86_64", "ostype", "Linux",
		"numa_balancing",
		1,
		"pid_max", 4194304, "sem", "32000\t1024000000\t500\t32000", "shmmax", "18446744073692774399", "shmall",
		"18446744073692774399", "shmmni", 4096)
	w.files("proc/sys/vm", "swappiness", 60, "dirty_bytes", 0, "dirty_background_bytes", 0, "dirty_ratio", 20,
		"dirty_background_ratio", 10, "max_map_count", 1048576, "nr_hugepages", 0)
	w.files("proc/sys/fs", "aio-max-nr", 65536, "file-max", 9223372036854775807)
	w.files("sys/kernel/mm/transparent_hugepage", "enabled", "[always] madvise never", "defrag",
		"always defer defer+madvise "+
			"[madvise] never")
	w.files("sys/kernel/mm/ksm", "run", 0)
	w.files("sys/devices/system/clocksource/clocksource0", "current_clocksource", "tsc", "available_clocksource",
		"tsc hpet acpi_pm ")
	w.files("sys/module/nvme_core/parameters", "io_timeout", 30)
	w.files(cpuRoot+"/vulnerabilities", "meltdown", "Not affected", "spectre_v1",
		"Mitigation: usercopy/swapgs barriers and "+
			"__user pointer sanitization",
		"spectre_v2",
		"Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; STIBP: always-on; PBRSB-eIBRS: Not affected; BHI: "+
			"Not affected",
		"mds", "Not affected", "l1tf", "Not affected", "retbleed", "Not affected",
		"spec_store_bypass", "Mitigation: Speculative Store Bypass disabled via prctl")
	w.files("sys/class/dmi/id", "sys_vendor", "Example Computers", "product_name", "Twin 512", "bios_version", "2.4",
		"bios_date",
		"03/14/2026")
	w.files("sys/fs/cgroup", "cgroup.controllers", "cpuset cpu io memory hugetlb pids", "cpuset.cpus.effective", "0-511")
	w.files("etc", "hostname", "made512", "os-release", "ID=rhel\nPRETTY_NAME=\"Red Hat Enterprise Linux 10.0 "+
		"(Coughlan)\"\nVERSION_ID=\"10.0\"",
		"tuned/active_profile", "throughput-performance")
	if w.err == nil { // 2000 s: nobody has asked for a limit
		w.folder("dev")
		w.err = os.WriteFile(filepath.Join(w.dir, "dev/cpu_dma_latency"), []byte{0x00, 0x94, 0x35, 0x77}, 0o600)
	}
}

const limits = `Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 524288               files     
Max locked memory         8388608              8388608              bytes     
Max processes             1030000              1030000              processes `

// cpuinfo is as long as the real file, some 1.5 KiB for each CPU.
func cpuinfo() string {
	flags := "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht " +
		"syscall nx mmxext " +
		"fxsr_opt pdpe1gb rdtscp lm constant_tsc rep_good amd_lbr_v2 nopl xtopology nonstop_tsc cpuid extd_apicid " +
		"aperfmperf rapl pni " +
		"pclmulqdq monitor ssse3 fma cx16 pcid sse4_1 sse4_2 x2apic movbe popcnt aes xsave avx f16c rdrand lahf_lm cmp_legacy svm " +
		"extapic cr8_legacy abm sse4a misalignsse 3dnowprefetch osvw ibs skinit wdt tce topoext perfctr_core perfctr_nb bpext " +
		"perfctr_llc mwaitx cpb cat_l3 cdp_l3 hw_pstate ssbd mba perfmon_v2 ibrs ibpb stibp ibrs_enhanced vmmcall " +
		"fsgsbase tsc_adjust " +
		"bmi1 avx2 smep bmi2 erms invpcid cqm rdt_a avx512f avx512dq rdseed adx smap avx512ifma clflushopt clwb avx512cd sha_ni " +
		"avx512bw avx512vl xsaveopt xsavec xgetbv1 xsaves avx_vnni avx512_bf16 clzero irperf xsaveerptr rdpru wbnoinvd cppc arat npt " +
		"lbrv svm_lock nrip_save tsc_scale vmcb_clean flushbyasid decodeassists pausefilter pfthreshold avic v_vmsave_vmload vgif"
	var b strings.Builder
	for c := range cpus {
		core := c % cores
		fmt.Fprintf(&b,
			"processor\t: %d\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 17\nmodel name\t: AMD EPYC 9755 "+
				"128-Core Processor\n"+
				"stepping\t: 0\nmicrocode\t: 0xb101021\ncpu MHz\t\t: 1500.000\ncache size\t: 1024 KB\nphysical id\t: %d\nsiblings\t: "+
				"%d\ncore id\t\t: %d\n"+
				"cpu cores\t: %d\napicid\t\t: %d\nfpu\t\t: yes\nflags\t\t: %s\nbugs\t\t: sysret_ss_attrs spectre_v1 spectre_v2 "+
				"spec_store_bypass\n"+
				"bogomips\t: 4500.00\nclflush size\t: 64\naddress sizes\t: 52 bits physical, 57 bits virtual\n\n",
			c, core/perSock, perSock*threads, core%perSock, perSock, core*2+c/cores, flags)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// disks writes two NVMe disks, a partition on each, and LVM over both: dm-0 is
// the root, dm-1 the log.
func (w *writer) disks() {
	block := func(dev, name, number string, sectors int64, whole bool) {
		w.files(dev, "dev", number, "size", sectors, "ro", 0, "uevent",
			"MAJOR="+strings.Replace(number, ":", "\nMINOR=", 1)+"\nDEVNAME="+name)
		w.link("sys/class/block/"+name, dev)
		w.link("sys/dev/block/"+number, dev)
		if !whole {
			return
		}
		w.link("sys/block/"+name, dev)
		w.files(dev+"/queue", "rotational", 0, "scheduler", "[none] mq-deadline kyber bfq", "write_cache", "write through",
			"fua",
			1,
			"dax", 0, "nomerges", 0, "read_ahead_kb", 128, "nr_requests", 1023, "logical_block_size", 512, "physical_block_size",
			4096)
	}
	for i := range 2 {
		name := fmt.Sprintf("nvme%dn1", i)
		ctrl := fmt.Sprintf("sys/devices/pci0000:%d0/0000:%d0:01.1/0000:%d1:00.0/nvme/nvme%d", i+4, i+4, i+4, i)
		dev := ctrl + "/" + name
		block(dev, name, fmt.Sprintf("259:%d", i*2), 7501476528, true)
		w.files(ctrl, "model", "EXAMPLE NVME 3840G", "firmware_rev", "1.0", "transport", "pcie", "state", "live")
		w.link(dev+"/device", ctrl)
		part := dev + "/" + name + "p1"
		block(part, name+"p1", fmt.Sprintf("259:%d", i*2+1), 7501474480, false)
		w.file(part+"/partition", 1)
		for d := range 2 {
			dm := fmt.Sprintf("dm-%d", d)
			w.link(part+"/holders/"+dm, "sys/devices/virtual/block/"+dm)
			w.link(fmt.Sprintf("sys/devices/virtual/block/%s/slaves/%sp1", dm, name), part)
		}
	}
	for d, lv := range []string{"root", "log"} {
		dev := fmt.Sprintf("sys/devices/virtual/block/dm-%d", d)
		block(dev, fmt.Sprintf("dm-%d", d), fmt.Sprintf("253:%d", d), 4194304000, true)
		w.files(dev+"/dm", "name", "vg0-"+lv, "uuid", "LVM-k3Jx8Qw2ErTy7UiOp1AsDf5GhJk9LzXc"+lv, "suspended", 0)
	}
	mounts := []string{
		"22 1 253:0 / / rw,relatime shared:1 - xfs /dev/mapper/vg0-root rw,attr2,inode64,logbufs=8,noquota",
		"23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw",
		"24 22 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:2 - sysfs sysfs rw",
		"25 22 0:23 / /dev/shm rw,nosuid,nodev shared:4 - tmpfs tmpfs rw,size=792723456k",
		"26 24 0:24 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:3 - cgroup2 cgroup2 rw,nsdelegate",
		"27 22 253:1 / /var/lib/pgsql rw,noatime shared:30 - xfs /dev/mapper/vg0-log rw,attr2,inode64,logbufs=8,noquota",
	}
	w.file("proc/self/mountinfo", strings.Join(mounts, "\n"))
	w.folder("var/lib/pgsql")
}
