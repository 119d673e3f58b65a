package setting

import "math"

// limits holds the settings of write-back's times, and of limits and habits of the kernel that some databases ask for.
var limits = []Setting{
	{
		Sysctl: "vm.dirty_expire_centisecs", Title: "Age at which unwritten file data are written",
		Takes:  quantity{lo: 1, hi: math.MaxInt32},
		Effect: "the kernel writes file data earlier, and more often",
		About: "After how many hundredths of a second written data are old enough that the kernel writes them to the disk, " +
			"however little there is. " +
			"A shorter time makes the portions smaller, and writes more often what is changed again soon.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst; tuned oracle, mssql (500)",
		Tries:  []Try{{"500", ""}},
	},
	{
		Sysctl: "vm.dirty_writeback_centisecs", Title: "How often the kernel looks for old unwritten data",
		Takes:  quantity{hi: math.MaxInt32},
		Effect: "the kernel writes more often",
		About: "How many hundredths of a second pass between two looks for data that are old enough to be written. 0 " +
			"never looks.",
		Source: "kernel documentation, admin-guide/sysctl/vm.rst; tuned oracle, mssql (100)",
		Tries:  []Try{{"100", ""}},
	},
	{
		Sysctl: "kernel.sched_autogroup_enabled", Title: "A share of the CPUs for each session", Takes: onOff{},
		Effect: "a busy session takes more from the others",
		About: "With on, the scheduler divides the CPUs among login sessions first. All processes of a server then share " +
			"what one terminal gets. It has " +
			"no effect on processes in a group of their own (cgroup), where systemd puts services that have CPU settings.",
		Source: "sched(7), The autogroup feature; tuned postgresql (0)",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "kernel.panic_on_oops", Title: "Panic after a kernel error", Takes: onOff{},
		Effect: "the host stops at an error that it might have survived",
		About: "With off, the kernel ends the process in which an error showed and goes on, perhaps with locks that nobody " +
			"gives back. With on it panics, " +
			"so that a cluster's other node takes over at once. kernel.panic says whether it reboots.",
		Source: "kernel documentation, admin-guide/sysctl/kernel.rst; tuned oracle (1)",
		Tries:  []Try{{"on", "1"}},
	},
	{
		Sysctl: "kernel.msgmni", Limit: true, Title: "System V message queues", Takes: quantity{hi: 1 << 24},
		About:  "How many System V message queues there may be. A limit, which reserves nothing.",
		Source: "kernel documentation, admin-guide/sysctl/kernel.rst; saptune's note SAP_BOBJ (1024)",
		Tries:  []Try{{"1024", ""}},
	},
	{
		Sysctl: "fs.file-max", Limit: true, Title: "Open files in all", Takes: quantity{hi: math.MaxInt64},
		About:  "How many files all processes together may hold open. Root may exceed it. A limit, which reserves nothing.",
		Source: "kernel documentation, admin-guide/sysctl/fs.rst; tuned oracle (6815744)",
		Tries:  []Try{{"6815744", ""}},
	},
}
