package effects

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/analysis/smt"
	"hostlab/internal/document"
	"hostlab/internal/host"
	"hostlab/internal/result"
)

// smtSection is the section "smt": whether sharing a core harms threads that take
// locks, decided by the rule of package smt, and every placement that was measured. It is
// also the section's JSON.
type smtSection struct {
	Name string `json:"name"`
	smt.Verdict
	Advice   string    `json:"advice"`
	Alone    smtCell   `json:"alone"`
	Cells    []smtCell `json:"cells"`    // beside an antagonist
	Rotating *smtCell  `json:"rotating"` // all others want one lock while the scanner goes round; nil: not in the study
	// what the scanner's sibling gets of the mean of the others, as in the published program
	Rotation result.Estimate  `json:"rotation"`
	Caches   map[string]int64 `json:"caches"` // sizes that the sweep crosses, in bytes
	Cited    []smt.Citation   `json:"cited"`

	x                  *result.Experiment
	absent             map[string]string // placement -> why this host does not have it
	others             []result.Response // what is shown beside the ratio
	lockRate, scanRate *result.Response  // nil: not in the record
}

// smtCell is one placement of an antagonist.
type smtCell struct {
	Place      string             `json:"placement"`           // sibling, core, llc, socket, rotation, or the number of a CPU
	Antagonist string             `json:"antagonist"`          // scan, alu, fma, pause
	Size       int64              `json:"scan_bytes,omitzero"` // of the scan; 0: no scan, or not known
	Ratio      result.Estimate    `json:"ratio"`               // of the lock threads' rate to that without an antagonist
	Marked     int                `json:"contaminated"`        // runs
	Medians    map[string]float64 `json:"medians"`             // of each response
	sizeName   string             // half-l1, 2xllc, ...
	main       bool               // the verdict is about this scan
}

// classKey begins the names in a record's context that have the CPUs of a class of cores.
const classKey = "class_"

// rotation is the level of the published program, and the place of its scanner.
const rotation = "rotation"

// smtPlaces are the columns, nearest first: another thread of the same core, another
// core of the same last-level cache, one behind another such cache, another socket.
var smtPlaces = []smtPlace{
	{"sibling", "sibling", "the sibling"}, {"core", "core", "another core"},
	{"llc", "other LLC", "a core behind another LLC"}, {"socket", "socket", "another socket"},
}

// smtPlace is a placement: its name in levels, as a column's head, and where that is.
type smtPlace struct{ name, title, on string }

// placeOf is the placement of a name; an unknown one keeps it.
func placeOf(name string) smtPlace {
	if i := slices.IndexFunc(smtPlaces, func(p smtPlace) bool { return p.name == name }); i >= 0 {
		return smtPlaces[i]
	}
	return smtPlace{name, name, name}
}

// smtTitles are the short names of the responses shown beside the ratio, in the order
// of their columns.
var smtTitles = []struct{ name, title string }{
	{"lock_rate", "acquisitions"}, {"other_rate", "the other's rounds"}, {"spins_per_lock", "spins per acquisition"},
	{"jain", "Jain's index"}, {"share", "share of a fair one"}, {"ping_pong", "ping-pong"},
}

// row names a cell's row: "scan 512 KiB (half-l2)".
func (c *smtCell) row() string {
	s := c.Antagonist
	switch s { // what the others are called in the study says enough
	case "own":
		s = "own lock"
	case "lock":
		s = "same lock"
	}
	if c.Size > 0 {
		s += " " + result.Format(float64(c.Size), "B")
	}
	if c.sizeName != "" {
		s += " (" + c.sizeName + ")"
	}
	return s
}

// title is a column's head: of a CPU's number, with its class where that is another
// than the lock thread's.
func (s *smtSection) title(place string) string {
	cpu, err := strconv.Atoi(place)
	if err != nil {
		return placeOf(place).title
	}
	for key, list := range s.x.Context {
		if name, ok := strings.CutPrefix(key, classKey); ok && name != s.x.Context["class"] {
			if cpus, err := host.ParseList(list); err == nil && slices.Contains(cpus, cpu) {
				return fmt.Sprintf("CPU %d, of class %s", cpu, name)
			}
		}
	}
	return fmt.Sprintf("CPU %d", cpu)
}

// contested reports whether several threads want the lock in the rotation: of two
// CPUs, one scans and one takes it.
func (s *smtSection) contested() bool { return s.x.Context["cpus"] != "2" }

// rotatingLines are what the rotation gave: the share that was published of it, and
// what the lock thread keeps, which is less for the others that want its lock.
func (s *smtSection) rotatingLines() (out []string) {
	if s.Rotation.N > 0 {
		out = append(out, percentFigure(s.Rotation)+": the scanner's sibling against the mean of the others")
	}
	if r := s.Rotating; r != nil && r.Ratio.N > 0 {
		text := percentFigure(r.Ratio)
		if r.Marked > 0 {
			text += fmt.Sprintf(", %d c", r.Marked)
		}
		why := ", as all others want its lock"
		if !s.contested() {
			why = ", with no other thread at its lock, as the other CPU scans"
		}
		out = append(out, text+": the lock thread against alone"+why)
	}
	return out
}

// rows in the order of the cells, each once.
func (s *smtSection) rows() []string {
	var out []string
	for i := range s.Cells {
		if r := s.Cells[i].row(); !slices.Contains(out, r) {
			out = append(out, r)
		}
	}
	return out
}

// columns are the placements that have a cell: those of every host, then others that the study has.
func (s *smtSection) columns() (out []string) {
	rank := func(place string) int { return cmp.Or(slices.Index(smtPlaces, placeOf(place))+1, len(smtPlaces)+1) }
	for i := range s.Cells {
		if p := s.Cells[i].Place; !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return rank(a) - rank(b) })
	return out
}

// at is the cell of a row in a column; nil for none.
func (s *smtSection) at(row, place string) *smtCell {
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Place == place && c.row() == row {
			return c
		}
	}
	return nil
}

// percent prints a ratio: "43.1 %".
func percent(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
}

// percentFigure is a ratio with all that belongs to it.
func percentFigure(e result.Estimate) string {
	return fmt.Sprintf("%s (%s), n = %d", percent(e.Value), between(e, percent), e.N)
}

// text is the cell in the table.
func (c *smtCell) text() document.Cell {
	switch {
	case c == nil:
		return document.Text("not run")
	case c.Ratio.N == 0:
		return document.Text("no run")
	}
	n := fmt.Sprintf("n = %d", c.Ratio.N)
	if c.Marked > 0 {
		n += fmt.Sprintf(", %d c", c.Marked)
	}
	out := document.Text(percent(c.Ratio.Value), between(c.Ratio, percent), n)
	switch e := c.Ratio; { // an interval that holds 100 % has no colour, which would claim an effect
	case e.High < 1 && e.Value < alike:
		out.Tone = document.Caution
	case e.Low > 1 && e.Value > 2-alike:
		out.Tone = document.Notice
	}
	return out
}

// alike is the share from which the rule of package smt takes two rates for the same.
const alike = 0.95
