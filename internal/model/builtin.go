package model

// Machines lists the built-in machines: sap (40 CPUs, lowest state 50 %), amd
// (50 %), intel-e7 (57 %), olontsev (2 x E5-2650, HT).
func Machines() []Machine { panic("later commit") }

// FindMachine returns a built-in machine, or an error that lists their names.
func FindMachine(name string) (Machine, error) { panic("later commit") }

// Workloads lists the built-in workloads: sap-dialog, sap-extract, olontsev
// (32 workers), olontsev-serial (1 worker), log-commit.
func Workloads() []Workload { panic("later commit") }

// FindWorkload returns a built-in workload, or an error that lists their names.
func FindWorkload(name string) (Workload, error) { panic("later commit") }

// HomeMachine names the built-in machine that a built-in workload was measured on.
func HomeMachine(workload string) string { panic("later commit") }

// PolicyNames lists the policies: high-performance, balanced-rs1 (alias
// balanced), balanced-rs2, power-saver, performance, powersave, ondemand,
// conservative, schedutil, intel_pstate, hwp, amd-pstate-epp, and fixed:PERCENT.
func PolicyNames() []string { panic("later commit") }

// ParsePolicy reads NAME or NAME,KEY=VALUE,...: "balanced-rs1,PERFCHECK=30ms".
// Values take units: ms, s, us, %, Hz, MHz, GHz, or a choice's name. Errors name
// the key and its range.
func ParsePolicy(text string) (Policy, error) { panic("later commit") }

// With returns the policy with one parameter set, in the parameter's base unit.
func (p Policy) With(name string, value float64) (Policy, error) { panic("later commit") }

// Validate names the first key that is out of range, and the range.
func (m Machine) Validate() error { panic("later commit") }

// Validate names the first key that is out of range, and the range.
func (w Workload) Validate() error { panic("later commit") }

// Validate checks machine, workload, policy and load together.
func (c Case) Validate() error { panic("later commit") }

// ParseDist reads the text forms that Dist documents.
func ParseDist(text string) (Dist, error) { panic("later commit") }

// UnmarshalText reads the forms of ParseDist.
func (d *Dist) UnmarshalText(b []byte) error { panic("later commit") }

// MarshalText writes a form that ParseDist reads.
func (d Dist) MarshalText() ([]byte, error) { panic("later commit") }

// UnstableError says that an open workload offers more than the policy can carry.
type UnstableError struct {
	Policy   string
	Load     float64 // offered, of capacity at nominal
	Capacity float64 // highest load that the policy carries, as far as known
}

// Error says so, and offers the closed form of the workload.
func (e *UnstableError) Error() string { panic("later commit") }

type rule int

var responses []ResponseInfo
