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
	f := Frequency{Uncore: []Uncore{}}
	fill(t, cpuDir, &f)
	dirs := policyDirs(t, top)
	lay := newLayout(top)
	f.Policies = sideBySide(dirs, readers(), func(d policyDir) Policy {
		p := Policy{ID: d.id}
		fill(t, d.path, &p)
		if p.Base.State == StateAbsent {
			// Only intel_pstate has base_frequency; ACPI CPPC's nominal one is in MHz.
			if n := t.Int(cpuPath(d.id)+"/acpi_cppc/nominal_freq", "Hz", 1e6); n.State == StateOK && n.Value > 0 {
				p.Base = n
			}
		}
		p.Scope = lay.scope(p.coupled())
		return p
	})
	f.DomainScope = domainScope(f.Policies)
	f.Boost = boost(f)
	f.EPB = perCPU(top.CPUs, func(dir string) Fact[int64] { return t.Int(dir+"/power/energy_perf_bias", "", 1) })
	if !slices.ContainsFunc(f.EPB, func(v CPUValue[int64]) bool { return v.Value.State != StateAbsent }) {
		f.EPB = []CPUValue[int64]{} // no CPU has the file
	}
	f.Current = readCurrent(t, top.CPUs, f.Policies, dirs)
	const uncore = cpuDir + "/intel_uncore_frequency/"
	names, _ := t.Dir(uncore)
	for _, name := range names {
		u := Uncore{Name: name}
		fill(t, uncore+name, &u)
		f.Uncore = append(f.Uncore, u)
	}
	return f
}

// perCPU reads a value of each CPU below its directory.
func perCPU[T any](cpus []CPU, read func(dir string) Fact[T]) []CPUValue[T] {
	return sideBySide(cpus, readers(), func(c CPU) CPUValue[T] { return CPUValue[T]{c.ID, read(cpuPath(c.ID))} })
}

type policyDir struct {
	id   int
	path string
}

// policyDirs finds the policies, also those whose CPUs are all offline. Before
// Linux 4.3 a policy was a directory of its first CPU, with links from others.
func policyDirs(t Tree, top Topology) []policyDir {
	var dirs []policyDir
	for _, p := range numbered(t, freqDir, "policy") {
		dirs = append(dirs, policyDir{p, freqDir + "/policy" + strconv.Itoa(p)})
	}
	if len(dirs) > 0 {
		return dirs
	}
	covered := map[int]bool{}
	for _, c := range top.CPUs {
		if dir := cpuPath(c.ID) + "/cpufreq"; !covered[c.ID] && t.Exists(dir) {
			for _, other := range t.numbers(dir+"/related_cpus", "cpus").Or(nil) {
				covered[other] = true
			}
			dirs = append(dirs, policyDir{c.ID, dir})
		}
	}
	return dirs
}

// coupled returns the CPUs that share one frequency. acpi-cpufreq with hardware
// coordination has one policy for each CPU, yet the hardware runs the whole of
// freqdomain_cpus at the highest frequency that any of them asks for.
func (p Policy) coupled() []int {
	if l := p.Domain.Or(nil); len(l) > 0 {
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
	policies := map[bool][]int{}
	for _, p := range f.Policies {
		if v, ok := p.Boost.Get(); ok {
			policies[v] = append(policies[v], p.ID)
		}
	}
	source := freqDir + "/policy*/boost"
	on, off := policies[true], policies[false]
	either := firstKnown(turbo, f.CPUFreqBoost)
	switch {
	case !turbo.Or(true):
		return turbo
	case !f.CPUFreqBoost.Or(true):
		return f.CPUFreqBoost
	case len(on) > 0 && len(off) > 0:
		return Unknown[bool](source, fmt.Errorf("on for policies %s, off for %s", FormatList(on), FormatList(off)))
	case len(off) > 0:
		return Known(false, "", source)
	case len(on) > 0 && either.State != StateOK:
		return Known(true, "", source)
	case either.State == StateAbsent:
		return absentFact[bool](either.Source, "none of intel_pstate/no_turbo, cpufreq/boost and policy*/boost is there")
	}
	return either // denied or error says more than absent
}

// currentReaders is how many goroutines ask for current frequencies. Linux 4.14
// to 5.17 sleeps 10 ms in each such read on x86 (arch/x86/kernel/cpu/aperfmperf.c),
// which would take 5 s for 512 CPUs in a row.
const currentReaders = 64

// readCurrent reads the frequency of each online CPU. "cpu MHz" of /proc/cpuinfo
// is no substitute where cpufreq is missing: a guest shows there the constant
// that its TSC was calibrated to.
func readCurrent(t Tree, cpus []CPU, policies []Policy, dirs []policyDir) []CPUCurrent {
	of := map[int]CPUCurrent{}
	current := sideBySide(dirs, currentReaders, func(d policyDir) Fact[int64] {
		return Convert(t.Word(d.path+"/scaling_cur_freq"), "Hz", parseCurrent)
	})
	for i, p := range policies {
		for _, c := range p.Affected.Or(p.CPUs.Or(nil)) {
			of[c] = CPUCurrent{c, current[i], percent(current[i], p.HWMax)}
		}
	}
	out := make([]CPUCurrent, len(cpus))
	for i, c := range cpus {
		var ok bool
		if out[i], ok = of[c.ID]; !ok {
			none := absentFact[int64](cpuPath(c.ID)+"/cpufreq/scaling_cur_freq", "no frequency policy for this CPU")
			out[i] = CPUCurrent{c.ID, none, unlike[float64](none)}
		}
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

// Ceiling returns the highest frequency in Hz that scaling_max_freq can be set to. Since
// Linux 5.11 acpi-cpufreq reports a boosted cpuinfo_max_freq on AMD processors, while the
// policy's limit stays within its table of P-states.
func (p Policy) Ceiling() Fact[int64] {
	if ps, ok := p.PStates.Get(); ok && len(ps) > 0 {
		return Known(slices.Max(ps), "Hz", p.PStates.Source)
	}
	return p.HWMax
}
