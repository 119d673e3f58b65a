package setting

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/screen"
)

// Named returns the setting that a person names: by its name here, or by its sysctl's as sysctl(8)
// takes it, vm.swappiness or vm/swappiness. The error spells what was perhaps meant.
func Named(name string) (Setting, error) { return everywhere.named(name) }

func (sys *System) named(name string) (Setting, error) {
	key := sysctlKey(name)
	var keys, last []string
	for _, s := range sys.all() {
		if s.Name == name || s.Windows() && strings.EqualFold(s.Name, name) || s.Sysctl != "" && s.Sysctl == key {
			return s, nil
		}
		if s.Sysctl != "" {
			keys, last = append(keys, s.Sysctl), append(last, lastPart(s.Sysctl))
		}
	}
	if key == "" || len(keys) == 0 {
		return Setting{}, unknown(sys, name)
	}
	// Only the last parts are compared: that all lie in vm makes no two of them alike.
	if near := screen.Meant(lastPart(key), last); near != "" {
		return Setting{}, fmt.Errorf("%s: no such sysctl is known; did you mean %s?", screen.Short(name),
			keys[slices.Index(last, near)])
	}
	return Setting{}, fmt.Errorf("%s: hostlab does not set this sysctl; hostlab settings lists those "+
		"that it does", screen.Short(name))
}

// sysctlRoots are the directories of /proc/sys (kernel documentation, admin-guide/sysctl/index.rst).
var sysctlRoots = []string{"abi", "crypto", "debug", "dev", "fs", "kernel", "net", "sunrpc", "user", "vm"}

// sysctlKey writes a sysctl's name or file with dots; "" for a name that is none.
func sysctlKey(name string) string {
	key := strings.ReplaceAll(strings.TrimPrefix(name, "/proc/sys/"), "/", ".")
	if root, _, dotted := strings.Cut(key, "."); !dotted || !slices.Contains(sysctlRoots, root) {
		return ""
	}
	return key
}

func lastPart(key string) string { return key[strings.LastIndex(key, ".")+1:] }

// sysctls holds the settings below /proc/sys, by their sysctl's name; name, file and rank follow from it.
var sysctls = []Setting{
	{
		Sysctl: "kernel.numa_balancing", Title: "Automatic NUMA balancing", Takes: quantity{hi: 3},
		Effect: "memory stays on the node where it is",
		Tries:  []Try{{"1", ""}},
	},
	{
		Sysctl: "vm.swappiness", Title: "Swappiness", Takes: quantity{hi: 200},
		Advice: map[string]string{"MEM-006": "10"}, Effect: "file data leaves memory sooner",
		Tries: []Try{{"10", ""}, {"0", ""}, {"200", ""}},
	},
	{
		Sysctl: "vm.dirty_background_bytes", Title: "Unwritten file data at which writing starts, in bytes",
		Takes:  quantity{lo: 1, hi: math.MaxInt64, unit: "B"},
		Rival:  "dirty_background_ratio",
		Effect: "replaces vm.dirty_background_ratio, which then reads 0",
		Tries:  []Try{{"314572800", ""}},
	},
	{
		Sysctl: "vm.dirty_background_ratio", Title: "Unwritten file data at which writing starts, in % of memory",
		Takes: quantity{lo: 1, hi: 100, unit: "%"},
		Rival: "dirty_background_bytes",
		Tries: []Try{{"5%", "5"}},
	},
	{
		// dirty_bytes takes two pages at least (mm/page-writeback.c, dirty_bytes_min).
		Sysctl: "vm.dirty_bytes", Title: "Unwritten file data at which writers stop, in bytes",
		Takes:  quantity{lo: 8192, hi: math.MaxInt64, unit: "B"},
		Rival:  "dirty_ratio",
		Effect: "replaces vm.dirty_ratio, which then reads 0",
		Tries:  []Try{{"629145600", ""}},
	},
	{
		Sysctl: "vm.dirty_ratio", Title: "Unwritten file data at which writers stop, in % of memory",
		Takes: quantity{lo: 1, hi: 100, unit: "%"},
		Rival: "dirty_bytes",
		Tries: []Try{{"40", ""}},
	},
	{
		Sysctl: "vm.max_map_count", Limit: true, Title: "Memory mappings that a process may have",
		Takes: quantity{hi: math.MaxInt32},
		Tries: []Try{{"2147483647", ""}},
	},
	{
		Sysctl: "vm.zone_reclaim_mode", Title: "Reclaim within a node first", Takes: quantity{hi: 7},
		Advice: map[string]string{"MEM-009": "0"}, Effect: "memory may come from a node that is farther away",
		Tries: []Try{{"1", ""}},
	},
	{
		Sysctl: "kernel.shmmni", Limit: true, Title: "Number of shared memory segments", Takes: quantity{hi: 1 << 24},
		Tries: []Try{{"32768", ""}},
	},
	{
		Sysctl: "kernel.shmmax", Limit: true, Title: "Largest shared memory segment",
		Takes:  quantity{hi: math.MaxUint64, unit: "B"},
		Advice: map[string]string{"KRN-002": "18446744073709551615"},
		Tries:  []Try{{"68719476736", ""}, {"18446744073709551615", ""}},
	},
	{
		Sysctl: "kernel.shmall", Limit: true, Title: "Shared memory in all", Takes: quantity{hi: math.MaxUint64},
		Advice: map[string]string{"KRN-003": "1152921504606846720"},
		Tries:  []Try{{"16777216", ""}},
	},
	{
		Sysctl: "kernel.sem", Limit: true, Title: "System V semaphores", Takes: numbers{names: "SEMMSL SEMMNS SEMOPM SEMMNI"},
		Tries: []Try{{"250 32000 32 128", ""}},
	},
	{
		Sysctl: "kernel.pid_max", Limit: true, Title: "Process numbers", Takes: quantity{lo: 301, hi: 4194304},
		Tries: []Try{{"4194304", ""}},
	},
	{
		Sysctl: "fs.aio-max-nr", Limit: true, Title: "Asynchronous I/O requests", Takes: quantity{hi: math.MaxUint64},
		Tries: []Try{{"1048576", ""}, {"18446744073709551615", ""}},
	},
}

// limits holds the settings of write-back's times, and of limits and habits of the kernel that some databases ask for.
var limits = []Setting{
	{
		Sysctl: "vm.dirty_expire_centisecs", Title: "Age at which unwritten file data are written",
		Takes:  quantity{lo: 1, hi: math.MaxInt32},
		Effect: "the kernel writes file data earlier, and more often",
		Tries:  []Try{{"500", ""}},
	},
	{
		Sysctl: "vm.dirty_writeback_centisecs", Title: "How often the kernel looks for old unwritten data",
		Takes:  quantity{hi: math.MaxInt32},
		Effect: "the kernel writes more often",
		Tries:  []Try{{"100", ""}},
	},
	{
		Sysctl: "kernel.sched_autogroup_enabled", Title: "A share of the CPUs for each session", Takes: onOff{},
		Effect: "a busy session takes more from the others",
		Tries:  []Try{{"off", "0"}},
	},
	{
		Sysctl: "kernel.panic_on_oops", Title: "Panic after a kernel error", Takes: onOff{},
		Effect: "the host stops at an error that it might have survived",
		Tries:  []Try{{"on", "1"}},
	},
	{
		Sysctl: "kernel.msgmni", Limit: true, Title: "System V message queues", Takes: quantity{hi: 1 << 24},
		Tries: []Try{{"1024", ""}},
	},
	{
		Sysctl: "fs.file-max", Limit: true, Title: "Open files in all", Takes: quantity{hi: math.MaxInt64},
		Tries: []Try{{"6815744", ""}},
	},
}
