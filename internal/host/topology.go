package host

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	cpuDir  = "/sys/devices/system/cpu"
	nodeDir = "/sys/devices/system/node"
)

func readTopology(t Tree) Topology {
	top := Topology{Online: onlineCPUs(t), NUMA: []NUMANode{}}
	fill(t, cpuDir, &top)
	top.Threads = Convert(top.Online, "", func(l []int) (int, error) { return len(l), nil })
	nodeOf := map[int]Fact[int]{}
	for _, id := range Nodes(t) {
		n := NUMANode{ID: id}
		fill(t, nodeDir+"/node"+strconv.Itoa(id), &n)
		for _, c := range n.CPUs.Or(nil) {
			nodeOf[c] = Known(id, "", n.CPUs.Source)
		}
		top.NUMA = append(top.NUMA, n)
	}
	online := top.Online.Or(nil)
	capacity := sideBySide(online, readers(), func(id int) Fact[int64] {
		return t.Int(cpuPath(id)+"/cpu_capacity", "", 1)
	})
	top.CoreTypes = coreTypes(t, online, capacity)
	typeOf := map[int]string{}
	for _, ct := range top.CoreTypes {
		for _, c := range ct.CPUs {
			typeOf[c] = ct.Name
		}
	}
	top.CPUs = sideBySide(online, readers(), func(id int) CPU {
		c := CPU{ID: id, CoreType: typeOf[id], NUMANode: nodeOf[id]}
		fill(t, cpuPath(id), &c)
		c.Siblings = Convert(c.Siblings, "", func(l []int) ([]int, error) {
			if l = ascending(l); !slices.Contains(l, id) {
				return nil, fmt.Errorf("CPU %d is not in its own list %s", id, clip(FormatList(l)))
			}
			return l, nil
		})
		if _, ok := nodeOf[id]; !ok {
			c.NUMANode = absentFact[int](nodeDir, "no node lists this CPU")
		}
		return c
	})
	top.Sockets = countSockets(t, top.CPUs)
	top.Cores = countCores(top.CPUs)
	top.Caches = readCaches(t, top.CPUs)
	return top
}

func cpuPath(cpu int) string { return cpuDir + "/cpu" + strconv.Itoa(cpu) }

// onlineCPUs reads the list of online CPUs, or where /sys is hidden takes the
// processors that /proc/cpuinfo names, which are the online ones.
func onlineCPUs(t Tree) Fact[[]int] {
	list := t.List(cpuDir + "/online")
	if l, ok := list.Get(); ok && len(l) > 0 {
		list.Value = ascending(l)
		return list
	}
	if list.State == StateOK {
		list = Fact[[]int]{Source: list.Source, State: StateError, Reason: "no CPU is listed"}
	}
	const cpuinfo = "/proc/cpuinfo"
	var cpus []int
	for line := range strings.Lines(t.Text(cpuinfo).Or("")) {
		key, value, _ := strings.Cut(line, ":")
		if strings.TrimSpace(key) != "processor" {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && n >= 0 && n < maxListed {
			cpus = append(cpus, n)
		}
	}
	if len(cpus) == 0 {
		return list
	}
	return Known(ascending(cpus), "", cpuinfo)
}

// ascending sorts a list and drops what is listed twice.
func ascending(list []int) []int {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// countSockets counts the distinct packages. A CPU that does not say where it
// sits leaves the number unknown. A mainframe numbers them anew in each book, and books
// in each drawer (arch/s390/kernel/topology.c).
func countSockets(t Tree, cpus []CPU) Fact[int] {
	type place struct{ drawer, book, socket int }
	seen, books := map[place]bool{}, len(cpus) > 0 && t.Exists(cpuPath(cpus[0].ID)+"/topology/book_id")
	for _, c := range cpus {
		if c.Socket.State != StateOK {
			return unlike[int](c.Socket)
		}
		at := place{socket: c.Socket.Value}
		if dir := cpuPath(c.ID) + "/topology/"; books {
			at.drawer, at.book = t.id(dir+"drawer_id").Or(0), t.id(dir+"book_id").Or(0)
		}
		seen[at] = true
	}
	return counted(len(seen), cpuDir+"/cpu*/topology/physical_package_id")
}

// countCores counts the distinct lists of sibling threads. Only where they are
// missing does it count (package, die, core): core_id is not unique in a
// package on every processor (it restarts in each node of an Opteron 6200),
// and is -1 for all CPUs of some guests.
func countCores(cpus []CPU) Fact[int] {
	first := map[int]bool{}
	known := true
	for _, c := range cpus {
		if l, ok := c.Siblings.Get(); ok {
			first[l[0]] = true
		} else {
			known = false
		}
	}
	if known {
		return counted(len(first), cpuDir+"/cpu*/topology/core_cpus_list")
	}
	type place struct{ socket, die, core int }
	seen := map[place]bool{}
	for _, c := range cpus {
		if c.Core.State != StateOK {
			return unlike[int](c.Core)
		}
		seen[place{c.Socket.Or(0), c.Die.Or(0), c.Core.Value}] = true
	}
	return counted(len(seen), cpuDir+"/cpu*/topology/core_id")
}

func counted(n int, source string) Fact[int] {
	if n == 0 {
		return absentFact[int](source, "no CPU is known")
	}
	return Known(n, "", source)
}

// numbered lists the numbers of the entries of a directory that have a name and a number.
func numbered(t Tree, dir, name string) (list []int) {
	names, _ := t.Dir(dir)
	for _, n := range names {
		digits, ok := strings.CutPrefix(n, name)
		if id, err := strconv.Atoi(digits); ok && err == nil && isNumber(digits) {
			list = append(list, id)
		}
	}
	return list
}

// Names of core types. A uniform machine has the one type "all".
const (
	coreAll         = "all"
	corePerformance = "performance"
	coreEfficiency  = "efficiency"
)

// coreTypes groups the online CPUs by kind. Intel's hybrid processors name the
// kinds by their performance counters' devices; their cpu_capacity (since Linux
// 6.12) also differs between cores of one kind, so it decides only elsewhere.
// capacity holds cpu_capacity of each of cpus.
func coreTypes(t Tree, cpus []int, capacity []Fact[int64]) []CoreType {
	if types := hybridTypes(t, cpus, capacity); len(types) > 1 {
		return types
	}
	byCapacity := map[int64][]int{}
	for i, c := range cpus {
		v, ok := capacity[i].Get()
		if !ok {
			return oneType(cpus, capacity)
		}
		byCapacity[v] = append(byCapacity[v], c)
	}
	if len(byCapacity) < 2 {
		return oneType(cpus, capacity)
	}
	return ranked(byCapacity, func(v int64) CoreType {
		return CoreType{Name: "capacity-" + strconv.FormatInt(v, 10),
			Capacity: Known(v, "", cpuPath(byCapacity[v][0])+"/cpu_capacity")}
	})
}

// ranked makes a core type of each group of CPUs; the highest key is the fastest.
func ranked[K cmp.Ordered](groups map[K][]int, one func(K) CoreType) (types []CoreType) {
	keys := slices.Sorted(maps.Keys(groups))
	slices.Reverse(keys)
	for i, k := range keys {
		t := one(k)
		switch t.CPUs = ascending(groups[k]); i {
		case 0:
			t.Name = corePerformance
		case len(keys) - 1:
			t.Name = coreEfficiency
		}
		types = append(types, t)
	}
	return types
}

func hybridTypes(t Tree, cpus []int, capacity []Fact[int64]) []CoreType {
	var types []CoreType
	for _, kind := range []struct{ pmu, name string }{
		{"cpu_core", corePerformance}, {"cpu_atom", coreEfficiency}, {"cpu_lowpower", "low-power"},
	} {
		list, ok := t.List("/sys/devices/" + kind.pmu + "/cpus").Get()
		if !ok {
			continue
		}
		ct := CoreType{Name: kind.name}
		for i, c := range cpus {
			if !slices.Contains(list, c) {
				continue
			}
			ct.CPUs = append(ct.CPUs, c)
			if v, ok := capacity[i].Get(); len(ct.CPUs) == 1 || ok && v > ct.Capacity.Or(-1) {
				ct.Capacity = capacity[i] // of the largest of them
			}
		}
		if len(ct.CPUs) > 0 {
			types = append(types, ct)
		}
	}
	return types
}

func oneType(cpus []int, capacity []Fact[int64]) []CoreType {
	if len(cpus) == 0 {
		return []CoreType{}
	}
	return []CoreType{{Name: coreAll, CPUs: cpus, Capacity: capacity[0]}}
}

// maxCacheIndex is more cache levels and types than any CPU has.
const maxCacheIndex = 16

// readCaches reads each cache once. Only one thread of a core is asked, and
// another only where it is in fewer of the caches found than that first thread:
// 512 CPUs would have 12,000 files.
func readCaches(t Tree, cpus []CPU) []Cache {
	first := map[int]int{} // CPU -> the CPU asked in its stead
	var ask []int
	for _, c := range cpus {
		asked := c.ID
		if l, ok := c.Siblings.Get(); ok {
			if _, known := first[l[0]]; known { // cpus rise, and so does l
				asked = l[0]
			}
		}
		if asked == c.ID {
			ask = append(ask, c.ID)
		}
		first[c.ID] = asked
	}
	type key struct {
		level int
		typ   string
		cpu   int
	}
	caches := []Cache{}
	have := map[key]bool{}
	in := map[int]int{} // CPU -> how many of caches it is in
	add := func(ask []int) {
		for i, found := range sideBySide(ask, readers(), func(cpu int) []Cache { return cachesOf(t, cpu) }) {
			for _, c := range found {
				if have[key{c.Level, c.Type, ask[i]}] {
					continue
				}
				caches = append(caches, c)
				for _, cpu := range c.CPUs {
					have[key{c.Level, c.Type, cpu}] = true
					in[cpu]++
				}
			}
		}
	}
	add(ask)
	var missed []int
	for _, c := range cpus {
		if in[c.ID] < in[first[c.ID]] {
			missed = append(missed, c.ID)
		}
	}
	add(missed)
	slices.SortStableFunc(caches, func(a, b Cache) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Type, b.Type), cmp.Compare(a.CPUs[0], b.CPUs[0]))
	})
	return caches
}

// cachesOf reads the caches of one CPU. Those without a level or type, as in a
// guest whose firmware describes none, are left out.
func cachesOf(t Tree, cpu int) []Cache {
	var caches []Cache
	for i := range maxCacheIndex {
		dir := cpuPath(cpu) + "/cache/index" + strconv.Itoa(i)
		level := t.Int(dir+"/level", "", 1)
		if level.State == StateAbsent {
			break
		}
		typ, ok := t.Word(dir + "/type").Get()
		if level.State != StateOK || level.Value < 1 || level.Value > 9 || !ok {
			continue
		}
		c := Cache{Level: int(level.Value), Type: typ, CPUs: []int{cpu}} // all that is known where the list cannot be read
		fill(t, dir, &c)
		if l, ok := t.List(dir + "/shared_cpu_list").Get(); ok && slices.Contains(l, cpu) {
			c.CPUs = ascending(l)
		}
		caches = append(caches, c)
	}
	return caches
}
