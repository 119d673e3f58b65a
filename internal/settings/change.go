package settings

import (
	"time"

	"hostlab/internal/document"
	"hostlab/internal/screen"
	"hostlab/internal/setting"
)

// Schema is the version of these documents' forms, which docs/schema/settings.schema.json describes.
const Schema = 1

type one struct {
	Name    string          `json:"name"`
	Sysctl  string          `json:"sysctl,omitempty"` // vm.swappiness
	Title   string          `json:"title"`
	Values  string          `json:"values"`
	Held    bool            `json:"held"`
	Missing string          `json:"missing,omitempty"` // why the host has none
	Objects []setting.State `json:"objects"`
}

// list is what settings prints with --format json.
type list struct {
	document.Head
	Settings []one `json:"settings"`
}

func newList(sys *setting.System, all []setting.Setting) list {
	out := list{document.Head{Kind: "settings", Schema: Schema}, []one{}}
	for _, s := range all {
		j := one{Name: s.Name, Sysctl: s.Sysctl, Title: s.Title, Values: s.Values, Held: s.Held,
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

// Change is what set, revert and verify print with --format json.
type Change struct {
	document.Head
	Started  time.Time         `json:"started,omitzero"` // of verify: when it looked
	Action   string            `json:"action"`           // set, revert, verify; plan with --dry-run
	Outcomes []setting.Outcome `json:"outcomes"`
	Same     []setting.Outcome `json:"same"`               // had the value already
	Skipped  []setting.Outcome `json:"skipped"`            // could not be changed
	Left     []Left            `json:"left,omitempty"`     // by live experiments, of verify
	Accepted []Accepted        `json:"accepted,omitempty"` // outcomes that are not as set, of verify
	Error    string            `json:"error,omitempty"`
}

// Left is what a live experiment has left.
type Left struct {
	Record  string   `json:"record,omitempty"`
	Group   string   `json:"group,omitempty"`   // a control group in which an emulated clock has left processes
	Factors []string `json:"factors"`           // that are still changed
	Unknown string   `json:"unknown,omitempty"` // why they are not known
	Text    string   `json:"-"`                 // what it is, and what to type
}

// Accepted is an object that is not as set, and the exception for it.
type Accepted struct {
	Setting string `json:"setting"`
	Object  string `json:"object"`
	Check   string `json:"check"`
	Reason  string `json:"reason"`
	Until   string `json:"until"`
}

// NewChange is what became of objects, or would.
func NewChange(action string, list []setting.Outcome, failure error) Change {
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
	if action == "verify" {
		out.Kind, out.Started = "verify", time.Now()
	}
	if failure != nil {
		out.Error = screen.OneLine(failure)
	}
	return out
}
