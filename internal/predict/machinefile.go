package predict

import (
	"path/filepath"
	"slices"
	"strings"

	"hostlab/internal/model"
)

// ReadMachine reads a host file: TOML with the keys of model.Machine. What it leaves
// out is assumed, and said. The machine is valid.
func ReadMachine(file string, data []byte) (Machine, error) {
	m := model.Machine{ThreadsPerCore: 1}
	present, err := decode(file, data, &m)
	if err != nil {
		return Machine{}, err
	}
	if m.Name == "" {
		m.Name = strings.TrimSuffix(filepath.Base(file), ".toml")
	}
	out := Machine{Machine: m}
	for _, key := range []string{"sockets", "cores_per_socket", "nominal", "pstates"} {
		if !present[key] {
			return Machine{}, &FileError{File: file, Text: key + " is missing; 'hostlab predict --show host' prints a file with all keys"}
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
		m.Power = model.Power{Source: "assumption: typical of servers", SocketWatts: 50, CoreWatts: 6, LowVolts: 0.8, NominalVolts: 1.0, SMTShare: 0.2}
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
const MachineTemplate = `# A host for 'hostlab predict --host FILE'. Frequencies are in Hz, times in seconds.
# sockets, cores_per_socket, nominal and pstates are needed; the rest is assumed,
# and named among the assumptions, when it is left out.
name = "app server"
source = "vendor's data sheet; the steps are those of cpufreq"
sockets = 2
cores_per_socket = 8
threads_per_core = 2
nominal = 2.0e9               # base frequency: loads and lengths of slices refer to it
pstates = [1.0e9, 1.2e9, 1.4e9, 1.6e9, 1.8e9, 2.0e9]  # rising; the last allows turbo
smt_rate = 0.62                 # speed of a thread beside a busy sibling; alone it is 1
domain = "core"                 # what shares one frequency: thread, core or socket
fixed = 0                     # Hz that the firmware holds (BIOS control); 0: none

[[turbo]]                       # frequency with at most so many busy cores in a socket;
active_cores = 2                # leave all out for a processor without turbo
hz = 2.8e9
[[turbo]]
active_cores = 8                # the last must cover all cores
hz = 2.4e9

[[idle_states]]                 # by residency, shallow first
name = "C1"
exit_latency = 2e-6
target_residency = 2e-6
power_share = 0.5               # what remains of the power of an idle core that polls
[[idle_states]]
name = "C6"
exit_latency = 133e-6
target_residency = 600e-6
power_share = 0.02

[power]                         # for joules only
source = "assumption"
socket_watts = 50               # always, each socket
core_watts = 6                  # a busy core at the base frequency
low_volts = 0.8                 # at the lowest of pstates
nominal_volts = 1.0
smt_share = 0.2                 # what a second busy thread adds to its core
`
