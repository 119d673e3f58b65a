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
	Schema   int           `json:"schema"`
	Action   string        `json:"action"` // set, revert, verify; plan with --dry-run
	Outcomes []outcomeJSON `json:"outcomes"`
	Same     []outcomeJSON `json:"same"`    // had the value already
	Skipped  []outcomeJSON `json:"skipped"` // could not be changed
	Error    string        `json:"error,omitempty"`
}

type outcomeJSON struct {
	Setting string `json:"setting"`
	Object  string `json:"object"`
	Path    string `json:"path,omitempty"`
	From    string `json:"from,omitempty"`
	To      string `json:"to,omitempty"`
	Want    string `json:"want,omitempty"` // as typed, where that differs
	Read    string `json:"read,omitempty"` // what it had afterwards
	Note    string `json:"note,omitempty"` // how To comes from Want, such as a share that lies between two steps
	Result  string `json:"result"`         // changed, unchanged, rounded, restored, foreign, gone, forgotten, failed, moved; planned, same, skipped
	Reason  string `json:"reason,omitempty"`
}

func stepJSON(s setting.Step, result string) outcomeJSON {
	return outcomeJSON{Setting: s.Setting, Object: s.Object.Name, Path: s.Object.Path, From: s.From, To: s.To, Want: s.Want, Note: s.Note, Result: result}
}

// change is a plan and what became of it.
func change(action string, p *setting.Plan, list []setting.Outcome, failure error) changeJSON {
	out := changeJSON{Schema: settingsSchema, Action: action, Outcomes: []outcomeJSON{}, Same: []outcomeJSON{}, Skipped: []outcomeJSON{}}
	if p != nil {
		for _, s := range p.Same {
			out.Same = append(out.Same, stepJSON(s, "same"))
		}
		for _, s := range p.Skipped {
			out.Skipped = append(out.Skipped, outcomeJSON{Setting: s.Setting, Object: s.Object.Name, Path: s.Object.Path, Result: "skipped", Reason: s.Reason})
		}
		if action == "plan" {
			for _, s := range p.Steps {
				out.Outcomes = append(out.Outcomes, stepJSON(s, "planned"))
			}
			for _, s := range p.Sides {
				out.Outcomes = append(out.Outcomes, stepJSON(s, "moved"))
			}
		}
	}
	for _, o := range list {
		j := stepJSON(o.Step, string(o.Result))
		j.Read, j.Reason = o.Read, o.Reason
		out.Outcomes = append(out.Outcomes, j)
	}
	if failure != nil {
		out.Error = oneLine(failure)
	}
	return out
}
