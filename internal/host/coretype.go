package host

import (
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
	var values []int64
	for v := range byCapacity {
		values = append(values, v)
	}
	slices.Sort(values)
	slices.Reverse(values)
	var types []CoreType
	for i, v := range values {
		name := "capacity-" + strconv.FormatInt(v, 10)
		switch i {
		case 0:
			name = corePerformance
		case len(values) - 1:
			name = coreEfficiency
		}
		group := byCapacity[v]
		types = append(types, CoreType{Name: name, CPUs: group,
			Capacity: Known(v, "", cpuPath(group[0])+"/cpu_capacity")})
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
