package result

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

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

// The levels.
const (
	NoScanner      Scanner = "none"
	ScannerSibling Scanner = "sibling"  // another thread of the same core
	ScannerCore    Scanner = "core"     // another core with the same last-level cache
	ScannerSame    Scanner = "same"     // the same CPU, in turn
	Rotation       Scanner = "rotation" // each CPU in turn, while all others want the lock: the published program
)

// Scanners lists the levels.
var Scanners = []Scanner{NoScanner, ScannerSibling, ScannerCore, ScannerSame, Rotation}
