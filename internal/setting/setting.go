// Package setting reads, changes and puts back what a host lets change while it
// runs: governors, frequency limits, idle states, SMT, memory and kernel settings.
// Each is one file here and a line in All; the journal keeps what was there, so that
// every change can be undone object by object, also after a kill or a power cut.
package setting

// Setting is one thing that can be changed, on each of its objects.
type Setting struct {
	Name   string // as the kernel or its file has it: governor, epp, thp, ...
	Sysctl string // its name for sysctl(8), with dots: vm.swappiness; "" where it is none
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

	// Lasting is a value that a reboot does not put back, since firmware keeps it.
	Lasting bool
	// Rounds is a setting of which the kernel may take another value than the one
	// written, and call that success: frequencies, limits.
	Rounds bool
	// request is a file that shows less than it keeps: a frequency limit reads what is in force of
	// what was asked for. It is not put back before the old value is written, though it may read it.
	request bool

	// objects lists what there is here, in the order of writing. None, or an error
	// that says why, where the host has no such knob.
	objects func(*System) ([]Object, error)
	// levels are the values that may be written to an object here; nil: any that parse accepts.
	levels func(*System, Object) ([]string, error)
	// freed are the levels that an object will have once earlier steps of the plan are done, where
	// those that it has now are fewer. nil: as now.
	freed func(sys *System, o Object, all steps) []string
	// parse turns what a person wrote (2.4GHz, max, never) into what the object will read
	// afterwards, and says what is expected otherwise; or is unsettable. nil: one of the levels, as it is.
	parse func(*System, Object, string) (string, error)
	// decode turns the file's content into the value; nil: Value.
	decode func([]byte) string
	// encode turns a value into what is written; nil: the value as it is.
	encode func(string) []byte
	// disturbs lists the objects of other settings, or of this one, that change as well when
	// the value is written to the object: EPP by a governor, CPUs by SMT. Their values are
	// journaled first and put back with it. It is asked before each write, also before
	// those that put back, and must list the same objects for every value.
	disturbs func(sys *System, o Object, value string) ([]Side, error)
	// against says why a step of a plan cannot be together with what the plan, or the machine where it
	// plans nothing, has for another setting. Without a host to ask, values are as Spell gives them and the
	// machine says nothing. nil: never.
	against func(sys *System, step Step, all steps) error
	// absent says why an object that somebody named is none of this setting here; "": there is no such
	// thing. nil: "".
	absent func(sys *System, name string) string
	// refused says more about an error of writing, from what is known of this file: "" leaves
	// it at the general reason. It may be nil.
	refused func(sys *System, o Object, value string, err error) string
	// offline is parse without a host to ask, for profiles that other hosts take: kHz, us,
	// min, max and shares stay. nil: parse needs none.
	offline func(string) (string, error)
	// implied reports a value that can be read but not written, such as 0 in
	// dirty_bytes: it comes back when what the write disturbed is put back.
	implied func(value string) bool
	// rounded says how a value lies to what was asked for, where it is not just that: the step
	// nearest to a share, or a frequency between two steps. nil, or "": it is.
	rounded func(sys *System, o Object, want, to string) string
	// show turns a value into what people see: kHz into GHz, no_turbo into on and off. nil: as it is.
	show func(Object, string) string
	// note says what to know of an object: its range, the latency of an idle state. It may
	// be nil. With kinds, objects of different notes are different things, and are listed apart.
	note  func(*System, Object) string
	kinds bool
}

// Show returns an object's value as people see it.
func (s Setting) Show(o Object, value string) string {
	if s.show == nil || value == "" {
		return value
	}
	return s.show(o, value)
}

// Kinds reports that objects of different notes are different things, such as idle states.
func (s Setting) Kinds() bool { return s.kinds }

// Note says what to know of an object here, such as its range; or "".
func (s Setting) Note(sys *System, o Object) string {
	if s.note == nil {
		return ""
	}
	return s.note(sys, o)
}

// Side is an object that a write to another one changes.
type Side struct {
	Setting string
	Object  Object
	// Becomes are the values that it may have after the write; nil: any. It matters only
	// if we are killed right then: such a value is taken as ours, any other as somebody
	// else's. The value that it had before is always allowed.
	Becomes []string
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

// Assignment is what a person asked for: NAME=VALUE, or one object of it: NAME@OBJECT=VALUE.
type Assignment struct{ Name, Object, Value string }

// Step is one write of a plan.
type Step struct {
	Setting string
	Object  Object
	From    string // what is there
	To      string // what will be written
	Want    string // what a person asked for, where that differs: "max"
	Note    string // how To comes from Want, or what the kernel will make of To; or ""
}

// Plan is what would be written, in order, and what could not be.
type Plan struct {
	Steps   []Step
	Same    []Step // objects that have the value already
	Skipped []Skip // objects that are absent or denied, with the reason and the capability or file mode that is missing
	// Sides are objects of other settings that the steps are known to change as well, and to what: a limit
	// in % that one in bytes takes out of force. They are put back with the steps.
	Sides []Step
	// Moves are the settings whose objects the steps may change as well, in a way that only the kernel knows.
	Moves []string
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

// The results. Planned is what a preview would write; Rounded is a value that the kernel took and changed; Foreign is one that
// somebody else has changed meanwhile, which a revert leaves; Gone is an object that is not
// there any more; Forgotten is one that a reboot has put back already; Moved is one that was not set,
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
	Moved     Result = "moved"
)
