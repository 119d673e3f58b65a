package setting

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/screen"
	"hostlab/internal/spelling"
)

// Named returns the setting that a person names: by its name here, or by its sysctl's as sysctl(8)
// takes it, vm.swappiness or vm/swappiness. The error spells what was perhaps meant.
func Named(name string) (Setting, error) { return (&System{}).named(name) }

func (sys *System) named(name string) (Setting, error) {
	key := sysctlKey(name)
	var keys, last []string
	for _, s := range sys.all() {
		if s.Name == name || s.Sysctl != "" && s.Sysctl == key {
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
	if near := spelling.Meant(lastPart(key), last); near != "" {
		return Setting{}, fmt.Errorf("%s: no such sysctl is known; did you mean %s?", screen.Short(name), keys[slices.Index(last, near)])
	}
	return Setting{}, fmt.Errorf("%s: hostlab does not set this sysctl; it knows only %s", screen.Short(name), strings.Join(keys, ", "))
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

// sysctl makes a setting of a file below /proc/sys that holds one whole number.
func sysctl(key, title, about, source string, lo, hi uint64, units ...string) Setting {
	file := "/proc/sys/" + strings.ReplaceAll(key, ".", "/")
	_, name, _ := strings.Cut(key, ".")
	s := Setting{
		Name: strings.ReplaceAll(name, "-", "_"), Sysctl: key, Title: title + " (" + key + ")", About: about, Source: source, Order: rankSysctl,
		Values:  fmt.Sprintf("a whole number from %d to %d", lo, hi),
		objects: single(file, "the kernel does not show "+key), parse: whole(lo, hi, units...),
	}
	if len(units) > 0 {
		s.show = withUnit(units[0])
	}
	if slices.Contains(units, "B") {
		s.Values += " B, or a size such as 600MiB"
		s.parse = size(lo, hi, 0)
	}
	return s
}

var numaBalancing = sysctl("kernel.numa_balancing", "Automatic NUMA balancing",
	"To learn which node uses a page, the kernel unmaps it and waits for the fault. That helps many independent processes that nobody has pinned, and "+
		"costs one that shares a large cache between all nodes. 1 is on, 0 off; 2 moves pages between tiers of memory, 3 does both.",
	"kernel documentation, admin-guide/sysctl/kernel.rst; 0: SAP HANA notes, tuned mssql and oracle, Scylla; 1: PerfSpect", 0, 3)

var swappiness = sysctl("vm.swappiness", "Swappiness",
	"Weighs swapping out programs' memory against dropping cached file pages: low keeps programs' memory. 0 swaps only when memory is almost out.",
	"kernel documentation, admin-guide/sysctl/vm.rst; tuned (10; mssql 1; postgresql 3)", 0, 200)

const dirtyAbout = "Writing the limit in bytes sets the one in % to 0, and the reverse: the one that was written last is in force. hostlab keeps both and puts " +
	"both back. The kernel does not take 0 bytes; write the limit in % to leave bytes."

const dirtySource = "kernel documentation, admin-guide/sysctl/vm.rst; bytes: SAP notes 2578899, 1984787, sapconf, tuned postgresql; %: tuned"

// dirty makes one of a pair of limits, of which the kernel zeroes the other.
func dirty(name, other, title string, lo, hi uint64, unit string) Setting {
	s := sysctl("vm."+name, title, dirtyAbout, dirtySource, lo, hi, unit)
	s.disturbs = func(*System, Object, string) ([]Side, error) {
		return []Side{{Setting: other, Object: Object{Path: "/proc/sys/vm/" + other}, Becomes: []string{"0"}}}, nil
	}
	// 0 bytes is EINVAL, and 0 % would leave no limit for a moment.
	s.implied = func(v string) bool { return v == "0" }
	s.show = func(_ Object, v string) string {
		if v == "0" {
			return "0 (not in force)"
		}
		return v + " " + unit
	}
	return s
}

// dirty_bytes takes two pages at least (mm/page-writeback.c, dirty_bytes_min).
var (
	dirtyBytes           = dirty("dirty_bytes", "dirty_ratio", "Unwritten file data at which writers stop, in bytes", 8192, math.MaxInt64, "B")
	dirtyRatio           = dirty("dirty_ratio", "dirty_bytes", "Unwritten file data at which writers stop, in % of memory", 1, 100, "%")
	dirtyBackgroundBytes = dirty("dirty_background_bytes", "dirty_background_ratio", "Unwritten file data at which writing starts, in bytes", 1, math.MaxInt64, "B")
	dirtyBackgroundRatio = dirty("dirty_background_ratio", "dirty_background_bytes", "Unwritten file data at which writing starts, in % of memory", 1, 100, "%")
)

var maxMapCount = sysctl("vm.max_map_count", "Memory mappings that a process may have",
	"A process that reaches the limit gets no more memory, although plenty is free. Column stores and large Java processes hold mappings by the hundred thousand.",
	"kernel documentation, admin-guide/sysctl/vm.rst; SAP notes 1275776, 1980196, 900929 (2147483647); tuned mssql (1600000)", 0, math.MaxInt32)

const sysvSource = "kernel documentation, admin-guide/sysctl/kernel.rst; SAP notes 941735, 1275776; tuned oracle, sap-netweaver"

var (
	shmMni = sysctl("kernel.shmmni", "Number of shared memory segments",
		"How many System V shared memory segments there may be. A limit, which reserves nothing.", sysvSource, 0, 1<<24)
	shmMax = sysctl("kernel.shmmax", "Largest shared memory segment",
		"How large one System V shared memory segment may be, in bytes. A limit, which reserves nothing.", sysvSource, 0, math.MaxUint64, "B")
	shmAll = sysctl("kernel.shmall", "Shared memory in all",
		"How large all System V shared memory segments together may be, in pages. A limit, which reserves nothing.", sysvSource, 0, math.MaxUint64)
	pidMax = sysctl("kernel.pid_max", "Process numbers",
		"Every thread takes a number; when all are taken no process starts, not even a login. The kernel refuses less than it needs for its CPUs.",
		"kernel documentation, admin-guide/sysctl/kernel.rst; SAP note 2578899 (4194304)", 301, 4194304)
	aioMaxNr = sysctl("fs.aio-max-nr", "Asynchronous I/O requests",
		"How many asynchronous requests may be reserved in all. Database servers reserve theirs at start, and fail to start when none are left.",
		"kernel documentation, admin-guide/sysctl/fs.rst; tuned oracle (1048576); SAP note 1868829 (18446744073709551615)", 0, math.MaxUint64)
)

var sem = Setting{
	Name: "sem", Sysctl: "kernel.sem", Title: "System V semaphores (kernel.sem)", Order: rankSysctl,
	About: "Four limits in one: semaphores in a set, in all, operations in a call, and sets. Work processes of SAP instances wait for each other on them. " +
		"They reserve nothing.",
	Source:  sysvSource + " (32000 1024000000 500 32000)",
	Values:  "four whole numbers, between blanks or commas",
	objects: single("/proc/sys/kernel/sem", "the kernel does not show kernel.sem"),
	parse: func(_ *System, _ Object, v string) (string, error) {
		words := strings.FieldsFunc(v, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
		if len(words) != 4 {
			return "", fmt.Errorf("%q: expected four whole numbers: SEMMSL SEMMNS SEMOPM SEMMNI", screen.Short(v))
		}
		for i, w := range words {
			n, err := strconv.ParseInt(w, 10, 32)
			if err != nil || n < 0 {
				return "", fmt.Errorf("%q: expected a whole number from 0 to %d, found %q", screen.Short(v), math.MaxInt32, screen.Short(w))
			}
			words[i] = strconv.FormatInt(n, 10)
		}
		return strings.Join(words, " "), nil
	},
}
