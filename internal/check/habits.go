package check

import (
	"fmt"
	"strconv"
	"strings"

	"hostlab/internal/host"
)

// stalls holds the checks of write-back's times, and of memory that everybody waits for.
var stalls = []Check{
	{
		ID: "MEM-010", Subject: Memory, Title: "Age of unwritten file data",
		Covers: []string{"vm.dirty_expire_centisecs", "vm.dirty_writeback_centisecs"},
		Why: "Written data stay in memory for 30 s by default, then go to the disk in one portion. Oracle's and SQL Server's " +
			"profiles have them written after 5 s, so that portions are small.",
		Source: "tuned oracle and mssql (500 and 100 hundredths of a second)",
		Disagree: "Both servers write their data past the page cache where they can, so that only backups and exports feel it. " +
			"Other sources leave it alone. So it is information only.",
		For:      engines("oracle", "sqlserver"),
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   "the kernel does not show these times", ok: "old data are written as soon as the profiles ask for",
		bad: "data stay unwritten for longer than the profiles have it", look: seeing(agesWanted), advise: advising(agesWanted),
	},
	{
		ID: "MEM-011", Subject: Memory, Title: "Time in which all tasks wait for memory (pressure)",
		Why: "In this share of the last five minutes no task could go on, since all that had work waited for memory to be " +
			"freed or swapped in. A database then answers at the pace of the disk, whatever its caches hold.",
		Source:   "kernel documentation, accounting/psi.rst (full); 1 % is a bound of ours",
		Severity: inProduction(Medium, Medium),
		absent:   "the kernel accounts no pressure", ok: "at most 1 % of the last five minutes",
		bad: "nothing could run for a part of the last five minutes, since all waited for memory",
		fix: remedy{script("ps -eo rss,swap,pid,comm --sort=-rss | head").noting("who has the memory; systemd-cgtop -m shows " +
			"it by service"),
			remark("give the database's cache less, or the machine more")},
		left: "who takes the memory has to be found first",
		look: func(f *host.Facts, _ Role) view {
			return see(readAs(f.Kernel.StalledMemory, share, func(v float64) bool { return v <= 0.01 }))
		},
	},
}

// habits holds the checks of what the kernel does by habit: clocks, errors, sessions, vulnerabilities.
var habits = []Check{
	{
		ID: "KRN-009", Subject: Kernel, Title: "Clock kept by a time server",
		Why: "A clock that nobody keeps drifts by seconds a week. Logs of several hosts no longer fit together, and clusters " +
			"that compare times throw nodes out. It costs no response time.",
		Source: "adjtimex(2), STA_UNSYNC; lynis; MongoDB, Oracle and SAP ask for a time server",
		Disagree: "chrony tells the kernel only with rtcsync, and tools of hypervisors and PTP do not: the clock may be right " +
			"although the kernel does not know. So it is information.",
		Severity: inProduction(Info, Info),
		absent:   "nothing tells whether the clock is kept", ok: "a program keeps the clock with a time server",
		bad: "as far as the kernel knows, no program keeps the clock with a time server",
		fix: remedy{run("timedatectl", "show", "-p", "NTP", "-p", "NTPSynchronized"),
			script("chronyc tracking").noting("with chrony, and rtcsync in its configuration")},
		left: "a time server has to be chosen",
		look: func(f *host.Facts, _ Role) view { return see(read(f.Kernel.ClockSynced, is(true))) },
	},
	{
		ID: "KRN-010", Subject: Kernel, Title: "Vulnerabilities of the processor",
		Covers: []string{"perfspect/Vulnerabilities"},
		Why: "The kernel lists what is known to be wrong with this processor and what it does about it. Vulnerable means: " +
			"nothing, or not enough, often since the microcode is old or a mitigation was switched off.",
		Source: "PerfSpect; kernel documentation, admin-guide/hw-vuln",
		Disagree: "Mitigations cost time, and some hosts that run one program only do without on purpose. That is a decision about " +
			"safety, not about response time, so it is information.",
		Severity: inProduction(Info, Info),
		absent:   "the kernel lists none", ok: "nothing is listed as vulnerable",
		bad: "the kernel lists the processor as vulnerable",
		fix: remedy{run("grep", "-r", ".", "/sys/devices/system/cpu/vulnerabilities"),
			remark("newer microcode, from the distribution or the hypervisor's owner, mends most")},
		left: "it takes microcode, or a decision about mitigations",
		look: func(f *host.Facts, _ Role) view {
			v := see(maskedCPUs(f)...)
			for _, m := range f.Kernel.Mitigations {
				v.readings = append(v.readings, read(m.Text, func(t string) bool { return !strings.HasPrefix(t, "Vulnerable") }))
			}
			if bad := wrong(v.readings); len(bad) > 0 {
				v.readings = bad // the list is long, and what is well says nothing
			}
			return v
		},
	},
	{
		ID: "KRN-011", Subject: Kernel, Title: "A share of the CPUs for each session (autogroup)",
		Covers: []string{"kernel.sched_autogroup_enabled"},
		Why: "The scheduler divides the CPUs among sessions first. A server that was started from a terminal is one session: " +
			"all its processes together get what one other session gets.",
		Source: "tuned postgresql (0); sched(7)",
		Disagree: "Processes in a control group with CPU settings are not divided so, which is most of what systemd starts. " +
			"So it is information, for PostgreSQL alone.",
		For:      engines("postgresql"),
		Severity: map[Role]Severity{ProductionDB: Info},
		absent:   hidden("kernel.sched_autogroup_enabled"), ok: "sessions get no share of their own",
		bad: "the CPUs are divided " +
			"among sessions first",
		look: seeing(autogroupWanted), advise: advising(autogroupWanted),
	},
	{
		ID: "KRN-012", Subject: Kernel, Title: "Panic after a kernel error, for Oracle",
		Covers: []string{"kernel.panic_on_oops"},
		Why: "After an error in the kernel the host may go on without the part that failed: sessions hang for locks that nobody " +
			"gives back, and a cluster sees a node that still answers. After a panic the other node takes over at once.",
		Source: "1: tuned oracle; Oracle's installation guides",
		Disagree: "A single server may prefer to go on until a person looks. So it is judged for Oracle alone, with the " +
			"least severity.",
		For:      engines("oracle"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   hidden("kernel.panic_on_oops"), ok: "the host stops at a kernel error",
		bad:  "the host goes on after a kernel error",
		look: seeing(oopsWanted), advise: advising(oopsWanted),
	},
	{
		ID: "KRN-013", Subject: Kernel, Title: "Open files in all (file-max), for Oracle",
		Covers: []string{"fs.file-max"},
		Why: "Each of Oracle's processes opens all files that it needs: hundreds of them, for thousands of processes. When " +
			"the system's number is used up no file can be opened.",
		Source:   "6815744: tuned oracle; Oracle's installation guides",
		Disagree: "systemd sets the most that there can be at boot (since 240), so a lower value is one that a person has set.",
		For:      engines("oracle"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   hidden("fs.file-max"), ok: "as many as Oracle wants", bad: "fewer than Oracle wants",
		look: seeing(filesWanted), advise: advising(filesWanted),
	},
	{
		ID: "KRN-014", Subject: Kernel, Title: "System V message queues (msgmni)",
		Covers:   []string{"kernel.msgmni"},
		Why:      "SAP BusinessObjects' servers talk over message queues. When the system's number is used up a server does not start.",
		Source:   "1024: saptune's note SAP_BOBJ",
		Disagree: "The kernel's default has been 32000 since Linux 3.19, so a lower value is one that a person has set.",
		For:      engines("sap"),
		Severity: map[Role]Severity{ProductionApp: Low},
		absent:   hidden("kernel.msgmni"), ok: "enough message queues", bad: "fewer than recommended",
		look: seeing(queuesWanted), advise: advising(queuesWanted),
	},
	{
		ID: "KRN-015", Subject: Kernel, Title: "Clock source of HANA's guests on KVM",
		Covers: []string{"sysfs/current_clocksource"},
		Why: "HANA reads the clock millions of times a second. kvm-clock asks a page of the hypervisor and computes at each " +
			"reading, while tsc is one instruction and a multiplication.",
		Source: "tuned sap-hana-kvm-guest (tsc)",
		Disagree: "tsc in a guest is right only where the hypervisor keeps it so over a migration. For other databases kvm-clock " +
			"is good enough (KRN-007).",
		For:      engines("hana"),
		Severity: map[Role]Severity{ProductionDB: Low},
		absent:   "the kernel names no clock source, or offers no tsc", ok: "the guest reads tsc", bad: "the guest reads " +
			"kvm-clock, and tsc is offered",
		look: seeing(guestClockWanted), advise: advising(guestClockWanted),
	},
	{
		ID: "KRN-016", Subject: Kernel, Title: "Accelerators without work queues (DSA, IAA)",
		Covers: []string{"perfspect/DSA work queues", "perfspect/IAA work queues"},
		Why: "The processor has engines that copy and compress memory without its cores. Programs reach them through work " +
			"queues, of which none is set up.",
		Source:   "PerfSpect",
		Disagree: "Only programs that know them use them, and most databases do not: ask your vendor first. So it is information only.",
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

// share shows a share of time as pressure has it.
func share(v float64) string { return fmt.Sprintf("%.2f %% of the last 5 minutes", 100*v) }

// maskedCPUs is the reading of a host whose /sys is hidden, which tells nothing of its processor.
func maskedCPUs(f *host.Facts) []reading {
	if host.Masked(f.Topology.Present) {
		return []reading{whole(f.Topology.Present)}
	}
	return nil
}

func agesWanted(f *host.Facts) []goal {
	within := func(most float64) func(float64) bool { return func(v float64) bool { return v > 0 && v <= most } }
	return []goal{{"dirty_expire_centisecs", "500", read(f.Memory.DirtyExpire, within(5))},
		{"dirty_writeback_centisecs", "100", read(f.Memory.DirtyWriteback, within(1))}}
}

func autogroupWanted(f *host.Facts) []goal {
	return []goal{lowered("sched_autogroup_enabled", f.Kernel.Autogroup, 0)}
}

func oopsWanted(f *host.Facts) []goal {
	return []goal{raised("panic_on_oops", f.Kernel.PanicOnOops, 1)}
}

func filesWanted(f *host.Facts) []goal {
	const want = 6815744
	return []goal{{"file_max", strconv.Itoa(want), read(f.Kernel.FileMax, atLeast[uint64](want))}}
}

func queuesWanted(f *host.Facts) []goal { return []goal{raised("msgmni", f.Kernel.MsgMni, 1024)} }

func guestClockWanted(f *host.Facts) []goal {
	offered := f.Kernel.Clocksources
	v, ok := offered.Get()
	if ok && !strings.Contains(fmt.Sprintf(" %s ", v), " tsc ") {
		return nil
	}
	name := "clocksource"
	if !ok {
		name = "" // nobody knows whether tsc is offered
	}
	return []goal{{name, "tsc", read(f.Kernel.Clocksource, func(v string) bool { return v != "kvm-clock" })},
		{reading: needed(offered)}}
}
