package host

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const freqDir = cpuDir + "/cpufreq"

func readFrequency(t Tree, top Topology) Frequency {
	f := Frequency{Uncore: readUncore(t)}
	fill(t, "", &f)
	if f.PstateStatus.State == StateAbsent {
		f.PstateStatus = t.Word(cpuDir + "/amd_pstate/status")
	}
	dirs := policyDirs(t, top)
	f.Policies = make([]Policy, len(dirs))
	lay := newLayout(top)
	each(len(dirs), readers(), func(i int) {
		f.Policies[i] = readPolicy(t, dirs[i])
		f.Policies[i].Scope = lay.scope(f.Policies[i].coupled())
	})
	f.DomainScope = domainScope(f.Policies)
	f.Boost = boost(f)
	f.EPB = perCPU(t, top.CPUs, "/power/energy_perf_bias")
	f.Current = readCurrent(t, top.CPUs, f.Policies, dirs)
	return f
}

type policyDir struct {
	id   int
	path string
}

// policyDirs finds the policies, also those whose CPUs are all offline. Before
// Linux 4.3 a policy was a directory of its first CPU, with links from others.
func policyDirs(t Tree, top Topology) []policyDir {
	var dirs []policyDir
	names, _ := t.Dir(freqDir)
	for _, name := range names {
		if id, ok := numbered(name, "policy"); ok {
			dirs = append(dirs, policyDir{id, freqDir + "/" + name})
		}
	}
	if len(dirs) > 0 {
		return dirs
	}
	covered := map[int]bool{}
	for _, c := range top.CPUs {
		if dir := cpuPath(c.ID) + "/cpufreq"; !covered[c.ID] && t.Exists(dir) {
			for _, other := range Convert(t.Text(dir+"/related_cpus"), "", parseCPUs).Or(nil) {
				covered[other] = true
			}
			dirs = append(dirs, policyDir{c.ID, dir})
		}
	}
	return dirs
}

func readPolicy(t Tree, d policyDir) Policy {
	p := d.path + "/"
	pol := Policy{
		ID:       d.id,
		CPUs:     Convert(t.Word(p+"related_cpus"), "", parseCPUs),
		Affected: Convert(t.Text(p+"affected_cpus"), "", parseCPUs),
		Domain:   Convert(t.Word(p+"freqdomain_cpus"), "", parseCPUs),
		Latency:  transitionLatency(t.Int(p+"cpuinfo_transition_latency", "", 1)),
		PStates:  Convert(t.Text(p+"scaling_available_frequencies"), "Hz", parseStates),
	}
	fill(t, d.path, &pol)
	if pol.Base.State == StateAbsent {
		// Only intel_pstate has base_frequency; ACPI CPPC's nominal one is in MHz.
		if n := t.Int(cpuPath(d.id)+"/acpi_cppc/nominal_freq", "Hz", 1e6); n.State == StateOK && n.Value > 0 {
			pol.Base = n
		}
	}
	return pol
}

// transitionLatency is in ns; drivers that do not know say CPUFREQ_ETERNAL.
func transitionLatency(ns Fact[int64]) Fact[float64] {
	if ns.State == StateOK && (ns.Value == math.MaxUint32 || ns.Value == -1) {
		return absentFact[float64](ns.Source, "the driver does not know it")
	}
	return Convert(ns, "s", func(v int64) (float64, error) { return float64(v) / 1e9, nil })
}

// parseCPUs parses the list of a cpufreq file, which has blanks for commas.
func parseCPUs(s string) ([]int, error) {
	list, err := ParseList(strings.Join(strings.Fields(s), ","))
	return ascending(list), err
}

// parseStates parses kHz between blanks, as drivers list them in any order, and
// returns Hz, falling.
func parseStates(s string) ([]int64, error) {
	list := []int64{}
	for _, w := range strings.Fields(s) {
		v, err := strconv.ParseInt(w, 10, 64)
		if err != nil || v <= 0 || v > math.MaxInt64/1000 {
			return nil, fmt.Errorf("expected frequencies in kHz, found %s", clip(w))
		}
		list = append(list, v*1000)
	}
	slices.Sort(list)
	slices.Reverse(list)
	return slices.Compact(list), nil
}

// coupled returns the CPUs that share one frequency. acpi-cpufreq with hardware
// coordination has one policy for each CPU, yet the hardware runs the whole of
// freqdomain_cpus at the highest frequency that any of them asks for.
func (p Policy) coupled() []int {
	if l, ok := p.Domain.Get(); ok {
		return l
	}
	return p.CPUs.Or(nil)
}

// layout finds which unit of the processor a set of CPUs is.
type layout struct {
	siblings map[int][]int
	socket   map[int]int
	members  map[int][]int // socket -> online CPUs
}

func newLayout(top Topology) layout {
	l := layout{map[int][]int{}, map[int]int{}, map[int][]int{}}
	for _, c := range top.CPUs {
		l.siblings[c.ID] = c.Siblings.Or(nil)
		if s, ok := c.Socket.Get(); ok {
			l.socket[c.ID] = s
			l.members[s] = append(l.members[s], c.ID)
		}
	}
	return l
}

// scope names the unit that CPUs are. Offline ones count only for being more
// than one: topology knows nothing else of them. "" where all are offline.
func (l layout) scope(cpus []int) string {
	var online []int
	for _, c := range cpus {
		if _, ok := l.siblings[c]; ok {
			online = append(online, c)
		}
	}
	if len(online) == 0 {
		return ""
	}
	if len(cpus) == 1 {
		return "thread"
	}
	if slices.Equal(online, l.siblings[online[0]]) {
		return "core"
	}
	if s, ok := l.socket[online[0]]; ok && slices.Equal(online, l.members[s]) {
		return "socket"
	}
	return "other"
}

func domainScope(policies []Policy) Fact[string] {
	out := absentFact[string](freqDir, "no frequency policy")
	for _, p := range policies {
		if p.Scope == "" {
			continue
		}
		if out.State == StateOK && out.Value != p.Scope {
			out.Value = "mixed"
			return out
		}
		source := p.Domain.Source
		if p.Domain.State != StateOK {
			source = p.CPUs.Source
		}
		if out.State != StateOK {
			out = Known(p.Scope, "", source)
		}
	}
	return out
}

// boost says whether turbo is allowed. There are three kinds of files, and a
// machine may have several: one that forbids it is enough.
func boost(f Frequency) Fact[bool] {
	turbo := Convert(f.NoTurbo, "", func(no bool) (bool, error) { return !no, nil })
	either := firstKnown(turbo, f.CPUFreqBoost)
	for _, b := range []Fact[bool]{turbo, f.CPUFreqBoost} {
		if !b.Or(true) {
			return b
		}
	}
	var on, off []int
	for _, p := range f.Policies {
		if v, ok := p.Boost.Get(); ok && v {
			on = append(on, p.ID)
		} else if ok {
			off = append(off, p.ID)
		}
	}
	source := freqDir + "/policy*/boost"
	switch {
	case len(on) > 0 && len(off) > 0:
		return Fact[bool]{Source: source, State: StateError,
			Reason: "on for policies " + FormatList(on) + ", off for " + FormatList(off)}
	case len(off) > 0:
		return Known(false, "", source)
	case either.State == StateOK:
		return either
	case len(on) > 0:
		return Known(true, "", source)
	case either.State != StateAbsent:
		return either // denied or error says more than absent
	}
	return absentFact[bool](f.CPUFreqBoost.Source, "none of intel_pstate/no_turbo, cpufreq/boost and policy*/boost is there")
}

// perCPU reads a number of each CPU; none if no CPU has the file.
func perCPU(t Tree, cpus []CPU, file string) []CPUValue {
	values := make([]CPUValue, len(cpus))
	each(len(cpus), readers(), func(i int) {
		values[i] = CPUValue{cpus[i].ID, t.Int(cpuPath(cpus[i].ID)+file, "", 1)}
	})
	if !slices.ContainsFunc(values, func(v CPUValue) bool { return v.Value.State != StateAbsent }) {
		return []CPUValue{}
	}
	return values
}

// currentReaders is how many goroutines ask for current frequencies. Linux 4.14
// to 5.17 sleeps 10 ms in each such read on x86 (arch/x86/kernel/cpu/aperfmperf.c),
// which would take 5 s for 512 CPUs in a row.
const currentReaders = 64

// readCurrent reads the frequency of each online CPU. "cpu MHz" of /proc/cpuinfo
// is no substitute where cpufreq is missing: a guest shows there the constant
// that its TSC was calibrated to.
func readCurrent(t Tree, cpus []CPU, policies []Policy, dirs []policyDir) []CPUCurrent {
	current := make([]Fact[int64], len(policies))
	each(len(policies), currentReaders, func(i int) {
		current[i] = Convert(t.Word(dirs[i].path+"/scaling_cur_freq"), "Hz", parseCurrent)
	})
	of := map[int]int{}
	for i, p := range policies {
		for _, c := range p.Affected.Or(p.CPUs.Or(nil)) {
			of[c] = i
		}
	}
	out := make([]CPUCurrent, len(cpus))
	for i, c := range cpus {
		out[i].CPU = c.ID
		n, ok := of[c.ID]
		if !ok {
			out[i].Frequency = absentFact[int64](cpuPath(c.ID)+"/cpufreq/scaling_cur_freq", "no frequency policy for this CPU")
			out[i].Percent = unlike[float64](out[i].Frequency)
			continue
		}
		out[i].Frequency, out[i].Percent = current[n], percent(current[n], policies[n].HWMax)
	}
	return out
}

// parseCurrent parses scaling_cur_freq, for which the kernel writes <unknown>
// when the driver has no answer.
func parseCurrent(s string) (int64, error) {
	if s == "<unknown>" {
		return 0, errors.New("the kernel says <unknown>")
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil || v <= 0 || v > math.MaxInt64/1000 {
		return 0, fmt.Errorf("expected a frequency in kHz, found %s", clip(s))
	}
	return v * 1000, nil
}

func percent(current, highest Fact[int64]) Fact[float64] {
	source := current.Source + ", " + highest.Source[strings.LastIndexByte(highest.Source, '/')+1:]
	for _, f := range []Fact[int64]{current, highest} {
		if f.State != StateOK {
			return unlike[float64](f)
		}
	}
	return Known(100*float64(current.Value)/float64(highest.Value), "%", source)
}

func readUncore(t Tree) []Uncore {
	const dir = cpuDir + "/intel_uncore_frequency"
	list := []Uncore{}
	names, _ := t.Dir(dir)
	for _, name := range names {
		u := Uncore{Name: name}
		fill(t, dir+"/"+name, &u)
		list = append(list, u)
	}
	return list
}

// Ceiling returns the highest frequency in Hz that scaling_max_freq can be set to. Since
// Linux 5.11 acpi-cpufreq reports a boosted cpuinfo_max_freq on AMD processors, while the
// policy's limit stays within its table of P-states.
func (p Policy) Ceiling() Fact[int64] {
	if ps, ok := p.PStates.Get(); ok && len(ps) > 0 {
		return Known(slices.Max(ps), "Hz", p.PStates.Source)
	}
	return p.HWMax
}
