package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/check"
	"hostlab/internal/fleet/rollout"
	"hostlab/internal/lever"
	"hostlab/internal/setting"
	"hostlab/internal/watch"
)

// The roles of what no check of a role says: settings as they were set, and CPUs after a quiet time.
const (
	AsSet      check.Role = "verify"
	AfterQuiet check.Role = "watch"
)

// Finding is a check's answer, as check prints it.
type Finding struct {
	Check    string       `json:"id"`
	Title    string       `json:"title"`
	Severity string       `json:"severity"`
	Status   check.Status `json:"status"`
	Detail   string       `json:"detail"`
	Remedy   string       `json:"remedy"`
	// Exception is the one by which the host itself accepted it.
	Exception *check.Exception `json:"exception"`
}

// Measurement is one of assess' probes, in base units.
type Measurement struct {
	Name     string   `json:"name"`
	Title    string   `json:"title"`
	Value    *float64 `json:"value"` // nil: not known
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
	N        int      `json:"n"`
	Noise    *float64 `json:"noise_floor"` // as a share of Value
	Unit     string   `json:"unit"`
	Evidence string   `json:"evidence"`
}

// Lever is one of a host's.
type Lever struct {
	lever.Lever
	// SecondsPerDay of active time that it may save; nil: not known.
	SecondsPerDay *float64 `json:"-"`
}

// asShare is a share that a document tells; nil: not known, as one that is none.
func asShare(v *float64) *float64 {
	if v == nil || *v < 0 || *v > 1 {
		return nil
	}
	return v
}

// assessment reads what assess writes.
func (d *Document) assessment(body []byte) error {
	var in struct {
		Facts    map[string]any `json:"facts"`
		Findings []Finding      `json:"results"`
		Probes   []Measurement  `json:"probes"`
		Levers   []Lever        `json:"levers"`
		Time     *struct {
			Wall   float64 `json:"wall"`
			Active float64 `json:"active"`
			Parts  []part  `json:"parts"`
		} `json:"time"`
		Service *struct {
			Name string `json:"name"`
		} `json:"service"`
		Verdict struct {
			Text string `json:"text"`
		} `json:"verdict"`
		Past *past `json:"past"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	d.readFacts(in.Facts)
	d.Findings, d.Measured, d.Levers, d.Verdict = in.Findings, in.Probes, in.Levers, in.Verdict.Text
	for i := range d.Measured {
		// A document has it in the measurement's unit; of a ratio it is a share already.
		if m := &d.Measured[i]; m.Noise != nil && m.Value != nil && m.Unit != "ratio" && *m.Value != 0 {
			share := math.Abs(*m.Noise / *m.Value)
			m.Noise = &share
		}
	}
	loaded := in.Service != nil && in.Time != nil && in.Time.Wall > 0
	if loaded {
		d.Service = in.Service.Name
	}
	for i := range d.Levers {
		l := &d.Levers[i]
		if l.Estimate, l.AtMost = asShare(l.Estimate), asShare(l.AtMost); loaded && l.Estimate != nil {
			s := *l.Estimate * in.Time.Active / in.Time.Wall * (24 * time.Hour).Seconds()
			l.SecondsPerDay = &s
		}
	}
	if in.Past != nil && in.Service != nil && in.Time != nil {
		d.day(in.Past, in.Service.Name, in.Time.Parts)
	}
	return nil
}

// checks reads what check writes.
func (d *Document) checks(body []byte) error {
	var in struct {
		Findings []Finding `json:"results"`
	}
	err := decode(body, &in)
	d.Findings = in.Findings
	return err
}

// facts reads what facts writes.
func (d *Document) facts(body []byte) error {
	var in map[string]any
	if err := decode(body, &in); err != nil {
		return err
	}
	d.readFacts(in)
	return nil
}

// plan reads a plan of a roll-out.
func (d *Document) plan(body []byte) (err error) {
	if d.Plan, err = rollout.Read(body); err != nil {
		return refuse("%v", err)
	}
	d.Host, d.Started = "", d.Plan.Created
	return nil
}

// afterQuiet reads what watch --from writes, and takes its verdict as an answer of a check.
func (d *Document) afterQuiet(body []byte) error {
	var in watch.Answer
	if err := decode(body, &in); err != nil {
		return err
	}
	f := Finding{Check: "watch", Title: otherTitles["watch"], Status: check.Unknown, Severity: "low", Detail: in.Verdict}
	switch in.Verdict {
	case watch.Even:
		f.Status = check.OK
	case watch.UnevenAtFirst, watch.UnevenAlways, watch.Uneven, watch.SlowAtFirst:
		f.Status = check.Finding
	}
	d.Role, d.Started, d.Findings = AfterQuiet, in.To, []Finding{f}
	return nil
}

// asSet reads what verify writes, and makes an answer of each object that hostlab has set there.
func (d *Document) asSet(body []byte) error {
	var in struct {
		Outcomes []setting.Outcome `json:"outcomes"`
		Problem  string            `json:"error"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	d.Role, d.Findings = AsSet, []Finding{}
	for _, o := range in.Outcomes {
		f := Finding{Check: strings.TrimSuffix(o.Setting+"/"+o.Name, "/"), Title: "Setting " + o.Setting, Severity: "medium",
			Status: check.OK, Detail: o.To}
		switch o.Result {
		case setting.Unchanged, setting.Rounded, setting.Moved:
		default:
			f.Status, f.Detail = check.Finding, fmt.Sprintf("%s, and was set to %s", cmp.Or(o.Read, string(o.Result)), o.To)
		}
		d.Findings = append(d.Findings, f)
	}
	if in.Problem != "" {
		d.Findings = append(d.Findings, Finding{Check: "journal", Title: otherTitles["journal"], Severity: "medium",
			Status: check.Finding, Detail: in.Problem})
	}
	return nil
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

// experiments reads the primary effects of what report writes. The document is as new as the last run in it.
func (d *Document) experiments(body []byte) error {
	var in struct {
		Experiments []struct {
			Dir     string    `json:"dir"`
			ID      string    `json:"id"`
			Name    string    `json:"name"`
			Study   string    `json:"study_sha256"`
			Tool    string    `json:"hostlab"`
			Started time.Time `json:"started"`
			Last    time.Time `json:"last_run"`
		} `json:"experiments"`
		Effects []struct {
			Experiment string            `json:"experiment"`
			Factor     string            `json:"factor"`
			Level      string            `json:"level"`
			Baseline   string            `json:"baseline"`
			At         map[string]string `json:"at"`
			Effect
			Primary bool `json:"primary"`
		} `json:"effects"`
	}
	if err := decode(body, &in); err != nil {
		return err
	}
	d.Role = ""
	by := map[string]int{}
	for i, x := range in.Experiments {
		by[x.Dir] = i
		for _, at := range []time.Time{x.Started, x.Last} {
			if at.After(d.Started) {
				d.Started = at
			}
		}
		d.Version = cmp.Or(d.Version, x.Tool)
	}
	for _, f := range in.Effects {
		i, known := by[f.Experiment]
		if !f.Primary || !known {
			continue
		}
		x := in.Experiments[i]
		out := f.Effect
		out.Experiment, out.Study, out.StudyHash = cmp.Or(x.ID, x.Dir), x.Name, x.Study
		out.Contrast = fmt.Sprintf("%s: %s against %s", f.Factor, f.Level, f.Baseline)
		for _, name := range slices.Sorted(maps.Keys(f.At)) {
			out.Contrast += fmt.Sprintf(", %s %s", name, f.At[name])
		}
		d.Effects = append(d.Effects, out)
	}
	return nil
}
