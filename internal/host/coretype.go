package host

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
)

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
