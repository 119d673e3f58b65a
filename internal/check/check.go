// Package check holds what is worth changing on a host, given its role: a check
// reads facts, never the host, and says what it found, on what evidence, why it
// matters, who says so, who disagrees, and the command that mends it.
package check

import "hostlab/internal/host"

// Role is what the machine is for. It decides whether determined response time
// or energy comes first.
type Role string

// The roles.
const (
	ProductionDB  Role = "production-db"
	ProductionApp Role = "production-app"
	Development   Role = "development"
)

// Roles lists all roles in the order of the help text.
var Roles = []Role{ProductionDB, ProductionApp, Development}

// Severity ranks findings; higher is worse.
type Severity int

// The severities.
const (
	Info Severity = iota
	Low
	Medium
	High
)

// Status is the answer of one check.
type Status string

// The answers. Unknown means that the check applies, but could not look.
const (
	OK            Status = "ok"
	Finding       Status = "finding"
	NotApplicable Status = "not_applicable"
	Unknown       Status = "unknown"
)

// Evidence is one value read: a path (or call) and what it said.
type Evidence struct {
	Path  string `json:"path"`
	Value string `json:"value"`
}

// Outcome is what a check's Look returns.
type Outcome struct {
	Status   Status
	Evidence []Evidence
	Detail   string // one line: what is the case here
	Remedy   string // the command to type, for a finding; may need root
}

// Check is one thing to look at. Look is pure.
type Check struct {
	ID       string // PWR-001
	Lever    string // the lever a finding belongs to: one of the Lever constants, or ""
	Title    string
	Why      string // the mechanism, in two or three sentences
	Source   string // who recommends it
	Disagree string // where the sources conflict and how it was decided; may be empty
	// Severity in each role; a role that is missing is not_applicable.
	Severity map[Role]Severity
	Look     func(f *host.Facts, r Role) Outcome
}

// The levers that findings and probes are joined by.
const (
	LeverFrequency = "frequency"   // governor, EPP, boost, limits, power plan
	LeverIdle      = "idle"        // C-states
	LeverSMT       = "smt"         // siblings and placement
	LeverLog       = "log-device"  // where commits go
	LeverDegree    = "parallelism" // degree of parallelism and CPU limits
	LeverMemory    = "memory"      // THP, NUMA balancing, swapping, write-back
	LeverKernel    = "kernel"      // limits and clock
)

// Result is one check's answer on one host.
type Result struct {
	ID       string     `json:"id"`
	Title    string     `json:"title"`
	Severity Severity   `json:"severity"`
	Status   Status     `json:"status"`
	Detail   string     `json:"detail"`
	Evidence []Evidence `json:"evidence"`
	Why      string     `json:"why"`
	Source   string     `json:"source"`
	Disagree string     `json:"disagree,omitempty"`
	Remedy   string     `json:"remedy"`
	Lever    string     `json:"lever,omitempty"`
}
