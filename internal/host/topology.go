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
	top := Topology{Online: onlineCPUs(t), NUMA: readNUMA(t)}
	fill(t, "", &top)
	top.Threads = Convert(top.Online, "", func(l []int) (int, error) { return len(l), nil })
	online, _ := top.Online.Get()
	nodeOf := nodeByCPU(top.NUMA)
	top.CPUs = make([]CPU, len(online))
	capacity := make([]Fact[int64], len(online))
	each(len(online), readers(), func(i int) {
		top.CPUs[i] = readCPU(t, online[i], nodeOf)
		capacity[i] = t.Int(cpuPath(online[i])+"/cpu_capacity", "", 1)
	})
	top.CoreTypes = coreTypes(t, online, capacity)
	typeOf := map[int]string{}
	for _, ct := range top.CoreTypes {
		for _, c := range ct.CPUs {
			typeOf[c] = ct.Name
		}
	}
	for i := range top.CPUs {
		top.CPUs[i].CoreType = typeOf[top.CPUs[i].ID]
	}
	top.Sockets = countSockets(top.CPUs)
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

func readCPU(t Tree, id int, nodeOf map[int]Fact[int]) CPU {
	dir := cpuPath(id) + "/topology/"
	c := CPU{
		ID:      id,
		Socket:  topologyID(t, dir+"physical_package_id"),
		Die:     topologyID(t, dir+"die_id"),
		Cluster: topologyID(t, dir+"cluster_id"),
		Core:    topologyID(t, dir+"core_id"),
	}
	// core_cpus_list is the name since Linux 5.3; the older one is still there,
	// but only by grace.
	c.Siblings = t.List(dir + "core_cpus_list")
	if c.Siblings.State == StateAbsent {
		c.Siblings = t.List(dir + "thread_siblings_list")
	}
	c.Siblings = Convert(c.Siblings, "", func(l []int) ([]int, error) {
		if l = ascending(l); !slices.Contains(l, id) {
			return nil, fmt.Errorf("CPU %d is not in its own list %s", id, clip(FormatList(l)))
		}
		return l, nil
	})
	var ok bool
	if c.NUMANode, ok = nodeOf[id]; !ok {
		c.NUMANode = absentFact[int](nodeDir, "no node lists this CPU")
	}
	return c
}

// topologyID reads an ID. Guests whose firmware describes no topology show -1;
// x86 kernels 5.16 to 6.1 showed 65535 for CPUs without a cluster.
func topologyID(t Tree, path string) Fact[int] {
	f := Convert(t.Int(path, "", 1), "", func(v int64) (int, error) {
		if v < -1 || v > 1<<31-1 {
			return 0, fmt.Errorf("%d cannot be an ID", v)
		}
		return int(v), nil
	})
	if f.State == StateOK && (f.Value == -1 || f.Value == 65535 && strings.HasSuffix(path, "cluster_id")) {
		return absentFact[int](path, "the kernel has none")
	}
	return f
}

// countSockets counts the distinct packages. A CPU that does not say where it
// sits leaves the number unknown.
func countSockets(cpus []CPU) Fact[int] {
	seen := map[int]bool{}
	for _, c := range cpus {
		if c.Socket.State != StateOK {
			return unlike[int](c.Socket)
		}
		seen[c.Socket.Value] = true
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

func readNUMA(t Tree) []NUMANode {
	names, _ := t.Dir(nodeDir)
	nodes := []NUMANode{}
	for _, name := range names {
		id, ok := numbered(name, "node")
		if !ok {
			continue
		}
		dir := nodeDir + "/" + name
		nodes = append(nodes, NUMANode{
			ID:     id,
			CPUs:   t.List(dir + "/cpulist"),
			Memory: Convert(t.Text(dir+"/meminfo"), "B", nodeTotal),
			Distance: Convert(t.Text(dir+"/distance"), "", func(s string) ([]int, error) {
				return parseInts(s)
			}),
		})
	}
	return nodes
}

func nodeByCPU(nodes []NUMANode) map[int]Fact[int] {
	of := map[int]Fact[int]{}
	for _, n := range nodes {
		for _, c := range n.CPUs.Or(nil) {
			of[c] = Known(n.ID, "", n.CPUs.Source)
		}
	}
	return of
}

func numbered(name, prefix string) (int, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.Atoi(digits)
	return n, ok && err == nil && n >= 0 && digits[0] != '+'
}

// nodeTotal finds "Node 0 MemTotal:  65536 kB" and returns bytes.
func nodeTotal(meminfo string) (int64, error) {
	for line := range strings.Lines(meminfo) {
		w := strings.Fields(line)
		if len(w) == 5 && w[2] == "MemTotal:" && w[4] == "kB" {
			kb, err := strconv.ParseInt(w[3], 10, 64)
			if err != nil || kb < 0 || kb > 1<<52 {
				return 0, fmt.Errorf("expected a number of kB, found %s", clip(w[3]))
			}
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("no line MemTotal")
}

func parseInts(s string) ([]int, error) {
	list := []int{}
	for _, w := range strings.Fields(s) {
		n, err := strconv.Atoi(w)
		if err != nil {
			return nil, fmt.Errorf("expected whole numbers, found %s", clip(w))
		}
		list = append(list, n)
	}
	return list, nil
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
		return CoreType{Name: "capacity-" + strconv.FormatInt(v, 10), Capacity: Known(v, "", cpuPath(byCapacity[v][0])+"/cpu_capacity")}
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
