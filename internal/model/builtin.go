package model

import (
	"fmt"
	"strings"
)

// coreIdle are the idle states of a processor generation as Linux's intel_idle has
// them; what they save is an assumption.
func coreIdle(c6Exit, c6Residency float64) []IdleState {
	return []IdleState{
		{Name: "C1", ExitLatency: 2e-6, TargetResidency: 2e-6, PowerShare: 0.5},
		{Name: "C1E", ExitLatency: 10e-6, TargetResidency: 20e-6, PowerShare: 0.3},
		{Name: "C6", ExitLatency: c6Exit, TargetResidency: c6Residency, PowerShare: 0.02},
	}
}

func power(socket, core float64) Power {
	return Power{Source: "assumption: half of the rated power is the cores' at nominal frequency; voltages typical of the time",
		SocketWatts: socket, CoreWatts: core, LowVolts: 0.9, NominalVolts: 1.15, SMTShare: 0.2}
}

// steps of a P-state table in Hz, rising.
func mega(f ...float64) []float64 {
	out := make([]float64, len(f))
	for i := range f {
		out[i] = f[i] * 1e6
	}
	return out
}

// Machines lists the built-in machines.
func Machines() []Machine {
	barcelona := mega(1150, 1400, 1700, 2000, 2300)
	halt := []IdleState{{Name: "C1", ExitLatency: 2e-6, TargetResidency: 2e-6, PowerShare: 0.5}}
	return []Machine{
		{Name: "sap", Source: "SAP on SQL Server blog, 'Effect of Windows Power Mode on SAP Netweaver Applications': lowest state 50 %, load spread over all CPU threads; 40 CPUs, one thread a core and states in steps of 5 % (asked of the firmware in per cent) are assumptions",
			Sockets: 4, CoresPerSocket: 10, ThreadsPerCore: 1, PStates: mega(1150, 1265, 1380, 1495, 1610, 1725, 1840, 1955, 2070, 2185, 2300), Nominal: 2.3e9, SMTRate: 1,
			IdleStates: halt, Domain: PerThread, Power: power(48, 4.8)},
		{Name: "amd", Source: "SAP on SQL Server blog, 'Effect of Windows Power Mode on SAP Netweaver Applications': lowest state 50 %; the states are those of a 2.3 GHz Opteron 8356, an assumption",
			Sockets: 4, CoresPerSocket: 4, ThreadsPerCore: 1, PStates: barcelona, Nominal: 2.3e9, SMTRate: 1,
			IdleStates: halt, Domain: PerCore, Power: power(48, 12)},
		{Name: "intel-e7", Source: "SAP on SQL Server blog, 'Effect of Windows Power Mode on SAP Netweaver Applications': lowest state 57 %; the states are those of a 1.87 GHz E7-4807, an assumption",
			Sockets: 4, CoresPerSocket: 6, ThreadsPerCore: 2, PStates: mega(1067, 1200, 1333, 1467, 1600, 1733, 1867), Nominal: 1.867e9, SMTRate: 0.62,
			IdleStates: coreIdle(200e-6, 800e-6), Domain: PerSocket, Power: power(48, 8)},
		{Name: "olontsev", Source: "Olontsev: 2 x E5-2650, Hyper-Threading; states and turbo bins from Intel's tables. Sharing of a core is in the work of the 32-way query, which was fitted with both threads busy, so smt_rate is 1",
			Sockets: 2, CoresPerSocket: 8, ThreadsPerCore: 2, PStates: mega(1200, 1300, 1400, 1500, 1600, 1700, 1800, 1900, 2000), Nominal: 2e9, SMTRate: 1,
			Turbo:      []TurboBin{{2, 2.8e9}, {3, 2.7e9}, {6, 2.5e9}, {8, 2.4e9}},
			IdleStates: coreIdle(104e-6, 345e-6), Domain: PerThread, Power: power(47, 6)},
	}
}

// FindMachine returns a built-in machine, or an error that lists their names.
func FindMachine(name string) (Machine, error) {
	return find("machine", name, Machines(), func(m Machine) string { return m.Name })
}

func find[T any](what, name string, list []T, of func(T) string) (T, error) {
	var names []string
	for _, x := range list {
		if of(x) == name {
			return x, nil
		}
		names = append(names, of(x))
	}
	var none T
	return none, fmt.Errorf("no built-in %s is called %q; there are %s", what, name, strings.Join(names, ", "))
}

// Olontsev's query: C in Hz s of each worker, and M in s, from T = C/f + M.
const (
	serialCycles, serialWait     = 504.8e9, 8.8
	parallelCycles, parallelWait = 35.3e9, 3.6
	querySlice                   = 0.100 // s at nominal: assumption, not in the source
)

// olontsev is the query with a number of workers. M is waiting (for buffers,
// latches, exchange) that leaves the CPU idle, spread over the slices.
func olontsev(name string, workers int, cycles, wait float64) Workload {
	work := cycles / 2e9
	return Workload{Name: name, Kind: Query, Users: workers, Work: work, Placement: Sticky,
		Source: "Olontsev: T = C/f + M fitted to the cells of fixed frequency; slices of 100 ms (erlang, cv 0.25) and M as idle waits between them are assumptions",
		Slice:  Dist{Kind: DistErlang, Mean: querySlice, CV: 0.25},
		Wait:   Dist{Kind: DistFixed, Mean: wait / (work / querySlice)},
	}
}

// Workloads lists the built-in workloads.
func Workloads() []Workload {
	return []Workload{
		{Name: "sap-dialog", Kind: Dialog, Slices: 3, Placement: Spread,
			Source: "SAP on SQL Server blog, 'Effect of Windows Power Mode on SAP Netweaver Applications': dialog steps of some 100 ms CPU, interrupted by database calls, spread evenly; 3 slices of 60 ms and 2 waits of 40 ms, exponential, are assumptions",
			Slice:  Dist{Kind: DistExponential, Mean: 0.060}, Wait: Dist{Kind: DistExponential, Mean: 0.040}},
		{Name: "sap-extract", Kind: Batch, Users: 1, Work: 5000, Placement: Spread,
			Source: "SAP on SQL Server blog, 'Effect of Windows Power Mode on SAP Netweaver Applications': an extract of 5000 CPU s at full speed; slices of 20 ms and waits of 20 ms are assumptions",
			Slice:  Dist{Kind: DistFixed, Mean: 0.020}, Wait: Dist{Kind: DistFixed, Mean: 0.020}},
		olontsev("olontsev", 32, parallelCycles, parallelWait),
		olontsev("olontsev-serial", 1, serialCycles, serialWait),
		{Name: "log-commit", Kind: Commit, Users: 16, Placement: Spread,
			Source: "assumption: short transactions of 16 writers on a log device of 1 ms",
			Slice:  Dist{Kind: DistExponential, Mean: 0.0005}, Think: Dist{Kind: DistExponential, Mean: 0.005},
			Device: Dist{Kind: DistLognormal, Mean: 0.001, CV: 0.5}, FlushWork: Dist{Kind: DistFixed, Mean: 0.00005}},
	}
}

// FindWorkload returns a built-in workload, or an error that lists their names.
func FindWorkload(name string) (Workload, error) {
	return find("workload", name, Workloads(), func(w Workload) string { return w.Name })
}

// HomeMachine names the built-in machine that a built-in workload was measured on;
// empty for those that belong to none.
func HomeMachine(workload string) string {
	return map[string]string{"sap-dialog": "sap", "sap-extract": "sap", "olontsev": "olontsev", "olontsev-serial": "olontsev"}[workload]
}
