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
	StepTime      Response = "step_time"             // s, from arrival to end
	StepTimeP50   Response = "step_time_p50"         // s
	StepTimeP95   Response = "step_time_p95"         // s
	StepTimeP99   Response = "step_time_p99"         // s
	CPUSeconds    Response = "cpu_seconds"           // s of busy CPU per step, Commit: with its part of the log writer's
	Throughput    Response = "throughput"            // steps/s
	Utilisation   Response = "utilisation"           // 1, busy share of all CPUs
	Performance   Response = "processor_performance" // 1, mean frequency while busy over nominal (Windows: % Processor Performance)
	JoulesPerStep Response = "joules"                // J per step, whole machine
	Watts         Response = "watts"                 // W, whole machine
	RampTime      Response = "ramp_time"             // s, see Ramp
)

// ResponseInfo describes a response.
type ResponseInfo struct {
	Name  Response
	Title string
	Unit  string // base unit; "" is a share of 1
	// Better is "lower", "higher" or "".
	Better string
}

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
	Steps      int64 // measured, over all replications
	Events     int64 // simulated, over all replications
	Horizon    float64
	// Warnings are short sentences for people: precision not reached, ...
	Warnings []string

	samples map[Response][]float64 // one value a replication, paired over policies by index
}

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
	Range     float64   `json:"-"`        // largest minus smallest ratio over Settings; infinite where one has none
}

// Setting is the answer at one value of a parameter.
type Setting struct {
	Value string          `json:"value"` // with unit
	Ratio result.Estimate `json:"ratio_to_baseline"`
	Note  string          `json:"note,omitempty"` // why there is no ratio, when there is none
}

// Vanishing is where an effect ends.
type Vanishing struct {
	Policy string `json:"policy"`
	// Load is the smallest load tried from which on the upper bound of the ratio stays
	// below the limit, found by bisection to 0.01. NaN when Found is false.
	Load  float64 `json:"-"`
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

// Map is a sweep over loads and slice lengths.
type Map struct {
	Policy   string              `json:"policy"`
	Baseline string              `json:"baseline"`
	Response Response            `json:"response"`
	Loads    []float64           `json:"loads"`  // rows
	Slices   []float64           `json:"slices"` // columns: mean slice length, s
	Ratios   [][]result.Estimate `json:"ratios"` // [load][slice]; unknown where the policy cannot carry the load
}
