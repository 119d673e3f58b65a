// Package check holds what is worth changing on a host, given its role: a check
// reads facts, never the host, and says what it found, on what evidence, why it
// matters, who says so, who disagrees, and the command that mends it.
package check

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/host"
	"hostlab/internal/setting"
)

// Role is what the machine is for. It decides whether determined response time
// or energy comes first.
type Role string

const (
	ProductionDB  Role = "production-db"
	ProductionApp Role = "production-app"
	Development   Role = "development"
)

// Roles lists all roles in the order of the help text.
var Roles = []Role{ProductionDB, ProductionApp, Development}

// Severity ranks findings; higher is worse.
type Severity int

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
	Path  string `json:"path"`  // a file or call; {0-7} or {sda,sdb} stands for several with the same value
	Value string `json:"value"` // as read, with its unit; denied, absent, or error: and the reason
}

// Check is one thing to look at: words, and pure functions of facts.
type Check struct {
	ID      string // PWR-001
	Subject string // what a finding is about: one of the constants, or ""
	Title   string // the problem that it finds
	reasons        // from texts.toml
	// For are the servers that it speaks for: without one of them it does not apply. nil: it holds
	// on any host.
	For []Engine
	// Severity in each role; a role that is missing is not_applicable.
	Severity map[Role]Severity

	absent string // why it does not apply here
	ok     string // what is the case when all is well
	bad    string // what is the case where something is not
	// goals are values that settings should have here. They are judged where look is nil, and advised where advise is.
	goals func(f *host.Facts) []goal
	// look judges by itself.
	look func(f *host.Facts, r Role) view
	// fix is how a finding is changed; nil: by what is advised to set.
	fix remedy
	// advise returns what to set where that depends on the host, and for a host of which nothing is known what
	// all hosts can have. nil: the values of settings that name this check in their Advice.
	advise func(f *host.Facts, r Role) []setting.Assignment
	// asked says of a host's servers whether a profile for their kind holds what is advised. nil: it does.
	asked func(f *host.Facts) bool
	// left says why nothing is advised that a program should set by itself.
	left string
}

// view is what a check sees on a host. Words and a remedy that it has win over the check's own.
type view struct {
	readings        []reading
	absent, ok, bad string
	fix             remedy
	most            *Severity // what a finding weighs at most here; nil: as much as the check says
	apart           bool      // a finding gains the subject's lever nothing here
}

// at most: a finding that weighs less where something is the case.
func (v view) atMost(s Severity) view {
	v.most = &s
	return v
}

// gainless: a finding that no measurement of its subject can show, which does not come first with that subject's lever.
func (v view) gainless() view {
	v.apart = true
	return v
}

func (c Check) sees(f *host.Facts, r Role) view {
	if c.look == nil {
		return see(readings(c.goals(f))...)
	}
	return c.look(f, r)
}

// see makes a view of readings alone.
func see(readings ...reading) view { return view{readings: readings} }

// add puts in readings of a server.
func (v *view) add(d host.Database, list ...reading) {
	for _, r := range list {
		r.of = d.PID
		v.readings = append(v.readings, r)
	}
}

// The subjects by which findings and measurements are joined.
const (
	Frequency = "clock"  // governor, EPP, boost, limits, power plan
	Idle      = "idle"   // C-states
	SMT       = "smt"    // siblings and placement
	Log       = "log"    // where commits go
	Degree    = "degree" // degree of parallelism and CPU limits
	Memory    = "memory" // THP, NUMA balancing, swapping, write-back
	Kernel    = "kernel" // limits and clock
)

// Result is one check's answer on one host.
type Result struct {
	ID       string   `json:"id" jsonschema:"pattern=^[A-Z]{3}-[0-9]{3}$"` // never given to another check
	Title    string   `json:"title"`
	Severity Severity `json:"severity"` // in this role; info where the role is not judged
	// unknown: there is something to look at, and it could not be read
	Status   Status     `json:"status"`
	Detail   string     `json:"detail"`                       // what is the case on this host, in one line
	Evidence []Evidence `json:"evidence"`                     // what was read; a finding has at least one
	Why      string     `json:"why" jsonschema:"minLength=1"` // the mechanism
	Source   string     `json:"source"`                       // who recommends it
	Disagree string     `json:"disagree,omitempty"`           // where the sources conflict, and how it was decided
	Engines  []Engine   `json:"engines,omitempty"`            // that it speaks for; none: any host
	Remedy   string     `json:"remedy"`                       // commands, one a line; lines that begin with # are remarks
	Of       []int      `json:"-"`                            // PIDs of the servers that a finding is of; nil: the host
	Subject  string     `json:"lever,omitempty"`              // by which a finding is joined with measurements
	Sets     []string   `json:"-"`                            // settings that are advised where something is to be changed
	// Exception is the one by which a finding is accepted, or was until it expired.
	Exception *Exception `json:"exception,omitempty"`
}

// reasons are why a check is made, by its ID in texts.toml. Lines are broken there as a reader likes them.
type reasons struct {
	Why      string // the mechanism, in two or three sentences
	Source   string // who recommends it
	Disagree string // where the sources conflict and how it was decided; may be empty
	// Covers are the parameters of other tools that it judges, by the names in testdata/sources.toml: a sysctl, or
	// section and option.
	Covers []string
}

//go:embed texts.toml
var textFile []byte

// all holds every check, by subject and number. To add one, add its value to the list of its subject with the next free
// number, and its text to texts.toml. Numbers are never given twice: scripts and reports refer to them.
var all = sync.OnceValue(func() []Check {
	list := slices.Concat(power, windows, uncore, idle, smt, memory, kernel, scheduler, network, cloudNetwork, cards,
		storage, mounts, cloudVolumes, virt, server)
	told := map[string]reasons{}
	err := toml.NewDecoder(bytes.NewReader(textFile)).DisallowUnknownFields().Decode(&told)
	if err != nil || len(told) != len(list) {
		panic(fmt.Sprintf("texts.toml: %d texts of %d checks: %v", len(told), len(list), err))
	}
	line := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for i := range list {
		t := told[list[i].ID]
		t.Why, t.Source, t.Disagree = line(t.Why), line(t.Source), line(t.Disagree)
		list[i].reasons = t
	}
	return list
})

// All returns every check, in the order of reports: power, idle states, SMT,
// memory, kernel, network, storage, virtualization and limits.
func All() []Check { return slices.Clone(all()) }

// inProduction weighs a check for the two production roles only.
func inProduction(db, app Severity) map[Role]Severity {
	return map[Role]Severity{ProductionDB: db, ProductionApp: app}
}

// everywhere weighs a check for all roles.
func everywhere(db, app, dev Severity) map[Role]Severity {
	return map[Role]Severity{ProductionDB: db, ProductionApp: app, Development: dev}
}
