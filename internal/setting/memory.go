package setting

const (
	thpDir = "/sys/kernel/mm/transparent_hugepage/"
	noTHP  = "the kernel has no transparent huge pages"
	// minFree is the memory that the kernel keeps free. It is no setting, and restored with others.
	minFree = "/proc/sys/vm/min_free_kbytes"
)

// memory holds the settings of memory below /sys; those of /proc/sys/vm are sysctls.
var memory = []Setting{
	{
		Name: "thp", Title: "Transparent huge pages (enabled)", Order: rankMemory,
		File: thpDir + "enabled", Absent: noTHP, Takes: words{from: ".", known: []string{"always", "madvise", "never"}},
		// With huge pages the kernel raises its reserve to have room to compact. Without them it computes
		// the reserve anew, or leaves it raised where it had been set (mm/khugepaged.c,
		// set_recommended_min_free_kbytes; seen with Linux 6.12).
		Moves:  []Move{{Setting: "min_free_kbytes", File: minFree}},
		Effect: "pages in use stay as they are until they are given back",
		Words:  []Word{{Tool: "tuned", Option: "vm/transparent_hugepages"}, {Tool: "saptune", Option: "vm/THP"}},
	},
	{
		Name: "thp_defrag", Title: "Compaction for huge pages (defrag)", Order: rankMemory,
		File: thpDir + "defrag", Absent: noTHP, Takes: words{from: ".",
			known: []string{"always", "defer", "defer+madvise", "madvise", "never"}},
		Advice: map[string]string{"MEM-002": "madvise"},
		Effect: "a page fault may get a small page where it waited for a large one",
	},
	{
		Name: "ksm", Title: "Kernel samepage merging (ksm/run)", Order: rankMemory,
		File: "/sys/kernel/mm/ksm/run", Absent: "the kernel has no samepage merging",
		Takes:  words{known: []string{"0", "1", "2"}},
		Advice: map[string]string{"MEM-003": "0"}, Effect: "what is merged stays merged, and takes no memory now",
		Words:  []Word{{Tool: "saptune", Option: "vm/KSM"}},
		AtBoot: map[string]string{"2": "0"}, // at boot nothing is merged, and 0 is what all tools take
		Tries:  []Try{{"1", ""}, {"2", ""}},
	},
	{
		Name: "clocksource", Title: "Clock source", Order: rankSysctl,
		Effect: "the clock may jump once",
		Values: "a source that the kernel offers",
		File:   "/sys/devices/system/clocksource/clocksource0/current_clocksource",
		Absent: "the kernel names no clock source",
		Takes:  words{from: "available_clocksource"},
	},
}
