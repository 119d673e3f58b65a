package model

// Scope says which logical CPUs share one frequency.
type Scope string

// The scopes of a frequency domain. The domain runs at the highest frequency that
// any of its CPUs asks for.
const (
	PerThread Scope = "thread"
	PerCore   Scope = "core"
	PerSocket Scope = "socket"
)

// Scopes lists all scopes, smallest first.
func Scopes() []Scope { return []Scope{PerThread, PerCore, PerSocket} }

// Machine is the hardware that a case runs on. Validate says what must hold.
type Machine struct {
	Name   string `toml:"name" json:"name"`
	Source string `toml:"source" json:"source"` // where the figures come from, and which of them are assumptions

	Sockets        int `toml:"sockets" json:"sockets"`
	CoresPerSocket int `toml:"cores_per_socket" json:"cores_per_socket"`
	ThreadsPerCore int `toml:"threads_per_core" json:"threads_per_core"`

	// PStates are the frequencies in Hz that the operating system can ask for,
	// rising. Asking for the last one allows turbo.
	PStates []float64 `toml:"pstates" json:"pstates"`
	// Nominal is the base frequency in Hz. A second of work is a second at Nominal
	// on an otherwise idle core, so this is also what loads refer to.
	Nominal float64 `toml:"nominal" json:"nominal"`
	// Turbo gives the frequency by active cores of the socket: bins with rising
	// ActiveCores and falling Hz; the last must cover all cores. Empty: no turbo.
	Turbo []TurboBin `toml:"turbo" json:"turbo,omitempty"`
	// SMTRate is the rate of a thread while its sibling is busy, as a share of its
	// rate alone: 0.5 when a core does no more work with two threads than with one.
	// Ignored with one thread per core.
	SMTRate float64 `toml:"smt_rate" json:"smt_rate"`
	// IdleStates are ordered by residency. Empty: the CPU polls while idle.
	IdleStates []IdleState `toml:"idle_states" json:"idle_states,omitempty"`
	Domain     Scope       `toml:"domain" json:"domain"`
	// Fixed is the frequency in Hz that the firmware holds whatever the operating
	// system asks for (BIOS control). 0 leaves the choice to the policy.
	Fixed float64 `toml:"fixed" json:"fixed,omitempty"`
	Power Power   `toml:"power" json:"power"`
}

// TurboBin is the frequency reached with at most ActiveCores cores of the socket
// busy.
type TurboBin struct {
	ActiveCores int     `toml:"active_cores" json:"active_cores"`
	Hz          float64 `toml:"hz" json:"hz"`
}

// IdleState is a C-state. A CPU enters the deepest one whose target residency is
// at most its expected idle time; see Machine.IdleStates.
type IdleState struct {
	Name            string  `toml:"name" json:"name"`
	ExitLatency     float64 `toml:"exit_latency" json:"exit_latency"`         // s
	TargetResidency float64 `toml:"target_residency" json:"target_residency"` // s
	// Share of the idle power of a polling core at the lowest frequency that remains.
	PowerShare float64 `toml:"power_share" json:"power_share"`
}

// Power is the energy model and all its assumptions. A core that executes draws
// CoreWatts * (V/Vnominal)^2 * f/fnominal, V rising linearly with f between the
// points given; a socket draws SocketWatts always.
type Power struct {
	Source       string  `toml:"source" json:"source"`
	SocketWatts  float64 `toml:"socket_watts" json:"socket_watts"`   // W per socket, always: uncore, leakage
	CoreWatts    float64 `toml:"core_watts" json:"core_watts"`       // W per executing core at nominal frequency, dynamic
	LowVolts     float64 `toml:"low_volts" json:"low_volts"`         // V at the lowest P-state
	NominalVolts float64 `toml:"nominal_volts" json:"nominal_volts"` // V at nominal frequency; extrapolated above
	// SMTShare is what a second executing thread adds to its core's power: 0.2 is a fifth.
	SMTShare float64 `toml:"smt_share" json:"smt_share"`
}

// CPUs is the number of logical CPUs. CPU numbers run over threads first, then
// cores, then sockets.
func (m Machine) CPUs() int { return m.Sockets * m.CoresPerSocket * m.ThreadsPerCore }
