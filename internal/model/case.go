// Package model predicts what a power policy costs a workload. It simulates
// logical CPUs that run slices of work and wait in between, the rule by which an
// operating system sets their frequency from their utilisation, and what follows:
// step time, CPU seconds, throughput, frequency while busy, energy.
//
// The mechanism is the whole point: a request computes for tens of milliseconds,
// waits for the database, the processor falls to a lower frequency meanwhile, and
// the next slice starts slow. On a loaded host the processor never falls.
//
// What is not known is a named parameter (Parameter.Known is false), never a
// constant in the code, and Sensitivity says how much the answer depends on it.
// Everything is in base units: seconds, hertz, joules, watts, fractions of 1.
//
// Start with Machines, Workloads and ParsePolicy for the parts of a Case, and
// with Compare, which simulates policies with common random numbers.
package model

import "hostlab/internal/result"

// Case is one situation to simulate.
type Case struct {
	Machine  Machine
	Workload Workload
	Policy   Policy
	// Load is for open workloads: offered work over the machine's capacity with all
	// CPUs at nominal frequency (and siblings sharing), 0 < Load < 1. Ignored by
	// closed ones.
	Load float64
	// Samples are workloads for the replications, in turn, in place of Workload: where that
	// was recorded, the interval over replications then holds how sure the record is. They
	// differ from it in the lengths of slices and thinking alone.
	Samples []Workload
}

// Options says how long and how often to simulate. The zero value is usable.
type Options struct {
	Seed         uint64
	Replications int // independent replications, at least 2; 0 is 10
	// Steps is the number of measured steps in a replication. 0 lets the
	// simulation choose: it starts short and doubles until the half-width of the
	// mean step time's interval is at most Precision, or Events is spent. In Compare that is
	// asked of the ratio, and five times Precision of the baseline itself.
	Steps     int
	Precision float64 // relative half-width wanted; 0 is 0.01
	Events    int64   // most events for one case over all replications; 0 is 4 million
	Workers   int     // simulations at once; 0 is one per CPU. Results do not depend on it
	Level     float64 // confidence of intervals; 0 is 0.95

	target Response // whose precision counts; empty is StepTime
	ratios bool     // only ratios are asked for, so the baseline needs no precision of its own
}

// Response names a figure of an Outcome.
type Response string

// The responses. Those of a step are means over steps unless they say otherwise.
const (
	StepTime    Response = "step_time"     // s, from arrival to end
	StepTimeP50 Response = "step_time_p50" // s
	StepTimeP95 Response = "step_time_p95" // s
	StepTimeP99 Response = "step_time_p99" // s
	// s of busy CPU per step, Commit: with its part of the log writer's. With Workload.Each: for a step's mean work, so
	// that a step which outlasts the simulation counts for what was done of it.
	CPUSeconds  Response = "cpu_seconds"
	Throughput  Response = "throughput"  // steps/s
	Utilisation Response = "utilisation" // 1, busy share of all CPUs
	// 1, mean frequency while busy over nominal (Windows: % Processor Performance)
	Performance   Response = "processor_performance"
	JoulesPerStep Response = "joules"    // J per step, whole machine
	Watts         Response = "watts"     // W, whole machine
	RampTime      Response = "ramp_time" // s, see Ramp
)

// Outcome is what one case came to.
type Outcome struct {
	Policy string
	Bound  Bound
	Load   float64 // as asked; for closed workloads NaN
	// Responses holds means over replications with two-sided t-intervals at Options.Level,
	// none with N < 2; a quantity that the case does not have is absent.
	Responses map[Response]result.Estimate
	// PStates and IdleStates give shares of busy and of idle CPU time, summing to 1 each.
	PStates    []Residency
	IdleStates []Residency
	Steps      int64  // measured, over all replications
	Events     int64  // simulated, over all replications
	Refused    string // why the policy has no figures: it cannot carry the load
	Warnings   []Warning

	samples map[Response][]float64 // one value a replication, paired over policies by index
}

// Warning is what limits the figures of an outcome.
type Warning struct {
	Of   Caution
	By   float64 // how much, to find the worst of several rows
	Text string  // for people
}

// Caution is the kind of a warning.
type Caution int

// The kinds.
const (
	ScaledUp Caution = iota // a part of each job stands for all of it
	CutShort                // the events allowed do not let the start be forgotten
	Wide                    // the precision was not reached
)

// Bound marks the two rows of a policy that can only be bounded.
type Bound string

// The bounds. Exact is a simulation of the policy itself.
const (
	Exact         Bound = ""
	AtLowestHertz Bound = "lowest frequency"
	AtTopHertz    Bound = "highest frequency"
)

// Residency is the share of time in one state.
type Residency struct {
	Name  string          `json:"state"` // C-state name or the frequency in text
	Hz    float64         `json:"hz,omitempty"`
	Share result.Estimate `json:"share"`
}

// Row is one outcome beside the baseline's.
type Row struct {
	Outcome
	// Ratio is outcome/baseline for each response, from paired replications with
	// common random numbers: the geometric mean with a t-interval of the log ratio.
	Ratio map[Response]result.Estimate
}

// Comparison is several policies on one machine, workload and load.
type Comparison struct {
	Case     Case // Policy is the baseline
	Baseline Row  // ratios are all 1
	Rows     []Row
}

// All returns the baseline's row and then the others.
func (c Comparison) All() []Row { return append([]Row{c.Baseline}, c.Rows...) }

// Influence is how far one unknown parameter moves the answer.
type Influence struct {
	Parameter string    `json:"parameter"` // "domain", or a policy parameter's name
	Unit      string    `json:"unit"`
	Source    string    `json:"source"`
	Settings  []Setting `json:"settings"` // the assumed value first
	// largest minus smallest ratio over Settings; infinite where one has none, which JSON has as null
	Range float64 `json:"range"`
}

// Setting is the answer at one value of a parameter.
type Setting struct {
	Value string          `json:"value"` // with unit
	Ratio result.Estimate `json:"ratio_to_baseline"`
	Note  string          `json:"note,omitempty"` // why there is no ratio, when there is none

	machine *Machine // that it makes; nil: that of the case
	policy  *Policy
}

// Vanishing is where an effect ends.
type Vanishing struct {
	Policy   string   `json:"policy"`
	Response Response `json:"response"`
	Limit    float64  `json:"limit"`
	// Load is the smallest load tried from which on the upper bound of the ratio stays
	// below the limit, found by bisection to 0.01. NaN when Found is false.
	Load  float64 `json:"load"`
	Found bool    `json:"found"`
	// Everywhere is set when the effect is below the limit at the lowest load already.
	Everywhere bool             `json:"-"`
	Points     []VanishingPoint `json:"points"` // all loads tried, rising
}

// VanishingPoint is one load that the search tried.
type VanishingPoint struct {
	Load  float64         `json:"load"`
	Ratio result.Estimate `json:"ratio_to_baseline"`
	Note  string          `json:"note,omitempty"` // for instance that the policy cannot carry this load
}

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

// Kind is the shape of a workload.
type Kind string

// The kinds.
const (
	// Dialog: steps of Slices slices of CPU work with Wait between them. Closed
	// with Users > 0 (Think between a user's steps), else open Poisson arrivals at
	// Case.Load.
	Dialog Kind = "dialog"
	// Batch: Users jobs at once, each of Work CPU seconds in slices of Slice with
	// Wait between them. A step is a whole job.
	Batch Kind = "batch"
	// Query: one parallel query of Users workers; each worker has Work CPU seconds
	// and waits between slices. A step is the query, until its last worker ends;
	// its CPU seconds are those of all workers together.
	Query Kind = "query"
	// Commit: Users writers; each computes one Slice, then commits and waits for
	// the flush that covers it, then thinks. One flush at a time (group commit),
	// of length Device. A step is a transaction.
	Commit Kind = "commit"
)

// Placement says which idle CPU a slice runs on. When none is idle, slices wait
// in one queue, first come first served.
type Placement string

const (
	// Spread takes the next idle CPU, round robin, wholly idle cores first.
	Spread Placement = "spread"
	// Packed takes the lowest-numbered idle CPU, so that few CPUs are ever used.
	Packed Placement = "packed"
	// Sticky takes the CPU that the process ran on last when it is idle, else as Spread.
	Sticky Placement = "sticky"
)

// Workload is what the machine runs. Times are in seconds; CPU work is in seconds
// at nominal frequency on an otherwise idle core.
type Workload struct {
	Name   string `toml:"name" json:"name"`
	Source string `toml:"source" json:"source"`
	Kind   Kind   `toml:"kind" json:"kind"`

	Users  int     `toml:"users" json:"users"`         // closed: users, jobs, workers or writers. Dialog with 0 is open
	Slices int     `toml:"slices" json:"slices"`       // Dialog: slices of a step
	Slice  Dist    `toml:"slice" json:"slice"`         // length of one slice of CPU work, s
	Wait   Dist    `toml:"wait" json:"wait"`           // database wait between two slices, s; may be zero
	Think  Dist    `toml:"think" json:"think"`         // Dialog closed, Commit: between steps, s; may be zero
	Work   float64 `toml:"work" json:"work,omitempty"` // Batch, Query: CPU work of a job or worker, s
	// Each are the lengths of each user of a closed dialog of one slice; Slice and Think are then those of all together. A
	// CPU that never sleeps would otherwise lend its lengths to one that hardly works, and take its pauses. A user without
	// work does nothing. CPUs and users are one to one.
	Each []Lengths `toml:"-" json:"-"`
	// MemoryShare is the share of the work that does not scale with frequency, 0 to
	// 1: a second of work takes (1-MemoryShare)*nominal/f + MemoryShare.
	MemoryShare float64   `toml:"memory_share" json:"memory_share"`
	Placement   Placement `toml:"placement" json:"placement"`

	Device Dist `toml:"device" json:"device"` // Commit: latency of one flush, s
	// Commit: CPU work of the log writer before each flush, s; may be zero
	FlushWork Dist `toml:"flush_work" json:"flush_work"`
}

// Lengths are how long a user computes and thinks in turn.
type Lengths struct{ Slice, Think Dist }

// Open reports whether steps arrive whatever the system does, so that the case
// needs a load.
func (w Workload) Open() bool { return w.Kind == Dialog && w.Users == 0 }
