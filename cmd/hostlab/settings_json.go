package main

import (
	"hostlab/internal/setting"
)

// settingsSchema is the version of these outputs' form, which docs/schema/settings.schema.json describes.
const settingsSchema = 1

type settingJSON struct {
	Name    string       `json:"name"`
	Sysctl  string       `json:"sysctl,omitempty"` // vm.swappiness
	Title   string       `json:"title"`
	Values  string       `json:"values"`
	Held    bool         `json:"held"`
	Missing string       `json:"missing,omitempty"` // why the host has none
	Objects []objectJSON `json:"objects"`
}

type objectJSON struct {
	Name    string   `json:"name"` // "" where there is one only
	Path    string   `json:"path"`
	Value   string   `json:"value,omitempty"` // as the kernel has it
	Shown   string   `json:"shown,omitempty"` // as people read it
	Note    string   `json:"note,omitempty"`
	Levels  []string `json:"levels,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// settingsListJSON is what settings prints with --format json.
type settingsListJSON struct {
	Schema   int           `json:"schema"`
	Settings []settingJSON `json:"settings"`
}

func settingsList(sys *setting.System, list []setting.Setting) settingsListJSON {
	out := settingsListJSON{settingsSchema, []settingJSON{}}
	for _, s := range list {
		j := settingJSON{Name: s.Name, Sysctl: s.Sysctl, Title: s.Title, Values: s.Values, Held: s.Held, Objects: []objectJSON{}}
		states, err := s.Read(sys)
		if err != nil {
			j.Missing = err.Error()
		}
		for _, st := range states {
			o := objectJSON{Name: st.Object.Name, Path: st.Object.Path, Value: st.Value, Note: s.Note(sys, st.Object), Levels: st.Levels}
			if st.Problem != nil {
				o.Problem = st.Problem.Error()
			} else {
				o.Shown = s.Show(st.Object, st.Value)
			}
			j.Objects = append(j.Objects, o)
		}
		out.Settings = append(out.Settings, j)
	}
	return out
}

// changeJSON is what set, revert and verify print with --format json.
type changeJSON struct {
	Schema   int               `json:"schema"`
	Action   string            `json:"action"` // set, revert, verify; plan with --dry-run
	Outcomes []setting.Outcome `json:"outcomes"`
	Same     []setting.Outcome `json:"same"`    // had the value already
	Skipped  []setting.Outcome `json:"skipped"` // could not be changed
	Error    string            `json:"error,omitempty"`
}

// change is what became of objects, or would.
func change(action string, list []setting.Outcome, failure error) changeJSON {
	out := changeJSON{Schema: settingsSchema, Action: action, Outcomes: []setting.Outcome{}, Same: []setting.Outcome{}, Skipped: []setting.Outcome{}}
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
	if failure != nil {
		out.Error = oneLine(failure)
	}
	return out
}
