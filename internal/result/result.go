// Package result is the record of what was measured: values with unit, interval,
// sample size and the kind of evidence they are, and how they are printed.
package result

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Evidence says how a number came to be. It is printed beside every effect.
type Evidence string

// The kinds of evidence, strongest first.
const (
	Measured  Evidence = "measured"  // on this host, with its own knobs
	Emulated  Evidence = "emulated"  // on this host, a slower part imitated
	Simulated Evidence = "simulated" // from the model
	Cited     Evidence = "cited"     // from a source that is named
)

// Measurement is one number of a probe or an experiment. It is unknown, with
// Reason saying why, while Estimate is nil.
type Measurement struct {
	Probe    string    // the probe it belongs to, as in "wakeup"
	Kind     Kind      // what programs know it by, as in "wakeup.alu"
	Name     string    // unique in a report, as in "wakeup.alu.10ms.cpu0"; for people and JSON
	Title    string    // for people, as in "10 ms of arithmetic after 100 ms asleep, against awake"
	Unit     string    // s, Hz, B, 1/s, or "ratio"
	Estimate *Estimate // nil: unknown
	// of an A/A comparison, in Unit's scale (for a ratio: the largest |ratio-1| of its interval); NaN: none
	NoiseFloor float64
	Evidence   Evidence
	Labels     Labels
	Warnings   []string
	Reason     string // why it is unknown
}

// Kind is what a measurement is of. Package probe lists the kinds.
type Kind string

// Labels hold what a measurement was measured at, and what spoiled it. JSON has them as text.
type Labels struct {
	CPU        *int    `json:"cpu,omitempty,string"`
	Class      string  `json:"class,omitempty"` // of the CPU
	Socket     *int    `json:"socket,omitempty,string"`
	Kernel     string  `json:"kernel,omitempty"`         // the kind of work
	Slice      float64 `json:"slice,omitempty,string"`   // s of work
	Condition  string  `json:"condition,omitempty"`      // of a clock
	Rounds     int     `json:"rounds,omitempty,string"`  // in all
	Clean      *int    `json:"clean,omitempty,string"`   // rounds that others did not disturb
	Awake      int     `json:"awake,omitempty,string"`   // of n: in their pause others had the CPU
	Loss       float64 `json:"loss,omitempty,string"`    // s, of a burst
	Wakeups    int     `json:"wakeups,omitempty,string"` // that were seen
	Ramping    bool    `json:"ramping,omitempty,string"` // the reference was still getting faster
	CPUA       *int    `json:"cpu_a,omitempty,string"`   // of a pair
	CPUB       *int    `json:"cpu_b,omitempty,string"`
	Relation   string  `json:"relation,omitempty"`
	CPULock    *int    `json:"cpu_lock,omitempty,string"`
	CPUScan    *int    `json:"cpu_scan,omitempty,string"`
	RelationBy string  `json:"relation_by,omitempty"` // measured or reported
	Device     string  `json:"device,omitempty"`      // log-dir or memory
	Layout     string  `json:"layout,omitempty"`      // of the file
	Commits    int     `json:"commits,omitempty,string"`
	Seconds    float64 `json:"seconds,omitempty,string"` // that the rounds took
	Drift      bool    `json:"drift,omitempty,string"`   // the device changed meanwhile
	Degree     int     `json:"degree,omitempty,string"`
	Quota      float64 `json:"quota,omitempty,string"` // CPUs
	Throttled  string  `json:"throttled,omitempty"`    // periods, as in "48 of 72"
	// Disturbed says what others did beyond repair, as in "4 of 16 rounds were clean, 6 are needed".
	Disturbed string `json:"disturbed,omitempty"`
}

// On reports whether a measurement is of a CPU.
func (l Labels) On(cpu int) bool { return l.CPU != nil && *l.CPU == cpu }

// Known reports whether there is a value.
func (m Measurement) Known() bool { return m.Estimate != nil }

// measured is a Measurement in JSON, which has no NaN: what is not known is null.
type measured struct {
	Probe      string   `json:"probe"`
	Kind       Kind     `json:"kind"`
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Value      *float64 `json:"value"`
	Unit       string   `json:"unit"`
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	N          int      `json:"n"`
	NoiseFloor *float64 `json:"noise_floor"`
	Evidence   Evidence `json:"evidence"`
	Labels     Labels   `json:"labels,omitzero"`
	Warnings   []string `json:"warnings,omitempty"`
	Reason     string   `json:"reason,omitempty"`
}

// MarshalJSON writes null for what is not known.
func (m Measurement) MarshalJSON() ([]byte, error) {
	e := Unknown()
	if m.Estimate != nil {
		e = *m.Estimate
	}
	return JSON(measured{m.Probe, m.Kind, m.Name, m.Title, Finite(e.Value), m.Unit, Finite(e.Low), Finite(e.High), e.N,
		Finite(m.NoiseFloor), m.Evidence, m.Labels, m.Warnings, m.Reason})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (m *Measurement) UnmarshalJSON(data []byte) error {
	var in measured
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	number := func(v *float64) float64 {
		if v == nil {
			return math.NaN()
		}
		return *v
	}
	*m = Measurement{Probe: in.Probe, Kind: in.Kind, Name: in.Name, Title: in.Title, Unit: in.Unit,
		NoiseFloor: number(in.NoiseFloor), Evidence: in.Evidence, Labels: in.Labels,
		Warnings: in.Warnings, Reason: in.Reason}
	if in.Value != nil {
		m.Estimate = &Estimate{Value: *in.Value, Low: number(in.Low), High: number(in.High), N: in.N}
	}
	return nil
}

// Distribution is a histogram of single operations: Count[i] of them took more
// than Edge[i-1] and at most Edge[i], in Unit; edges rise.
type Distribution struct {
	Name  string    `json:"name"`
	Title string    `json:"title"`
	Unit  string    `json:"unit"`
	Edge  []float64 `json:"edges"`
	Count []int     `json:"counts"`
}

// Machine is what a plan took of the machine: what explains its levels, and what a resume must not
// decide otherwise.
type Machine struct {
	CPUs  int `json:"cpus,omitzero"` // that could be used
	Cores int `json:"cores,omitzero"`
	// Measured is the pairs of CPUs that were measured to share a core; nil: not measured.
	Measured [][2]int `json:"measured_siblings"`

	// Of a workload with a scanner:
	Scanner map[string]int `json:"scanner,omitempty"`   // level -> CPU of the scanner
	Scan    int64          `json:"scan_bytes,omitzero"` // that it overwrites
	Victim  *int           `json:"victim,omitempty"`    // CPU of the lock thread
	Class   string         `json:"class,omitempty"`     // of that CPU's core, on hosts with several
}

// Facts names what is known, for people.
func (m *Machine) Facts() (out [][2]string) {
	if m == nil {
		return nil
	}
	add := func(name string, value any) { out = append(out, [2]string{name, fmt.Sprint(value)}) }
	if m.CPUs > 0 {
		add("CPUs", m.CPUs)
	}
	if m.Cores > 0 {
		add("cores", m.Cores)
	}
	if m.Measured != nil {
		var pairs []string
		for _, p := range m.Measured {
			pairs = append(pairs, fmt.Sprintf("%d+%d", p[0], p[1]))
		}
		add("CPUs measured to share a core", cmp.Or(strings.Join(pairs, ", "), "none"))
	}
	if m.Victim != nil {
		add("lock thread", fmt.Sprintf("CPU %d", *m.Victim))
	}
	if m.Class != "" {
		add("class of its core", m.Class)
	}
	for _, level := range slices.Sorted(maps.Keys(m.Scanner)) {
		add("scanner "+level, fmt.Sprintf("CPU %d", m.Scanner[level]))
	}
	if m.Scan > 0 {
		add("scan", Format(float64(m.Scan), "B"))
	}
	return out
}

// Scanner is a level of the workload scanlock: where the scanner runs, as seen from the lock thread.
type Scanner string

const (
	NoScanner      Scanner = "none"
	ScannerSibling Scanner = "sibling"  // another thread of the same core
	ScannerCore    Scanner = "core"     // another core with the same last-level cache
	ScannerSame    Scanner = "same"     // the same CPU, in turn
	Rotation       Scanner = "rotation" // each CPU in turn, while all others want the lock: the published program
)

// Scanners lists the levels.
var Scanners = []Scanner{NoScanner, ScannerSibling, ScannerCore, ScannerSame, Rotation}
