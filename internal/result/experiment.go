package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// SchemaVersion is that of the files that an experiment's directory holds.
const SchemaVersion = 2

// Experiment is the head of an experiment's record: all that an analysis has to
// know of the study, so that it never needs the study itself. It is written
// before the first run and never changed.
type Experiment struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"` // random, so that copies are recognised
	Name   string `json:"name"`
	Title  string `json:"title,omitempty"`
	// of the study file's bytes and of what the command line set
	Study   string `json:"study_sha256"`
	BuiltIn string `json:"study_built_in,omitempty"` // its name, for one inside the binary
	// absolute; relative paths in the study start in its directory
	File       string            `json:"study_file,omitempty"`
	Overrides  map[string]string `json:"overrides,omitempty"`
	Version    string            `json:"hostlab"`
	Started    time.Time         `json:"started"`
	Host       map[string]string `json:"host"` // the environment's fingerprint: kernel, cpu, microcode, smt, ...
	Evidence   Evidence          `json:"evidence"`
	Workload   string            `json:"workload"`
	Parameters map[string]string `json:"parameters"`        // of the workload, as text with units
	Machine    *Machine          `json:"machine,omitempty"` // nil: levels do not depend on it
	Places     []Place           `json:"places,omitempty"`  // what levels that are directories lie on
	// of the report, beside its effects: a name that report/effects knows
	Section   string     `json:"section,omitempty"`
	Factors   []Factor   `json:"factors"`
	Absent    []Absent   `json:"absent,omitempty"` // levels of the study that this host does not have
	Responses []Response `json:"responses"`
	Contrasts []Contrast `json:"contrasts"`
	Design    Design     `json:"design"`
	Cells     []Cell     `json:"cells"`
	Blocks    []Block    `json:"blocks"` // the whole plan, in order
}

// Change says what it takes to go from one level of a factor to another.
type Change string

// The costs of a change, cheapest first. Reboot and Manual make a whole plot.
const (
	Online          Change = "online"
	RestartWorkload Change = "restart-workload"
	Reboot          Change = "reboot"
	Manual          Change = "manual"
)

// WholePlot reports whether levels of such a factor hold for a whole boot.
func (c Change) WholePlot() bool { return c == Reboot || c == Manual }

// Factor is what an experiment varies.
type Factor struct {
	Name     string   `json:"name"`
	Target   string   `json:"target,omitempty"` // name of the setting, or of the server's parameter, that it is
	Kind     string   `json:"kind"`             // setting, parameter, server, emulated, commands or manual
	Levels   []string `json:"levels"`
	Baseline string   `json:"baseline"`
	Change   Change   `json:"change"`
}

// Absent is a level that was taken out of the design before it was planned.
type Absent struct {
	Factor string `json:"factor"`
	Level  string `json:"level"`
	Reason string `json:"reason"`
	// Follows is set for a level that is there, but has lost what it was to be compared with.
	Follows bool `json:"follows,omitempty"`
}

// Place is what a level lies on that stands for a directory.
type Place struct {
	Factor   string   `json:"factor"`
	Level    string   `json:"level"`
	On       string   `json:"on"`                 // in words
	Emulated bool     `json:"emulated,omitempty"` // syncs are slowed down, in place of a slow device
	Volatile bool     `json:"volatile,omitempty"` // memory: nothing survives a power cut
	Cautions []string `json:"cautions,omitempty"` // that were known before the first run
}

// Place returns what a level lies on; the zero Place where the record has none.
func (x *Experiment) Place(factor, level string) Place {
	for _, p := range x.Places {
		if p.Factor == factor && p.Level == level {
			return p
		}
	}
	return Place{}
}

// CellAt is the index of the cell that has these levels, of all factors; -1: none has.
func CellAt(cells []Cell, levels map[string]string) int {
	return slices.IndexFunc(cells, func(c Cell) bool { return maps.Equal(c.Levels, levels) })
}

// Factor returns a factor by its name; nil for none.
func (x *Experiment) Factor(name string) *Factor {
	for i := range x.Factors {
		if x.Factors[i].Name == name {
			return &x.Factors[i]
		}
	}
	return nil
}

// LevelsText names levels in the order of the factors, as in "power powersave, log nvme0";
// factors that have none are left out.
func LevelsText(factors []Factor, levels map[string]string) string {
	var parts []string
	for _, f := range factors {
		if l, ok := levels[f.Name]; ok {
			parts = append(parts, f.Name+" "+l)
		}
	}
	return strings.Join(parts, ", ")
}

// Lacking is levels of a factor that are not there for one reason.
type Lacking struct {
	Factor, Reason string
	Levels         []string
}

// ByReason puts levels together that are not there for the same reason.
func ByReason(absent []Absent) (list []Lacking) {
	for _, a := range absent {
		i := slices.IndexFunc(list, func(l Lacking) bool { return l.Factor == a.Factor && l.Reason == a.Reason })
		if i < 0 {
			i, list = len(list), append(list, Lacking{Factor: a.Factor, Reason: a.Reason})
		}
		if !slices.Contains(list[i].Levels, a.Level) {
			list[i].Levels = append(list[i].Levels, a.Level)
		}
	}
	return list
}

// AbsentText names levels with the reasons why they are not there, each reason once.
func AbsentText(absent []Absent) string {
	var parts []string
	for _, l := range ByReason(absent) {
		part := l.Factor + " " + strings.Join(l.Levels, ", ")
		if l.Reason != "" {
			part += " (" + l.Reason + ")"
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Comparison is the scale on which levels are compared.
type Comparison string

// The scales. Ratio takes logarithms and needs positive values.
const (
	Ratio      Comparison = "ratio"
	Difference Comparison = "difference"
)

// Response is what is measured in every run.
type Response struct {
	Name    string     `json:"name"`
	Title   string     `json:"title,omitempty"`
	Unit    string     `json:"unit"`   // a base unit: s, B, 1/s, J, ... or "" for a plain number
	Better  string     `json:"better"` // lower or higher
	Compare Comparison `json:"compare"`
	// Margin is the smallest effect that matters in practice: a fraction of the
	// baseline for ratios (0.02 is 2 %), in Unit for differences. Above 0.
	Margin  float64 `json:"margin"`
	Primary bool    `json:"primary"`
}

// Contrast is a comparison that the study asks for. With one factor it is the
// effect of Levels[0] against that factor's baseline; with two, their interaction.
// At holds other factors at a level; over those that it does not name, cells are
// averaged.
type Contrast struct {
	Factors []string          `json:"factors"`
	Levels  []string          `json:"levels"`
	At      map[string]string `json:"at,omitempty"`
	Primary bool              `json:"primary"` // shares in alpha, and in the decision to stop
}

// String names what a contrast is of, as in "smt off x log nvme0 at size large".
func (c Contrast) String() string {
	var parts, at []string
	for i, f := range c.Factors {
		level := "?"
		if i < len(c.Levels) {
			level = c.Levels[i]
		}
		parts = append(parts, f+" "+level)
	}
	s := strings.Join(parts, " x ")
	for _, f := range slices.Sorted(maps.Keys(c.At)) {
		at = append(at, f+" "+c.At[f])
	}
	if at != nil {
		s += " at " + strings.Join(at, ", ")
	}
	return s
}

type DesignKind string

const (
	RCBD      DesignKind = "rcbd"       // randomised complete blocks
	SplitPlot DesignKind = "split-plot" // some factors hold for a whole boot
	// Switchback is for a service that others use: a block is a pair of periods, at the baseline
	// and at the level, in the order that a coin gives, which intervals go by (stats.Switchback).
	Switchback DesignKind = "switchback"
)

// Design is how runs are arranged.
type Design struct {
	Kind    DesignKind `json:"kind"`
	Seed    uint64     `json:"seed"`
	Alpha   float64    `json:"alpha"`
	Looks   []int      `json:"looks"`   // numbers of blocks after which the experiment may stop, rising
	Repeats int        `json:"repeats"` // of every cell within a whole plot; 1 for rcbd
	// AA is how many pairs of the baseline with itself are made before all else; Dwell is how long each stretch of
	// the last block is, which is made before an effect is called none; 0: there is no such block. See Planned.
	AA    int `json:"aa"`
	Dwell int `json:"dwell,omitempty"`
	// Adjust takes out what the CPU time that others took explains.
	Adjust bool `json:"adjust,omitempty"`
	// Load names the response of a switchback whose changes from one period of a pair to the other explain
	// a part of the differences; "": none does.
	Load string `json:"load,omitempty"`
}

// Block returns what a block is called: a pair of periods in a switchback.
func (d Design) Block() string {
	if d.Kind == Switchback {
		return "pair"
	}
	return "block"
}

// Planned returns how many of Blocks hold all cells. Behind them in the list are Design.AA pairs of the baseline with
// itself, which run first, and one block of stretches where Design.Dwell is not 0.
func (x *Experiment) Planned() int {
	n := len(x.Blocks) - x.Design.AA
	if x.Design.Dwell > 0 {
		n--
	}
	return max(0, n)
}

// At is where in the plan a run belongs.
type At struct{ Block, Plot, Slot int }

// At is a run's place in the plan.
func (r *Run) At() At { return At{r.Block, r.Plot, r.Slot} }

func (p At) String() string {
	return fmt.Sprintf("the run of block %d, plot %d, slot %d", p.Block, p.Plot, p.Slot)
}

// Plans reports whether the plan has a run of this cell at its place.
func (x *Experiment) Plans(r *Run) bool {
	in := func(i, n int) bool { return i >= 0 && i < n }
	return in(r.Block, len(x.Blocks)) && in(r.Plot, len(x.Blocks[r.Block].Plots)) &&
		in(r.Slot, len(x.Blocks[r.Block].Plots[r.Plot])) && in(r.Cell, len(x.Cells)) &&
		x.Blocks[r.Block].Plots[r.Plot][r.Slot] == r.Cell
}

// Cell is one combination of levels.
type Cell struct {
	Levels map[string]string `json:"levels"`
}

// Block is one replication of all cells: a complete block, or in a split plot a
// superblock of whole plots, one a boot. Each plot lists indices of Experiment.Cells
// in the order they run; a complete block has one plot.
type Block struct {
	Plots [][]int `json:"plots"`
	Seed  uint64  `json:"seed"` // of the workload: the same in all runs of a block
}

// Runs is how many a block has.
func (b Block) Runs() (n int) {
	for _, plot := range b.Plots {
		n += len(plot)
	}
	return n
}

// Status says what a run is good for.
type Status string

// The states of a run. Only OK ones are analysed; Void and Failed ones were
// queued again.
const (
	OK     Status = "ok"
	Void   Status = "void"   // a guard was broken
	Failed Status = "failed" // the workload failed or a response could not be had
	WarmUp Status = "warm-up"
)

// Run is one execution of the workload: a line of runs.jsonl, written when it ended.
type Run struct {
	Seq     int       `json:"seq"`   // of all lines of the record, warm-ups and void ones too, from 0
	Block   int       `json:"block"` // from 0
	Plot    int       `json:"plot"`  // within the block
	Slot    int       `json:"slot"`  // within the plot
	Cell    int       `json:"cell"`  // index of Experiment.Cells
	Attempt int       `json:"attempt"`
	Status  Status    `json:"status"`
	Reason  string    `json:"reason,omitempty"` // why it is void or failed
	Start   time.Time `json:"start"`
	Seconds float64   `json:"seconds"` // from Start until the workload returned
	Boot    string    `json:"boot,omitempty"`

	Values  map[string]float64 `json:"values,omitempty"`  // response -> value in its base unit, finite
	Missing map[string]string  `json:"missing,omitempty"` // response -> why it has none

	Operations int64         `json:"operations,omitempty"`
	Latency    *Distribution `json:"latency,omitempty"` // of single operations, where the workload tells
	// of the session that did the work, where the workload looked at one
	Waits *Waits `json:"waits,omitempty"`

	Before map[string]string `json:"before,omitempty"` // factor -> what it read before the run
	After  map[string]string `json:"after,omitempty"`
	// foreign_cpu and steal (shares of all CPUs), throttled (events), paused (seconds in which hostlab was stopped)
	Conditions map[string]float64 `json:"conditions,omitempty"`
	Warnings   []string           `json:"warnings,omitempty"`
	// Harm is why a period of a switchback ended early, with the baseline at once: it counts as its
	// level nonetheless.
	Harm string `json:"harm,omitempty"`
	// Harmless is why such an end does not count against the level: the baseline was no better thereafter.
	Harmless string `json:"harmless,omitempty"`
	// Waited is for how long a service in use could settle after the change, in s. SettlesIn is the longest time constant
	// that what was seen up to this run is likely for; 0: not known.
	Waited    float64 `json:"waited_s,omitempty"`
	SettlesIn float64 `json:"settles_in_s,omitempty"`
	// Restarted is set where the service was restarted: no period of the pair counts up to here, but those that harm
	// has ended. Withdrawn is one of them that was a good one; it follows from the others.
	Restarted bool `json:"restarted,omitempty"`
	Withdrawn bool `json:"-"`
	// Contaminated is why a run that counts should have been void: it was repeated as
	// often as the study allows, and its guard has exhausted = "mark". Or it is what the
	// workload did besides, and then one of the warnings.
	Contaminated string `json:"contaminated,omitempty"`
}

// Waits is what the database session that did a run's work was seen doing, from
// outside and now and then: short waits are overstated.
type Waits struct {
	Looks  int    `json:"looks"`
	Events []Wait `json:"events"` // most time first
}

// Wait is an event of a session.
type Wait struct {
	Name    string  `json:"name"`    // in the server's words: IO:WALSync, Commit
	Part    string  `json:"part"`    // of the time that it belongs to, as package explain calls them: log
	Seconds float64 `json:"seconds"` // each look stands for the time since the one before
}

// Harmed is the reason of an end that was made to be safe: a live service did worse at a level than the study allows.
// Whether the level is to blame, only the comparison tells.
const Harmed = "harm"

// End says why an experiment is over. Without one it can be resumed.
type End struct {
	Reason string    `json:"reason"` // resolved, looks, budget, or Harmed
	Blocks int       `json:"blocks"` // complete ones
	Runs   int       `json:"runs"`   // lines of runs.jsonl; the store counts them
	At     time.Time `json:"at"`
}
