package predict

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/host"
	"hostlab/internal/lazyre"
	"hostlab/internal/model"
	"hostlab/internal/result"
)

// assumed values of what hosts hide. Published lowest states of servers are 50 %
// (AMD) and 57 % (Intel) of nominal.
const (
	assumedNominal = 2.5e9
	assumedFloor   = 0.5
	stateStep      = 1e8 // Hz: Intel's ratio step since Nehalem
)

const (
	showHost  = "'hostlab predict --show host' prints one"
	giveShape = "give sockets, cores_per_socket and threads_per_core in a host file (" + showHost + ")"
)

// reader makes a machine of facts and notes what it had to assume.
type reader struct {
	Machine
	f *host.Facts
}

func (r *reader) note(name, value, source string) {
	r.Assumptions = append(r.Assumptions, Assumption{"machine", name, value, source})
}

// FromFacts makes a machine of what a host says about itself. What it hides is
// filled by assumptions that the machine lists; only a topology that cannot be a
// machine is an error, which names the keys to give in a host file.
func FromFacts(f *host.Facts, name string) (Machine, error) {
	r := &reader{f: f}
	r.Name, r.Source = name, "facts of the host"
	if err := r.topology(); err != nil {
		return Machine{}, err
	}
	r.system()
	r.frequencies()
	r.domain()
	r.idle()
	if r.ThreadsPerCore > 1 {
		r.assume("smt_rate", "no host reports it")
	}
	r.assume("power", "no host reports it")
	if err := r.Validate(); err != nil {
		return Machine{}, fmt.Errorf("the facts of this host make no machine: %w; give it in a host file (%s)", err, showHost)
	}
	return r.Machine, nil
}

func (r *reader) topology() error {
	t := r.f.Topology
	threads := cmp.Or(t.Threads.Or(len(t.CPUs)), len(t.Online.Or(nil)))
	if threads == 0 {
		return errors.New("this host does not report how many CPUs it has; " + giveShape)
	}
	sockets, ok := t.Sockets.Get()
	if !ok || sockets < 1 {
		sockets = 1
		r.note("sockets", "1", "hidden here ("+string(cmp.Or(t.Sockets.State, host.StateAbsent))+")")
	}
	cores, ok := t.Cores.Get()
	if !ok || cores < 1 {
		cores = threads
		r.note("threads_per_core", "1", "hidden here ("+string(cmp.Or(t.Cores.State, host.StateAbsent))+")")
	}
	if cores%sockets != 0 || threads%cores != 0 {
		return fmt.Errorf(
			"this host has %d sockets, %d cores and %d threads online, which are not spread evenly; the model needs "+
				"them even: %s", sockets, cores, threads, giveShape)
	}
	r.Sockets, r.CoresPerSocket, r.ThreadsPerCore = sockets, cores/sockets, threads/cores
	if n := len(t.CoreTypes); n > 1 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("this processor has %d types of core; the model knows one, and takes the frequencies of the first", n))
	}
	// without any: HostDecides
	if v, ok := r.f.Virt.Hypervisor.Get(); ok && v != "none" && len(r.f.Frequency.Policies) > 0 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf(
				"this is a guest (%s): its hypervisor's host sets the frequency, so a policy chosen here may do nothing. The "+
					"answer is for a machine of this shape whose policy takes effect", v))
	}
	return nil
}

// inName finds the base frequency that many processors carry in their names.
var inName = lazyre.New(`@\s*(\d+(?:\.\d+)?)\s*([GM])Hz`)

func (r *reader) frequencies() {
	p := r.policy()
	if p == nil {
		r.hidden()
		return
	}
	base, hasBase := p.Base.Get()
	highest, _ := p.HWMax.Get()
	if list, ok := p.PStates.Get(); ok && len(list) > 0 {
		for _, hz := range list {
			r.PStates = append(r.PStates, float64(hz))
		}
		slices.Sort(r.PStates)
		// acpi-cpufreq marks turbo by a highest state that is 1 MHz above the one below it.
		if n := len(r.PStates); n > 1 && r.PStates[n-1]-r.PStates[n-2] == 1e6 {
			r.PStates = r.PStates[:n-1]
			r.note("turbo", "none", "the driver has a turbo state but does not report its frequency")
		}
		r.Nominal = r.PStates[len(r.PStates)-1]
		if hasBase && float64(base) >= r.PStates[0] && float64(base) < r.Nominal {
			r.Nominal = float64(base)
		}
		return
	}
	low, ok := p.HWMin.Get()
	switch {
	case hasBase:
		r.Nominal = float64(base)
	case r.named() > 0:
		r.Nominal = r.named()
		r.note("nominal", hz(r.Nominal), "from the processor's name; there is no base_frequency here")
	default:
		r.Nominal = float64(highest)
		r.note("nominal", hz(r.Nominal), "cpuinfo_max_freq; there is no base_frequency here, so turbo counts as nominal")
	}
	if !ok || float64(low) > r.Nominal || r.Nominal == 0 {
		r.hidden()
		return
	}
	r.PStates = states(float64(low), r.Nominal)
	if boost, known := r.f.Frequency.Boost.Get(); float64(highest) > r.Nominal*1.001 && (boost || !known) {
		r.Turbo = []model.TurboBin{{ActiveCores: r.CoresPerSocket, Hz: float64(highest)}}
		r.note("turbo", hz(float64(highest))+" with any number of cores",
			"cpuinfo_max_freq; no host reports the bins by active cores, so turbo under load is overstated")
	}
}

func (r *reader) policy() *host.Policy {
	for i := range r.f.Frequency.Policies {
		p := &r.f.Frequency.Policies[i]
		if p.PStates.State == host.StateOK || p.HWMax.State == host.StateOK {
			return p
		}
	}
	return nil
}

// named is the frequency in the processor's name in Hz, or 0.
func (r *reader) named() float64 {
	m := inName.FindStringSubmatch(r.f.Identity.CPUModel.Or(""))
	if m == nil {
		return 0
	}
	v, _ := strconv.ParseFloat(m[1], 64) // digits
	return v * map[string]float64{"G": 1e9, "M": 1e6}[m[2]]
}

// hidden fills frequencies that the host does not show, as guests do not.
func (r *reader) hidden() {
	r.Nominal = r.named()
	switch w := r.f.Windows; {
	case r.Nominal > 0:
		r.note("nominal", hz(r.Nominal), "from the processor's name; cpufreq is hidden here")
	case w != nil && len(w.Processors) > 0 && w.Processors[0].Max.Or(0) > 0:
		r.Nominal = float64(w.Processors[0].Max.Value)
		r.note("nominal", hz(r.Nominal), "the maximum that Windows reports")
	default:
		r.Nominal = assumedNominal
		r.note("nominal", hz(r.Nominal),
			"hidden here; ratios depend on the steps below it, not on its value. Set nominal in a host file")
	}
	r.PStates = states(assumedFloor*r.Nominal, r.Nominal)
	r.note("pstates", fmt.Sprintf("%s to %s", hz(r.PStates[0]), hz(r.Nominal)),
		"hidden here; 50 % of nominal is the lowest state of the published AMD servers, 57 % of the Intel ones. Set pstates in a host file")
	r.floorAssumed = true
	r.note("turbo", "none", "hidden here")
}

// states are in steps of 100 MHz from low to nominal, rising.
func states(low, nominal float64) []float64 {
	out := []float64{nominal}
	for hz := nominal - stateStep; hz > low+stateStep/2; hz -= stateStep {
		out = append(out, hz)
	}
	if low < nominal*0.999 {
		out = append(out, low)
	}
	slices.Sort(out)
	return out
}

// variations are the machines to try for what was assumed.
func (m Machine) variations() []model.Influence {
	if !m.floorAssumed {
		return nil
	}
	v := model.Influence{Parameter: "lowest of pstates", Source: "hidden here"}
	for _, share := range []float64{assumedFloor, 0.4, 0.57, 0.8} {
		other := m.Machine
		other.PStates = states(share*m.Nominal, m.Nominal)
		v.Try(strconv.FormatFloat(share*100, 'g', 3, 64)+"%", other)
	}
	return []model.Influence{v}
}

func (r *reader) domain() {
	r.Domain = model.PerThread
	switch s, ok := r.f.Frequency.DomainScope.Get(); {
	case ok && slices.Contains(model.Scopes(), model.Scope(s)):
		r.Domain = model.Scope(s)
	case ok:
		r.note("domain", "thread", "policies here cover "+s+" units; the model knows thread, core and socket")
	default:
		r.note("domain", "thread", "hidden here; --domain sets it")
	}
}

// idle takes the states that are enabled on some CPU. No host reports what a state
// saves: shares fall by depth.
func (r *reader) idle() {
	for _, s := range r.f.Idle.States {
		exit, ok1 := s.Latency.Get()
		residency, ok2 := s.Residency.Get()
		if !ok1 || !ok2 || exit == 0 || len(s.Disabled) == len(s.CPUs) {
			continue
		}
		if n := len(r.IdleStates); n > 0 && residency < r.IdleStates[n-1].TargetResidency {
			continue // of another type of core
		}
		r.IdleStates = append(r.IdleStates, model.IdleState{Name: s.Name.Or("state"), ExitLatency: exit,
			TargetResidency: residency})
	}
	if len(r.IdleStates) == 0 {
		r.assume("idle_states", "hidden here")
		return
	}
	share := 0.5
	for i := range r.IdleStates {
		r.IdleStates[i].PowerShare = share
		share = max(0.02, share*0.4)
	}
	r.note("power_share", "0.5 of the shallowest state, 0.4 times that for each deeper one",
		"no host reports it; only energy depends on it")
}

func hz(v float64) string      { return result.Format(v, "Hz") }
func seconds(v float64) string { return result.Format(v, "s") }

// ReadMachine reads a host file: TOML with the keys of model.Machine. What it leaves
// out is assumed, and said. The machine is valid.
func ReadMachine(file string, data []byte) (Machine, error) {
	m := model.Machine{ThreadsPerCore: 1}
	present, err := decode(file, data, &m)
	if err != nil {
		return Machine{}, err
	}
	m.Name = cmp.Or(m.Name, strings.TrimSuffix(filepath.Base(file), ".toml"))
	out := Machine{Machine: m}
	for _, key := range []string{"sockets", "cores_per_socket", "nominal", "pstates"} {
		if !present[key] {
			return Machine{}, &FileError{File: file, Text: key +
				" is missing; 'hostlab predict --show host' prints a file with all keys"}
		}
	}
	for _, d := range defaults {
		if !present[d.key] && (d.key != "smt_rate" || m.ThreadsPerCore > 1) {
			out.assume(d.key, "not in "+file)
		}
	}
	if err := out.Validate(); err != nil {
		return Machine{}, locate(file, data, err)
	}
	return out, nil
}

// BuiltIn is a machine of the model, whose source says what in it was assumed.
func BuiltIn(m model.Machine) Machine {
	return Machine{Machine: m, Assumptions: []Assumption{
		{Of: "machine", Name: m.Name, Value: "as built in", Source: m.Source},
		{Of: "machine", Name: "power", Value: "as built in", Source: m.Power.Source},
	}}
}

// WithDomain sets what shares one frequency; it is then no assumption any more.
func (m Machine) WithDomain(s model.Scope) Machine {
	m.Domain = s
	m.Assumptions = slices.DeleteFunc(slices.Clone(m.Assumptions), func(a Assumption) bool { return a.Name == "domain" })
	return m
}

// defaults are what a machine has where nothing says otherwise.
var defaults = []struct {
	key, value, why string
	set             func(*model.Machine)
}{
	{"smt_rate", "0.62", "a usual gain of a quarter from two threads", func(m *model.Machine) { m.SMTRate = 0.62 }},
	{"domain", "thread", "each thread has a frequency of its own", func(m *model.Machine) { m.Domain = model.PerThread }},
	{"idle_states", "C1", "one state with an exit latency of 2 us", func(m *model.Machine) {
		m.IdleStates = []model.IdleState{{Name: "C1", ExitLatency: 2e-6, TargetResidency: 2e-6, PowerShare: 0.5}}
	}},
	{"power", "50 W a socket, 6 W a core", "typical of servers; only energy depends on it", func(m *model.Machine) {
		m.Power = model.Power{Source: "assumption: typical of servers", SocketWatts: 50, CoreWatts: 6, LowVolts: 0.8,
			NominalVolts: 1.0, SMTShare: 0.2}
	}},
}

// assume sets a key to its default; where says why it has to.
func (m *Machine) assume(key, where string) {
	for _, d := range defaults {
		if d.key == key {
			d.set(&m.Machine)
			m.Assumptions = append(m.Assumptions, Assumption{"machine", key, d.value, where + ": " + d.why})
		}
	}
}

// MachineTemplate is a host file with all keys, as documentation.
//
//go:embed host.toml
var MachineTemplate string
