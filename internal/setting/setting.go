// Package setting reads, changes and puts back what a host lets change while it
// runs: governors, frequency limits, idle states, SMT, memory and kernel settings.
// Each is one file here and a line in All; the journal keeps what was there, so that
// every change can be undone object by object, also after a kill or a power cut.
package setting

import (
	"context"
	"time"
)

// Setting is one thing that can be changed, on each of its objects.
type Setting struct {
	Name   string // as the kernel or its file has it: governor, epp, thp, ...
	Title  string // one line
	About  string // what it does, what it costs, what to know; a paragraph
	Source string // where that is documented
	Values string // what may be written, for people: "a governor that the driver offers"
	// Order is its rank when several are applied: lower first; undone in reverse. The
	// governor comes before EPP, and both before frequency limits.
	Order int
	// Held is a setting that is in force only as long as hostlab runs, such as
	// cpu_dma_latency, which ends when its file is closed.
	Held bool

	objects func(*System) ([]Object, error)
	// levels are the values that may be written to an object here; nil: any that parse accepts.
	levels func(*System, Object) ([]string, error)
	// parse turns what a person wrote (2.4GHz, max, never) into what is written to
	// the object, and says what is expected otherwise.
	parse func(*System, Object, string) (string, error)

	// The rest may be nil.

	// read turns what the file holds into what would be written to have it so again: the
	// word in brackets, numbers with single blanks. nil: the text without white space around it.
	read func([]byte) (string, error)
	// show turns a value into what people see: kHz into GHz, no_turbo into on and off.
	show func(Object, string) string
	// note says what to know of an object: its range, the latency of an idle state.
	note func(*System, Object) string
	// also are the objects whose values the kernel changes by itself when this one is
	// written: EPP with the governor, dirty_ratio with dirty_bytes. They are journaled
	// before the write as well. They are put back, if they are still as the write left them
	// (which is found out before it is undone), after it is undone.
	also func(*System, Object) []Linked
	// implied reports a value that can be read but not written, such as 0 in
	// dirty_bytes: it comes back when what also names is put back.
	implied func(value string) bool
	// refused says what a refusal to write means here, for EBUSY, EPERM and EINVAL; or "".
	refused func(error) string
}

// Linked is an object of another setting, or another object of this one.
type Linked struct {
	Setting string
	Object  Object
}

// Show returns an object's value as people see it.
func (s Setting) Show(o Object, value string) string {
	if s.show == nil || value == "" {
		return value
	}
	return s.show(o, value)
}

// Note says what to know of an object here, such as its range; or "".
func (s Setting) Note(sys *System, o Object) string {
	if s.note == nil {
		return ""
	}
	return s.note(sys, o)
}

// Object is one thing that has a value of its own: a CPU, a policy, a device.
type Object struct {
	Name string // "cpu3", "policy0", "cpu3/state2", "sda"; "" where there is one only
	Path string // the file, of the machine
	// Ordered objects of one setting are written in the order of the list and undone in reverse.
}

// State is what one object has.
type State struct {
	Object  Object
	Value   string   // as written to the file; "" with Problem
	Levels  []string // what it could have here; nil: not a list
	Problem error    // why it cannot be read: absent, denied, ...
}

// System is the machine that settings are read from and written to. Its calls can be
// replaced by a test's that fail or that end the process at any of them.
type System struct {
	Root string // "" is the machine itself
	FS   FS
	Boot func() string // an ID of this boot; "" unknown
	Host func() string // an ID of this machine; "" unknown
	Now  func() time.Time
}

// FS is the system calls that changing a setting makes. A write is one write(2) of
// the whole value.
type FS interface {
	ReadFile(path string) ([]byte, error)
	WriteFile(path string, value []byte) error // to a file that is there; never creates one
	ReadDir(path string) ([]string, error)     // names, in natural order
	Append(path string, b []byte) error        // the journal: creates, appends, fsyncs
	Sync(path string) error                    // fsyncs a directory
	Rename(from, to string) error
	Remove(path string) error
	MkdirAll(path string) error
}

// Assignment is what a person asked for: NAME=VALUE, or one object of it: NAME@OBJECT=VALUE.
type Assignment struct{ Name, Object, Value string }

// Step is one write of a plan.
type Step struct {
	Setting string
	Object  Object
	From    string // what is there
	To      string // what will be written
	Want    string // what a person asked for, where that differs: "max"
}

// Plan is what would be written, in order, and what could not be.
type Plan struct {
	Steps   []Step
	Same    []Step // objects that have the value already
	Skipped []Skip // objects that are absent or denied, with the reason and the capability or file mode that is missing
}

// Skip is an object that cannot be changed.
type Skip struct {
	Setting string
	Object  Object
	Reason  string
}

// Outcome is what became of one object, of an Apply or a Revert.
type Outcome struct {
	Step
	// Read is what the object had afterwards.
	Read string
	// Result is one of the constants.
	Result Result
	Reason string
}

// Result says what became of one object.
type Result string

// The results. Rounded is a value that the kernel took and changed; Foreign is one that
// somebody else has changed meanwhile, which a revert leaves; Gone is an object that is not
// there any more; Forgotten is one that a reboot has put back already.
const (
	Changed   Result = "changed"
	Unchanged Result = "unchanged"
	Rounded   Result = "rounded"
	Restored  Result = "restored"
	Foreign   Result = "foreign"
	Gone      Result = "gone"
	Forgotten Result = "forgotten"
	Failed    Result = "failed"
)

// Read returns the state of each object. No objects: the host has no such knob, and
// the error says why.
func (s Setting) Read(sys *System) ([]State, error) { panic("not written") }

// NewPlan reads what is there and says what would be written. It writes nothing. The
// error is about the assignments: an unknown name, a value that cannot be.
func NewPlan(sys *System, want []Assignment) (*Plan, error) { panic("not written") }

// Journal is the host's list of what was changed and is not yet put back. One process
// at a time has it open.
type Journal struct{}

// OpenJournal opens and locks the journal of a directory, and reads what a process that
// was killed has left. The error is *Busy where another hostlab has it.
func OpenJournal(sys *System, dir string) (*Journal, error) { panic("not written") }

// Entries are the open ones: changed and not put back, oldest first.
func (j *Journal) Entries() []Entry { panic("not written") }

// Entry is one object that was changed.
type Entry struct {
	Set      int    // number of the set of changes that it belongs to
	Owner    string // who made it: "set", or the directory of an experiment
	At       time.Time
	Boot     string
	Setting  string
	Object   Object
	Original string // before the first change
	Wrote    string // what was last written
	Read     string // what it read afterwards; "" if the process ended before it could
}

// Apply writes a plan: for each object the journal first, fsynced, then the write, then
// the value is read back and journaled as well. At the first failure it stops and undoes
// what it has done of this plan, unless keep is set. Held settings stay in force until the journal is closed.
func Apply(ctx context.Context, sys *System, j *Journal, owner string, p *Plan, keep bool) ([]Outcome, error) {
	panic("not written")
}

// Revert puts back open entries of an owner ("" all), the last first, each only where the
// value is still ours, or with force in any case.
func Revert(ctx context.Context, sys *System, j *Journal, owner string, force bool) ([]Outcome, error) {
	panic("not written")
}

// Verify compares what was set with what is there now; it needs no lock and no rights.
func Verify(sys *System, dir string) ([]Outcome, error) { panic("not written") }

// Close unlocks the journal, and ends Held settings.
func (j *Journal) Close() error { panic("not written") }
