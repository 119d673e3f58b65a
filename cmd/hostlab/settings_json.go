package main

import (
	"time"

	"hostlab/internal/document"
	"hostlab/internal/experiment/runner"
	"hostlab/internal/setting"
)

// settingsSchema is the version of these outputs' form, which docs/schema/settings.schema.json describes.
const settingsSchema = 1

type settingJSON struct {
	Name    string          `json:"name"`
	Sysctl  string          `json:"sysctl,omitempty"` // vm.swappiness
	Title   string          `json:"title"`
	Values  string          `json:"values"`
	Held    bool            `json:"held"`
	Missing string          `json:"missing,omitempty"` // why the host has none
	Objects []setting.State `json:"objects"`
}

// settingsListJSON is what settings prints with --format json.
type settingsListJSON struct {
	document.Head
	Settings []settingJSON `json:"settings"`
}

func settingsList(sys *setting.System, list []setting.Setting) settingsListJSON {
	out := settingsListJSON{document.Head{Kind: "settings", Schema: settingsSchema}, []settingJSON{}}
	for _, s := range list {
		j := settingJSON{Name: s.Name, Sysctl: s.Sysctl, Title: s.Title, Values: s.Values, Held: s.Held,
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

// changeJSON is what set, revert and verify print with --format json.
type changeJSON struct {
	document.Head
	Started  time.Time         `json:"started,omitzero"` // of verify: when it looked
	Action   string            `json:"action"`           // set, revert, verify; plan with --dry-run
	Outcomes []setting.Outcome `json:"outcomes"`
	Same     []setting.Outcome `json:"same"`               // had the value already
	Skipped  []setting.Outcome `json:"skipped"`            // could not be changed
	Left     []leftJSON        `json:"left,omitempty"`     // by live experiments, of verify
	Accepted []acceptedJSON    `json:"accepted,omitempty"` // outcomes that are not as set, of verify
	Error    string            `json:"error,omitempty"`
}

type leftJSON struct {
	Record  string   `json:"record,omitempty"`
	Group   string   `json:"group,omitempty"`   // a control group in which an emulated clock has left processes
	Factors []string `json:"factors"`           // that are still changed
	Unknown string   `json:"unknown,omitempty"` // why they are not known
}

func leftBehind(list []runner.Left) (out []leftJSON) {
	for _, l := range list {
		j := leftJSON{Record: l.Dir, Group: l.Slow.Group, Factors: append([]string{}, l.Factors...)}
		if l.Unknown != nil {
			j.Unknown = oneLine(l.Unknown)
		}
		out = append(out, j)
	}
	return out
}

// change is what became of objects, or would.
func change(action string, list []setting.Outcome, failure error) changeJSON {
	out := changeJSON{Head: document.Head{Kind: "change", Schema: settingsSchema}, Action: action, Outcomes: []setting.Outcome{},
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
		out.Error = oneLine(failure)
	}
	return out
}
