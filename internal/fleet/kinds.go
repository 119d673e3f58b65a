package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/setting"
	"hostlab/internal/watch"
)

// The roles of what no check of a role says: settings as they were set, and CPUs after a quiet time.
const (
	AsSet      check.Role = "verify"
	AfterQuiet check.Role = "watch"
)

// others are the keys of documents that are neither of assess nor of check nor of facts.
type others struct {
	Action      string            `json:"action"`
	Outcomes    []setting.Outcome `json:"outcomes"`
	Problem     string            `json:"error"`
	Kind        string            `json:"kind"`
	To          time.Time         `json:"to"`
	Experiments []experiment      `json:"experiments"`
	Effects     []effect          `json:"effects"`
}

type experiment struct {
	Dir     string    `json:"dir"`
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Study   string    `json:"study_sha256"`
	Tool    string    `json:"hostlab"`
	Started time.Time `json:"started"`
	Last    time.Time `json:"last_run"`
}

type effect struct {
	Experiment string            `json:"experiment"`
	Factor     string            `json:"factor"`
	Level      string            `json:"level"`
	Baseline   string            `json:"baseline"`
	At         map[string]string `json:"at"`
	Effect
	Primary bool `json:"primary"`
}

// Effect is what one experiment measured of one contrast on one response. A ratio's is a fraction of the baseline.
type Effect struct {
	Experiment string   `json:"-"`
	Study      string   `json:"-"` // its name
	StudyHash  string   `json:"-"` // of the study file
	Contrast   string   `json:"-"` // governor: performance against powersave
	Response   string   `json:"response"`
	Compare    string   `json:"compare"` // ratio or difference
	Unit       string   `json:"value_unit"`
	Better     string   `json:"better"`
	Value      *float64 `json:"effect"` // nil: not known
	Low        *float64 `json:"low"`
	High       *float64 `json:"high"`
	Alpha      *float64 `json:"alpha"`
	N          int      `json:"n"`
	Margin     *float64 `json:"margin"`
	Noise      *float64 `json:"noise_floor"`
	Verdict    string   `json:"verdict"`
	Evidence   string   `json:"evidence"`
}

// fromOthers takes what the other documents say.
func (d *Document) fromOthers(e *envelope) {
	switch d.Kind {
	case Verified:
		d.Role, d.Findings = AsSet, asSet(e)
	case Watched:
		said := ""
		if e.Verdict != nil {
			said = string(*e.Verdict)
		}
		d.Role, d.Started = AfterQuiet, e.To
		d.Findings = []Finding{{Check: "watch", Title: otherTitles["watch"], Status: afterQuiet(said), Severity: "low",
			Detail: said}}
	case Effects:
		d.experiments(e)
	}
}

// afterQuiet is what a verdict of watch --analyze is as an answer of a check.
func afterQuiet(verdict string) check.Status {
	switch verdict {
	case watch.Even:
		return check.OK
	case watch.UnevenAtFirst, watch.UnevenAlways, watch.Uneven, watch.SlowAtFirst:
		return check.Finding
	}
	return check.Unknown
}

// asSet makes an answer of each object that hostlab has set there.
func asSet(e *envelope) []Finding {
	out := []Finding{}
	for _, o := range e.Outcomes {
		f := Finding{Check: strings.TrimSuffix(o.Setting+"/"+o.Name, "/"), Title: "Setting " + o.Setting, Severity: "medium",
			Status: check.OK, Detail: o.To}
		switch o.Result {
		case setting.Unchanged, setting.Rounded, setting.Moved:
		default:
			f.Status, f.Detail = check.Finding, fmt.Sprintf("%s, and was set to %s", cmp.Or(o.Read, string(o.Result)), o.To)
		}
		out = append(out, f)
	}
	if e.Problem != "" {
		out = append(out, Finding{Check: "journal", Title: otherTitles["journal"], Severity: "medium", Status: check.Finding,
			Detail: e.Problem})
	}
	return out
}

// experiments takes the primary effects. The document is as new as the last run in it.
func (d *Document) experiments(e *envelope) {
	d.Role = ""
	by := map[string]experiment{}
	for _, x := range e.Experiments {
		by[x.Dir] = x
		for _, at := range []time.Time{x.Started, x.Last} {
			if at.After(d.Started) {
				d.Started = at
			}
		}
		if d.Version == "" {
			d.Version = x.Tool
		}
	}
	for _, f := range e.Effects {
		x, known := by[f.Experiment]
		if !f.Primary || !known {
			continue
		}
		out := f.Effect
		out.Experiment, out.Study, out.StudyHash = cmp.Or(x.ID, x.Dir), x.Name, x.Study
		out.Contrast = fmt.Sprintf("%s: %s against %s", f.Factor, f.Level, f.Baseline)
		for _, name := range slices.Sorted(maps.Keys(f.At)) {
			out.Contrast += fmt.Sprintf(", %s %s", name, f.At[name])
		}
		d.Effects = append(d.Effects, out)
	}
}
