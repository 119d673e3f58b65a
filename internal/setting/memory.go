package setting

const (
	thpDir = "/sys/kernel/mm/transparent_hugepage/"
	noTHP  = "the kernel has no transparent huge pages"
	// minFree is the memory that the kernel keeps free. It is no setting, and put back with others.
	minFree = "/proc/sys/vm/min_free_kbytes"
)

var thp = Setting{
	Name: "thp", Title: "Transparent huge pages (enabled)", Order: rankMemory,
	About: "With always, the kernel gives any program 2 MiB pages unasked and may compact memory in a page fault; with madvise only those that ask; with " +
		"never none. Pages that are in use already stay as they are.",
	Source:  "kernel documentation, admin-guide/mm/transhuge.rst; never: SAP note 2205917, tuned oracle, postgresql; madvise: SAP note 3577842, sapconf; always: tuned mssql",
	Values:  "always, madvise or never",
	objects: single(thpDir+"enabled", noTHP), levels: choices, parse: oneOf(choices), offline: known("always", "madvise", "never"),
	// With huge pages the kernel raises its reserve to have room to compact. Without them it computes
	// the reserve anew, or leaves it raised where somebody had set one (mm/khugepaged.c,
	// set_recommended_min_free_kbytes; seen with Linux 6.12).
	disturbs: func(sys *System, _ Object, _ string) (list []Side, err error) {
		if sys.exists(minFree) {
			list = append(list, Side{Setting: "min_free_kbytes", Object: Object{Path: minFree}})
		}
		return list, nil
	},
}

var thpDefrag = Setting{
	Name: "thp_defrag", Title: "Compaction for huge pages (defrag)", Order: rankMemory,
	About: "What a page fault does that finds no free huge page: always stops to compact memory, madvise does so for programs that asked, defer leaves it " +
		"to a background task, never gives a small page.",
	Source:  "kernel documentation, admin-guide/mm/transhuge.rst; the sources of thp",
	Values:  "always, defer, defer+madvise, madvise or never",
	objects: single(thpDir+"defrag", noTHP), levels: choices, parse: oneOf(choices),
	offline: known("always", "defer", "defer+madvise", "madvise", "never"),
}

var ksm = Setting{
	Name: "ksm", Title: "Kernel samepage merging (ksm/run)", Order: rankMemory,
	About: "1 scans memory and merges pages of equal content; 0 stops, and keeps what was merged; 2 stops and takes merged pages apart again, which needs " +
		"memory for them and takes a while.",
	Source:  "kernel documentation, admin-guide/mm/ksm.rst; SAP notes 2205917, 2684254, 3577842; sapconf (0)",
	Values:  "0, 1 or 2",
	objects: single("/sys/kernel/mm/ksm/run", "the kernel has no samepage merging"),
	levels:  fixed("0", "1", "2"), parse: oneOf(fixed("0", "1", "2")),
}

const clockDir = "/sys/devices/system/clocksource/clocksource0/"

var clockLevels = wordsOf(func(Object) string { return clockDir + "available_clocksource" })

var clocksource = Setting{
	Name: "clocksource", Title: "Clock source", Order: rankSysctl,
	About: "What the kernel reads the time from. tsc costs some 20 ns; hpet and acpi_pm cost a system call and an access to a device each. If the kernel has " +
		"left tsc it had found it unstable: find out why before forcing it back.",
	Source:  "kernel documentation, ABI/testing/sysfs-devices-system (clocksource); Scylla perftune (tsc; kvm-clock on KVM)",
	Values:  "a source that the kernel offers",
	objects: single(clockDir+"current_clocksource", "the kernel names no clock source"), levels: clockLevels, parse: oneOf(clockLevels), offline: word,
}
