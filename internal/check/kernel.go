package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// kernel holds the checks of limits, clocks, errors, sessions and vulnerabilities.
var kernel = []Check{
	{
		ID: "KRN-001", Subject: Kernel, Title: "Too few shared memory segments (shmmni)",
		For:      forAll(shmmniWants),
		Severity: inProduction(Low, Low),
		absent:   hidden("kernel.shmmni"), ok: "enough segments",
		look: func(f *host.Facts, _ Role) view {
			least, by := wanted(f, shmmniWants)
			v := see(read(f.Memory.ShmMni, func(n int64) bool { return n >= 0 && uint64(n) >= least }))
			v.bad = fmt.Sprintf("fewer segments than the %d that are recommended for %s", least, by.Product())
			return v
		},
		advise: func(f *host.Facts, _ Role) []setting.Assignment {
			least, _ := wanted(f, shmmniWants)
			return []setting.Assignment{{Name: "shmmni", Value: strconv.FormatUint(least, 10)}}
		},
	},
	{
		ID: "KRN-002", Subject: Kernel, Title: "Shared memory segments that must be small (shmmax)",
		Severity: inProduction(Low, Low),
		absent:   "the kernel does not show kernel.shmmax or the memory's size",
		ok:       "not below the memory's size", bad: "below the memory's size",
		look: func(f *host.Facts, _ Role) view {
			return see(read(f.Memory.ShmMax, atLeast(uint64(max(0, f.Memory.Total.Or(0))))).need(), needed(f.Memory.Total))
		},
	},
	{
		ID: "KRN-003", Subject: Kernel, Title: "Too little shared memory in all (shmall)",
		Severity: inProduction(Low, Low),
		absent:   "the kernel does not show kernel.shmall, the page or the memory's size", ok: "not below the memory's size",
		look: func(f *host.Facts, _ Role) view {
			pages := uint64(0)
			if p := f.Memory.PageSize.Or(0); p > 0 {
				pages = uint64(max(0, f.Memory.Total.Or(0)) / p)
			}
			v := see(read(f.Memory.ShmAll, atLeast(pages)).need(), needed(f.Memory.Total), needed(f.Memory.PageSize))
			v.bad = fmt.Sprintf("below the memory's size of %d pages", pages)
			return v
		},
	},
	{
		ID: "KRN-004", Subject: Kernel, Title: "Too few System V semaphores (sem)",
		For:      engines("hana", "sap", "oracle"),
		Severity: inProduction(Low, Low),
		absent:   hidden("kernel.sem"), ok: "enough semaphores", bad: "fewer semaphores than recommended",
		look: lookSemaphores,
		advise: func(f *host.Facts, _ Role) []setting.Assignment {
			return []setting.Assignment{{Name: "sem", Value: blanks(semWanted(f))}}
		},
	},
	{
		ID: "KRN-005", Subject: Kernel, Title: "Too few process numbers (pid_max)",
		Severity: inProduction(Low, Low),
		absent:   hidden("kernel.pid_max") + ", or not how many threads there are", ok: "enough for all threads",
		look: lookPIDs,
		advise: func(f *host.Facts, _ Role) []setting.Assignment {
			if f.Kernel.PIDMax.State != host.StateOK && !sapOnOldSLES(f) {
				return nil // few hosts need it
			}
			return []setting.Assignment{{Name: "pid_max", Value: strconv.Itoa(mostPIDs)}}
		},
	},
	{
		ID: "KRN-006", Subject: Kernel, Title: "Too few asynchronous I/O requests (aio-max-nr)",
		Severity: inProduction(Medium, Medium),
		absent:   hidden("fs.aio-max-nr") + ", or not how many are reserved", ok: "enough asynchronous requests",
		look: lookAIO, advise: adviseAIO,
	},
	{
		ID: "KRN-007", Subject: Kernel, Title: "Clock source that is slow to read",
		Severity: everywhere(High, Medium, Low),
		absent:   "the kernel names no clock source", ok: "the clock is read without a system call",
		look: func(f *host.Facts, _ Role) view {
			hv, known := f.Virt.Hypervisor.Get()
			v := see(read(f.Kernel.Clocksource, func(v string) bool {
				return slices.Contains(goodClocks, v) && (v != "kvm-clock" || !known || hv != "none")
			}).unless(slices.Contains(slices.Concat(goodClocks, slowClocks), f.Kernel.Clocksource.Value),
				"how long a reading takes tells (hostlab assess measures it)"), aside(f.Kernel.Clocksources))
			v.bad = "each reading of the clock costs a system call"
			v.fix = remedy{script("sudo dmesg | grep -i -e tsc -e clocksource").noting("why the kernel chose it")}
			if c := betterClock(f); c != "" {
				v.fix = append(v.fix,
					write(c, "/sys/devices/system/clocksource/clocksource0/current_clocksource").noting(effect("clocksource")))
			} else {
				v.bad += ", and no better source is offered"
			}
			return v
		},
		advise: func(f *host.Facts, _ Role) []setting.Assignment {
			if c := betterClock(f); c != "" {
				return []setting.Assignment{{Name: "clocksource", Value: c}}
			}
			return nil
		},
	},
	{
		ID: "KRN-008", Subject: Kernel, Title: "Short NVMe timeout on AWS (io_timeout)",
		Severity: inProduction(Medium, Medium),
		absent:   "the NVMe driver is not loaded, or shows no timeout", ok: "requests wait as long as the driver can",
		bad: "a volume that is away for this long is given up", look: lookNVMe, advise: adviseNVMe,
	},
	{
		ID: "KRN-009", Subject: Kernel, Title: "Clock that no time server keeps",
		Severity: inProduction(Info, Info),
		absent:   "nothing tells whether the clock is kept",
		ok:       "as far as the kernel knows, a program keeps the clock with a time server",
		bad:      "as far as the kernel knows, no program keeps the clock with a time server",
		fix: remedy{run("timedatectl", "show", "-p", "NTP", "-p", "NTPSynchronized"),
			script("chronyc tracking").noting("with chrony, and rtcsync in its configuration")},
		left: "a time server has to be chosen",
		look: func(f *host.Facts, _ Role) view {
			return see(readAs(f.Kernel.ClockSynced, func(kept bool) string {
				if kept {
					return "synchronised"
				}
				return "unsynchronised"
			}, is(true)))
		},
	},
	{
		ID: "KRN-010", Subject: Kernel, Title: "Processor listed as vulnerable",
		Severity: inProduction(Info, Info),
		absent:   "the kernel lists none", ok: "nothing is listed as vulnerable",
		bad: "the kernel lists the processor as vulnerable",
		fix: remedy{run("grep", "-r", ".", "/sys/devices/system/cpu/vulnerabilities"),
			remark("newer microcode, from the distribution or the hypervisor's owner, mends most")},
		left: "it takes microcode, or a decision about mitigations",
		look: func(f *host.Facts, _ Role) view {
			v := see(maskedCPUs(f)...)
			for _, m := range f.Kernel.Mitigations {
				r := read(m.Text, func(t string) bool { return !vulnerable(t) })
				r = r.unless(r.bad || isMitigated(m.Text.Value),
					"the kernel's documentation on hardware vulnerabilities explains it")
				v.readings = append(v.readings, r)
			}
			if bad := wrong(v.readings); len(bad) > 0 {
				v.readings = bad // the list is long, and what is well says nothing
			}
			return v
		},
	},
	{
		ID: "KRN-011", Subject: Kernel, Title: "CPUs divided by session (autogroup)",
		For:      engines("postgresql"),
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   hidden("kernel.sched_autogroup_enabled"), ok: "sessions get no share of their own",
		bad: "the CPUs are divided " +
			"among sessions first",
		goals: func(f *host.Facts) []goal { return []goal{lowered("sched_autogroup_enabled", f.Kernel.Autogroup, 0)} },
	},
	{
		ID: "KRN-012", Subject: Kernel, Title: "No panic after a kernel error, for Oracle",
		For:      engines("oracle"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   hidden("kernel.panic_on_oops"), ok: "the host stops at a kernel error",
		bad:   "the host goes on after a kernel error",
		goals: func(f *host.Facts) []goal { return []goal{raised("panic_on_oops", f.Kernel.PanicOnOops, 1)} },
	},
	{
		ID: "KRN-013", Subject: Kernel, Title: "Too few open files in all (file-max), for Oracle",
		For:      engines("oracle"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   hidden("fs.file-max"), ok: "as many as Oracle wants", bad: "fewer than Oracle wants",
		goals: filesWanted,
	},
	{
		ID: "KRN-014", Subject: Kernel, Title: "Too few System V message queues (msgmni)",
		For:      engines("sap"),
		Severity: map[Role]Severity{ProductionApp: Low},
		absent:   hidden("kernel.msgmni"), ok: "enough message queues", bad: "fewer than recommended",
		goals: func(f *host.Facts) []goal { return []goal{raised("msgmni", f.Kernel.MsgMni, 1024)} },
	},
	{
		ID: "KRN-015", Subject: Kernel, Title: "HANA's guest that reads kvm-clock, not tsc",
		For:      engines("hana"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   "the kernel names no clock source, or offers no tsc", ok: "the guest reads tsc", bad: "the guest reads " +
			"kvm-clock, and tsc is offered",
		goals: guestClockWanted,
	},
	{
		ID: "KRN-016", Subject: Kernel, Title: "Accelerators without work queues (DSA, IAA)",
		Severity: inProduction(Info, Info),
		absent:   "the processor has no such accelerators, or their driver is not loaded",
		ok:       "each accelerator has a work queue",
		bad:      "an accelerator has no work queue that is enabled",
		left:     "only programs that know it use it: measure before changing it",
		fix:      remedy{run("sudo", "accel-config", "list").noting("and accel-config load-config, to set queues up")},
		look: func(f *host.Facts, _ Role) view {
			v := see(maskedCPUs(f)...)
			for _, a := range f.Offload {
				v.readings = append(v.readings, read(a.Queues, atLeast[int64](1)))
			}
			return v
		},
	},
}

// vulnerable and isMitigated tell by how the kernel begins (cpu_show_common in arch/x86/kernel/cpu/bugs.c, Linux 6.12).
// Behind "KVM:" stands what holds for a hypervisor's guests. "Unknown: ..." is neither.
func vulnerable(text string) bool {
	text = strings.TrimPrefix(text, "KVM: ")
	return strings.HasPrefix(text, "Vulnerable") || strings.HasPrefix(text, "Processor vulnerable")
}

func isMitigated(text string) bool {
	text = strings.TrimPrefix(text, "KVM: ")
	return strings.HasPrefix(text, "Not affected") || strings.HasPrefix(text, "Mitigation")
}

func hidden(sysctl string) string { return "the kernel does not show " + sysctl }

// lookSemaphores compares with SEMMSL, SEMMNS, SEMOPM and SEMMNI of tuned sap-netweaver, or oracle.
// semWanted are the numbers of the most demanding server: those of SAP's, or Oracle's.
func semWanted(f *host.Facts) []int {
	if runs(f, "hana") || runs(f, "sap") {
		return []int{32000, 1024000000, 500, 32000}
	}
	return []int{250, 32000, 100, 128}
}

func lookSemaphores(f *host.Facts, _ Role) view {
	wanted := semWanted(f)
	sem := f.Kernel.Sem
	if v, ok := sem.Get(); ok && len(v) != len(wanted) {
		sem = host.Fact[[]int]{Source: sem.Source, State: host.StateError,
			Reason: fmt.Sprintf("expected 4 numbers, found %d", len(v))}
	}
	return see(readAs(sem, blanks, func(v []int) bool {
		for i, want := range wanted {
			if v[i] < want {
				return false
			}
		}
		return true
	}))
}

// goodClocks are read without leaving user space. kvm-clock counts where KVM is
// below; the others are the only ones of Arm, Power, IBM Z, RISC-V and LoongArch.
var goodClocks = []string{"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase", "tod",
	"riscv_clocksource",
	"Constant"}

// slowClocks take a system call, and most an access to a device.
var slowClocks = []string{"hpet", "acpi_pm", "xen", "hyperv_clocksource_msr", "jiffies", "refined-jiffies", "pit",
	"arch_mem_counter",
	"tsc-early", "vmware"}

// betterClock is an offered clock source that is read without a system call; or "".
func betterClock(f *host.Facts) string {
	for _, c := range strings.Fields(f.Kernel.Clocksources.Or("")) {
		if c == "tsc" || c == "hyperv_clocksource_tsc_page" {
			return c
		}
	}
	return ""
}
