// Package setting reads, changes and puts back what a host lets change while it
// runs: governors, frequency limits, idle states, SMT, memory and kernel settings.
// Each is one value in the list of its subject; the journal keeps what was there, so that
// every change can be undone object by object, also after a kill or a power cut.
package setting

import (
	"bytes"
	"cmp"
	_ "embed"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/pelletier/go-toml/v2"

	"hostlab/internal/host"
)

// Setting is one thing that can be changed, on each of its objects. It is data: the file, what may be
// written, what changes with it, what checks advise, what other tools call it, and how the test bed tries it.
type Setting struct {
	Name   string // as the kernel or its file has it: governor, epp, thp, ...
	Sysctl string // its name for sysctl(8), with dots: vm.swappiness; "" where it is none
	Title  string // one line
	Values string // what may be written, for people; "": as its kind describes it
	// File is the file, with a pattern for those of several objects:
	// /sys/devices/system/cpu/cpufreq/policy*/scaling_governor. "": that of Sysctl.
	File   string
	Absent string // why a host may have none
	// Files are the patterns where several kinds of files hold the setting, in the order of writing.
	Files []string
	// Stacked takes in the disks that are made of others (dm, md).
	Stacked bool
	// Unrotating leaves rotating disks out of a profile that names no disk.
	Unrotating bool
	// Limit is a bound of which a higher one costs nothing: advice and profiles only ever raise it.
	Limit bool
	// Module is the kernel module whose parameter of the same last name the sysctl is. An option of the module sets it at
	// every boot: sysctl.d is applied before most modules are loaded, and then has no such sysctl.
	Module string
	// Effect is what else a change of it does, as a remedy says it: "file data leaves memory sooner"; "" nothing to say.
	Effect string
	Takes  kind

	// Order is its rank when several are applied: lower first; undone in reverse. The
	// governor comes before EPP, and both before frequency limits.
	Order int
	// Held is a setting that is in force only as long as hostlab runs, such as
	// cpu_dma_latency, which ends when its file is closed.
	Held bool
	// Lasting is a value that a reboot does not restore, since firmware keeps it.
	Lasting bool
	// Rounds is a setting of which the kernel may take another value than the one
	// written, and call that success: frequencies, limits.
	Rounds bool
	// request is a file that shows less than it keeps: a frequency limit reads what is in force of
	// what was asked for. It is not restored before the old value is written, though it may read it.
	request bool

	// Moves are the settings that the kernel may change with it: EPP with a governor, CPUs with SMT.
	// Their values are journaled first and restored with it.
	Moves []Move
	// Rival is a setting of which one write puts the other out of force, so that it reads 0. Nobody
	// writes 0: it returns when the rival is restored. Both in one plan are refused.
	Rival string
	// Needs are what must be set before a value of it is written: a plan sets them with it.
	Needs []Assignment
	// LockedBy takes the words that the kernel knows as well where the plan sets that setting, on the same
	// object, to another value than LockedAt.
	LockedBy, LockedAt string
	// refusals say more about an error of writing.
	refusals []refusal
	// against returns why a step of a plan cannot be together with what the plan, or the machine where it
	// plans nothing, has for another setting. Without a host to ask, values are as Spell gives them and the
	// machine says nothing. nil: never.
	against func(sys *System, step Step, all steps) error

	// Advice is the value for all objects that a check recommends, by its ID: the check has the roles.
	Advice map[string]string
	// Words are the options of tools that keep settings over a reboot. A tool without one takes the
	// sysctl or the file.
	Words []Word
	// AtBoot are values that are others where they are applied at every boot.
	AtBoot map[string]string
	// Named is why a profile needs the object; "": one value fits all.
	Named string
	// Tries are the values that the test bed sets in its guests. Settings whose trial takes more
	// preparation have theirs in testbed/trial.
	Tries []Try
}

// Text is what a person may want to know of a setting.
type Text struct {
	About  string // what it does, what it costs, what to know; a paragraph
	Source string // where that is documented
}

//go:embed texts.toml
var textFile []byte

var texts = sync.OnceValue(func() map[string]Text {
	told := map[string]Text{}
	if err := toml.NewDecoder(bytes.NewReader(textFile)).DisallowUnknownFields().Decode(&told); err != nil {
		panic("texts.toml: " + err.Error())
	}
	return told
})

// Text returns the setting's words of texts.toml, whose lines are broken as a reader likes them.
func (s Setting) Text() Text {
	line := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	t := texts()[s.Name]
	return Text{line(t.About), line(t.Source)}
}

// Move is what the kernel may change with a setting: the object of the same name, or all.
type Move struct {
	Setting string
	File    string // its pattern; "": the setting's own
	// Becomes are the values that it may have after the write; nil: any.
	Becomes []string
}

// refusal says what an error of writing means here.
type refusal struct {
	errno syscall.Errno
	means string
}

// Word is what a tool calls a setting.
type Word struct {
	Tool   string // tuned, saptune, windows
	Option string // section and option: cpu/governor
	Each   bool   // it can be given for one object
	// Values are the tool's words for values. With Only, which says why, it takes no others.
	Values map[string]string
	Only   string
}

// Try is a value that the test bed sets, and what each file must read then; "": the same.
type Try struct{ Set, Reads string }

// Word returns what a tool calls the setting.
func (s Setting) Word(tool string) (Word, bool) {
	i := slices.IndexFunc(s.Words, func(w Word) bool { return w.Tool == tool })
	if i < 0 {
		return Word{}, false
	}
	return s.Words[i], true
}

// SideEffect is what a change to a value does besides; "": nothing to say. Effect speaks of what checks advise: of
// other values it names that.
func (s Setting) SideEffect(value string) string {
	advised := slices.Compact(slices.Sorted(maps.Values(s.Advice)))
	if s.Effect == "" || len(advised) == 0 || slices.Contains(advised, value) {
		return s.Effect
	}
	return "not known at this value; at " + strings.Join(advised, " or ") + ", " + s.Effect
}

// Show returns an object's value as people see it.
func (s Setting) Show(o Object, value string) string {
	switch {
	case value == "" || s.Takes == nil:
		return value
	case value == "0" && s.Rival != "":
		return "0 (not in force)"
	}
	return s.Takes.show(o, value)
}

// Kinds reports that objects of different notes are different things, such as idle states.
func (s Setting) Kinds() bool {
	_, ok := s.Takes.(idleBound)
	return ok
}

// Note returns what to know of an object here, such as its range; or "".
func (s Setting) Note(sys *System, o Object) string {
	if k, ok := s.Takes.(noter); ok {
		return k.note(sys, o)
	}
	return ""
}

// Side is an object that a write to another one changes.
type Side struct {
	Setting string
	Object  Object
	// Becomes are the values that it may have after the write; nil: any. It matters only
	// if we are killed right then: such a value is taken as ours, any other as foreign.
	// The value that it had before is always allowed.
	Becomes []string
}

// Object is one thing that has a value of its own: a CPU, a policy, a device.
type Object struct {
	Name string `json:"object"`         // "cpu3", "policy0", "cpu3/state2", "sda"; "" where there is one only
	Path string `json:"path,omitempty"` // the file, of the machine
}

// State is what one object has.
type State struct {
	Name    string   `json:"name"` // "" where there is one only
	Path    string   `json:"path"`
	Value   string   `json:"value,omitempty"`   // as the kernel has it; "" with Problem
	Shown   string   `json:"shown,omitempty"`   // as people read it
	Note    string   `json:"note,omitempty"`    // what to know of it, such as its range
	Levels  []string `json:"levels,omitempty"`  // what it could have here; nil: not a list
	Fixed   string   `json:"fixed,omitempty"`   // why nobody can set it here; "": nothing says so before set tries
	Problem string   `json:"problem,omitempty"` // why it cannot be read: absent, denied, ...
}

// Object is the object that has it.
func (st State) Object() Object { return Object{st.Name, st.Path} }

// Assignment is what a person asked for: NAME=VALUE, or one object of it: NAME@OBJECT=VALUE.
type Assignment struct{ Name, Object, Value string }

func (a Assignment) String() string {
	if a.Object != "" {
		return a.Name + "@" + a.Object + "=" + a.Value
	}
	return a.Name + "=" + a.Value
}

// Step is one write of a plan.
type Step struct {
	Setting string `json:"setting"`
	Object
	From string `json:"from,omitempty"` // what is there
	To   string `json:"to,omitempty"`   // what will be written, or is to be put back
	Want string `json:"want,omitempty"` // what a person asked for, where that differs: "max"
	Note string `json:"note,omitempty"` // how To comes from Want, or what the kernel will make of To; or ""
	// of a plan with --dry-run: this user may not write it
	Barred bool `json:"barred,omitempty"`
}

// Plan is what would be written, in order, and what could not be.
type Plan struct {
	Steps   []Step
	Same    []Step    // objects that have the value already
	Skipped []Outcome // objects that are absent or denied, with the reason and the capability or file mode that is missing
	// Sides are objects of other settings that the steps are known to change as well, and to what: a limit
	// in % that one in bytes takes out of force. They are put back with the steps.
	Sides []Step
	// Moves are the settings whose objects the steps may change as well, in a way that only the kernel knows.
	Moves []string
}

// Outcomes are what is to be written, Planned, and what is Moved with it.
func (p *Plan) Outcomes() []Outcome { return append(as(p.Steps, Planned), as(p.Sides, Moved)...) }

// Left are the objects that nothing is to be written to: the Same and the Skipped ones.
func (p *Plan) Left() []Outcome { return append(as(p.Same, Same), p.Skipped...) }

// Barred are the steps that this user may not write.
func (p *Plan) Barred() (n int) {
	for _, s := range p.Steps {
		if s.Barred {
			n++
		}
	}
	return n
}

func as(steps []Step, r Result) (list []Outcome) {
	for _, s := range steps {
		list = append(list, Outcome{Step: s, Result: r})
	}
	return list
}

// Outcome is what became of one object, of an Apply or a Revert.
type Outcome struct {
	Step
	Read   string `json:"read,omitempty"` // what the object had afterwards
	With   string `json:"-"`              // the setting that has moved it
	Result Result `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// Skip is the outcome of an object that cannot be changed.
func Skip(setting string, o Object, reason string) Outcome {
	return Outcome{Step: Step{Setting: setting, Object: o}, Result: Skipped, Reason: reason}
}

// Result says what became of one object.
type Result string

// The results. Planned is what a preview would write; Rounded is a value that the kernel took and changed; Foreign is
// one that another program has changed meanwhile, which a revert leaves; Same is one that had the value, and Skipped
// one that cannot be changed, both before anything was written; Gone is an object that is not
// there any more; Forgotten is one that a reboot has restored already; Moved is one that was not set,
// and that the kernel has changed with one that was.
const (
	Changed   Result = "changed"
	Unchanged Result = "unchanged"
	Rounded   Result = "rounded"
	Restored  Result = "restored"
	Foreign   Result = "foreign"
	Gone      Result = "gone"
	Forgotten Result = "forgotten"
	Failed    Result = "failed"
	Planned   Result = "planned"
	Same      Result = "same"
	Skipped   Result = "skipped"
	Moved     Result = "moved"
)

// Join names objects in short: cpu0-511, policy0,2, cpu0-3/state2; devices one by one.
// The order is that of the first of each.
func Join(names []string) string {
	type family struct {
		before, after string
		numbers       []int
	}
	var list []*family
	for _, name := range names {
		before, n, after, ok := numberIn(name)
		if !ok {
			list = append(list, &family{before: name})
			continue
		}
		i := slices.IndexFunc(list, func(f *family) bool {
			return f.numbers != nil && f.before == before && f.after == after
		})
		if i < 0 {
			list = append(list, &family{before, after, []int{n}})
			continue
		}
		list[i].numbers = append(list[i].numbers, n)
	}
	var out []string
	for _, f := range list {
		slices.Sort(f.numbers)
		out = append(out, f.before+host.FormatList(slices.Compact(f.numbers))+f.after)
	}
	return strings.Join(out, ", ")
}

// numberIn splits the names of CPUs and policies at their number. Those of devices have
// numbers that mean other things.
func numberIn(name string) (before string, n int, after string, ok bool) {
	for _, p := range []string{"cpu", "policy"} {
		rest, is := strings.CutPrefix(name, p)
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if end < 0 {
			end = len(rest)
		}
		if n, err := strconv.Atoi(rest[:end]); is && err == nil {
			return p, n, rest[end:], true
		}
	}
	return "", 0, "", false
}

// all holds every setting in the order in which they are applied. To add one, add its text to texts.toml and its value to
// the list of its subject: frequency.go, memory.go, sysctl.go, network.go, block.go, smt.go (CPUs and idle states).
var all = completed(power, frequencies, uncore, idle, sysctls, limits, network, memory, block, interrupts, cpus)

// completed fills in what follows from other fields, and sorts by rank.
func completed(lists ...[]Setting) []Setting {
	out := slices.Concat(lists...)
	for i := range out {
		s := &out[i]
		if s.Sysctl != "" {
			s.Name = strings.ReplaceAll(lastPart(s.Sysctl), "-", "_")
			s.Title += " (" + s.Sysctl + ")"
			s.File = "/proc/sys/" + strings.ReplaceAll(s.Sysctl, ".", "/")
			s.Absent = "the kernel does not show " + s.Sysctl
			s.Order = rankSysctl
		}
		if s.Files == nil {
			s.Files = []string{s.File}
		}
		s.Values = cmp.Or(s.Values, s.Takes.describe())
		if s.Rival != "" {
			s.Moves = append(s.Moves, Move{Setting: s.Rival, Becomes: []string{"0"}})
		}
	}
	slices.SortStableFunc(out, func(a, b Setting) int { return cmp.Compare(a.Order, b.Order) })
	return out
}

// All lists the settings in the order in which they are applied.
func All() []Setting { return slices.Clone(all) }

func Names() (names []string) {
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names
}

// Ranks of settings: lower is applied first. The governor comes before EPP, which it may
// lock, and both before limits. CPUs are taken away last, since what they lack while
// they are offline could not be set, and so given back first.
const (
	rankProfile = 10 * (iota + 1)
	rankGovernor
	rankEPP
	rankEPB
	rankBoost
	rankMaxPerf
	rankMinPerf
	rankMax // before min: a maximum below the minimum is taken, the reverse is not everywhere
	rankMin
	rankIdle
	rankMemory
	rankSysctl
	rankBlock
	rankCPU
	rankSMT
)
