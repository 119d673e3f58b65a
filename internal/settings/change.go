package settings

import (
	"cmp"
	"slices"
	"time"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Schema is the version of these documents' forms, which docs/schema/settings.schema.json describes.
const Schema = 1

// Setting is one, as settings prints it.
type Setting struct {
	Name    string          `json:"name"`             // as set takes it
	Sysctl  string          `json:"sysctl,omitempty"` // vm.swappiness, which set takes too
	Title   string          `json:"title"`
	Values  string          `json:"values"`            // that may be set, for people
	Held    bool            `json:"held"`              // in force only as long as set runs
	Missing string          `json:"missing,omitempty"` // why the host has none; objects is empty then
	Objects []setting.State `json:"objects"`
}

// All is what settings prints with --format json.
type All struct {
	document.Head
	Settings []Setting `json:"settings"`
}

func newList(sys *setting.System, all []setting.Setting) All {
	out := All{document.Head{Kind: "settings", Schema: Schema}, []Setting{}}
	for _, s := range all {
		j := Setting{Name: s.Name, Sysctl: s.Sysctl, Title: s.Title, Values: s.Values, Held: s.Held,
			Objects: []setting.State{}}
		if states, err := s.Read(sys); err != nil {
			j.Missing = err.Error()
		} else {
			j.Objects = states
		}
		out.Settings = append(out.Settings, j)
	}
	return out
}

// rows has one for each object, and for each setting that has none here. Values are the kernel's own text, as in JSON.
func (a All) rows() *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("setting", "object", "value", "file", "why not")}
	for _, s := range a.Settings {
		if s.Missing != "" {
			t.Add(document.Texts(s.Name, "", "", "", s.Missing)...)
		}
		for _, o := range s.Objects {
			t.Add(document.Texts(s.Name, o.Name, o.Value, o.Path, cmp.Or(o.Problem, o.Fixed))...)
		}
	}
	return t
}

// Change is what set, revert and verify print with --format json.
type Change struct {
	document.Head
	Started  time.Time         `json:"started,omitzero"` // of verify: when it looked
	Action   Action            `json:"action"`
	Outcomes []setting.Outcome `json:"outcomes"`           // one for each object, in the order of writing
	Same     []setting.Outcome `json:"same"`               // had the value already
	Skipped  []setting.Outcome `json:"skipped"`            // could not be changed, or are left, with the reason
	Left     []Left            `json:"left,omitempty"`     // by live experiments, of verify
	Accepted []Accepted        `json:"accepted,omitempty"` // outcomes that are not as set, of verify
	Error    string            `json:"error,omitempty"`
}

// Action is what was asked for. Plan writes nothing: with --dry-run, or where not all could be set.
type Action string

// The actions.
const (
	DoSet    Action = "set"
	DoRevert Action = "revert"
	DoVerify Action = "verify"
	Plan     Action = "plan"
)

// Left is what a live experiment has left.
type Left struct {
	Record  string   `json:"record,omitempty"`  // directory of its record
	Group   string   `json:"group,omitempty"`   // a control group in which an emulated clock has left processes
	Factors []string `json:"factors"`           // that are still changed
	Unknown string   `json:"unknown,omitempty"` // why they are not known
	Text    string   `json:"-"`                 // what it is, and what to type
}

// Accepted is an object that is not as set, and the exception for it.
type Accepted struct {
	Setting string `json:"setting"`
	Object  string `json:"object"`
	Check   string `json:"check"` // that the exception excuses
	Reason  string `json:"reason"`
	Until   string `json:"until"` // the last day
}

// rows has one for each object.
func (c Change) rows() *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("setting", "object", "result", "before", "asked", "after",
		"why")}
	for _, o := range slices.Concat(c.Outcomes, c.Same, c.Skipped) {
		t.Add(document.Texts(o.Setting, o.Name, string(o.Result), o.From, o.To, o.Read, o.Reason)...)
	}
	return t
}

// NewChange is what became of objects, or would.
func NewChange(action Action, list []setting.Outcome, failure error) Change {
	out := Change{Head: document.Head{Kind: "change", Schema: Schema}, Action: action, Outcomes: []setting.Outcome{},
		Same: []setting.Outcome{}, Skipped: []setting.Outcome{}}
	for _, o := range list {
		to := &out.Outcomes
		switch o.Result {
		case setting.Same:
			to = &out.Same
		case setting.Skipped:
			to = &out.Skipped
		}
		*to = append(*to, o)
	}
	if action == DoVerify {
		out.Kind, out.Started = "verify", time.Now()
	}
	if failure != nil {
		out.Error = screen.OneLine(failure)
	}
	return out
}
