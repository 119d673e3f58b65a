package effects

import (
	"math"
	"slices"
	"strings"
	"time"

	"hostlab/internal/analysis"
	"hostlab/internal/result"
)

// Schema is the version of the JSON document; docs/schema/report.schema.json
// describes it. It rises when a key changes its meaning or goes.
const Schema = 2

// Kind tells the document from others.
const Kind = "report"

// data has one shape for one experiment and for several, so that
// `jq .effects` works for both: every effect names its experiment.
type data struct {
	Kind        string           `json:"kind"`
	Schema      int              `json:"schema"`
	Version     string           `json:"version"`
	Outcome     string           `json:"outcome"`
	Verdicts    []string         `json:"verdicts"`
	Effects     []effectJSON     `json:"effects"`
	Experiments []experimentJSON `json:"experiments"`
	Comparison  *comparisonJSON  `json:"comparison"`
}

type effectJSON struct {
	Experiment string             `json:"experiment"`
	Kind       string             `json:"kind"`
	Factor     string             `json:"factor"`
	Level      string             `json:"level"`
	Baseline   string             `json:"baseline"`
	At         map[string]string  `json:"at"`
	Response   string             `json:"response"`
	Primary    bool               `json:"primary"`
	Compare    result.Comparison  `json:"compare"`
	ValueUnit  string             `json:"value_unit"`
	Better     string             `json:"better"`
	Effect     float64            `json:"effect"`
	Low        float64            `json:"low"`
	High       float64            `json:"high"`
	Alpha      float64            `json:"alpha"`
	N          int                `json:"n"`
	Unit       string             `json:"unit"`
	Verdict    analysis.Verdict   `json:"verdict"`
	Hours      int                `json:"hours_seen"` // of the day's 24, in which runs began: at others it may be another
	Reason     string             `json:"reason"`
	Margin     float64            `json:"margin"`
	Floor      float64            `json:"noise_floor"`
	Evidence   string             `json:"evidence"`
	Mean       result.Estimate    `json:"mean"`
	Held       result.Estimate    `json:"held"`
	Base       sideJSON           `json:"baseline_side"`
	LevelSide  sideJSON           `json:"level_side"`
	Stalls     bool               `json:"stalls"`
	Scatter    float64            `json:"scatter_p"`
	Need       *int               `json:"need"`
	NeedTime   float64            `json:"need_seconds"`
	Finds      float64            `json:"finds"`
	Adjusted   *analysis.Adjusted `json:"adjusted"`
	Limits     []analysis.Limit   `json:"limits"`
	Failing    *failingJSON       `json:"failing"`
	Differs    []float64          `json:"differences"`
	Warnings   []string           `json:"warnings"`
}

// sideJSON is one side of an effect, in the response's unit.
type sideJSON struct {
	Median float64         `json:"median"`
	P95    result.Estimate `json:"p95"`
}

type experimentJSON struct {
	Dir string `json:"dir"`
	result.Experiment
	Blocks   int            `json:"blocks"` // in place of the plan
	Planned  int            `json:"blocks_planned"`
	Look     int            `json:"look"`
	Seconds  float64        `json:"block_seconds"`
	Complete bool           `json:"complete"`
	Ended    string         `json:"ended,omitempty"`
	Runs     map[string]int `json:"runs"`
	Marked   int            `json:"contaminated"`
	Failures []failuresJSON `json:"failures"`
	Early    []earlyJSON    `json:"ended_early,omitempty"`
	First    time.Time      `json:"first_run,omitzero"`
	Last     time.Time      `json:"last_run,omitzero"`
	Hours    int            `json:"hours_seen"`
	AA       []aaJSON       `json:"aa"`
	Section  any            `json:"section"`
	Warnings []string       `json:"warnings"`
}

// earlyJSON is a period of a live service that harm has ended.
type earlyJSON struct {
	Pair    int     `json:"pair"`
	Level   string  `json:"level"`
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
	Counts  bool    `json:"counts"` // against the level: the baseline was calm thereafter
}

// failuresJSON is how the first tries of a cell's runs went.
type failuresJSON struct {
	Levels map[string]string `json:"levels"`
	countJSON
	Reason string `json:"reason"`
}

type countJSON struct {
	Runs   int     `json:"runs"`
	Failed int     `json:"failed"`
	Share  float64 `json:"share"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Tried  int     `json:"tried"`
	Void   int     `json:"void"`
}

// failingJSON compares the sides of an effect.
type failingJSON struct {
	Level    countJSON `json:"level"`
	Baseline countJSON `json:"baseline"`
	Failed   float64   `json:"p_failed"`
	Void     float64   `json:"p_void"`
}

func newCount(f analysis.Failures) countJSON {
	share := f.Share()
	return countJSON{Runs: f.Runs, Failed: f.Failed, Share: share.Value, Low: share.Low, High: share.High, Tried: f.Tried,
		Void: f.Void}
}

type aaJSON struct {
	Response string  `json:"response"`
	Effect   float64 `json:"effect"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	N        int     `json:"n"`
	Floor    float64 `json:"noise_floor"`
	Finds    float64 `json:"finds"`
}

type comparisonJSON struct {
	Warnings []string  `json:"warnings"`
	Rows     []rowJSON `json:"rows"`
}

// rowJSON is one effect in all experiments.
type rowJSON struct {
	Name    string `json:"name"`
	Effects []*int `json:"effects"`
	Apart   bool   `json:"apart"`
}

// mostDifferences is how many differences of one effect a page's own data keeps; the JSON
// format has all.
const mostDifferences = 1000

// small is what a page holds of the data.
func (d data) small() data {
	d.Effects = slices.Clone(d.Effects)
	for i := range d.Effects {
		if len(d.Effects[i].Differs) > mostDifferences {
			d.Effects[i].Differs = nil
		}
	}
	return d
}

var outcomeNames = map[analysis.Outcome]string{analysis.NoneBeyond: "no_practical_effect",
	analysis.Open:   "inconclusive",
	analysis.Beyond: "effect"}

func newData(s *Set) data {
	d := data{Kind: Kind, Schema: Schema, Version: s.Version, Outcome: outcomeNames[s.Outcome()]}
	for i := range s.Reports {
		r := &s.Reports[i]
		d.Verdicts = append(d.Verdicts, verdicts(r)...)
		for j := range r.Analysis.Effects {
			d.Effects = append(d.Effects, newEffect(r, &r.Analysis.Effects[j]))
		}
		d.Experiments = append(d.Experiments, newExperiment(r))
	}
	if len(s.Reports) > 1 {
		d.Comparison = newComparison(s)
	}
	return d
}

// newComparison refers to effects by their place in the document's list.
func newComparison(s *Set) *comparisonJSON {
	at := map[*analysis.Effect]int{}
	for i := range s.Reports {
		effects := s.Reports[i].Analysis.Effects
		for j := range effects {
			at[&effects[j]] = len(at)
		}
	}
	c := s.compare()
	out := &comparisonJSON{Warnings: c.Warnings}
	for _, row := range c.Rows {
		r := rowJSON{Name: row.Name, Effects: make([]*int, len(row.Effects)), Apart: row.Apart}
		for i, e := range row.Effects {
			if e != nil {
				r.Effects[i] = new(at[e])
			}
		}
		out.Rows = append(out.Rows, r)
	}
	return out
}

func newEffect(r *Report, e *analysis.Effect) effectJSON {
	x := r.head()
	out := effectJSON{
		Experiment: r.Dir, Kind: "main", Factor: strings.Join(e.Contrast.Factors, " x "),
		Level:    strings.Join(e.Contrast.Levels, " x "),
		Baseline: strings.Join(baselines(x, &e.Contrast), " x "), At: e.Contrast.At, Response: e.Response.Name,
		Primary: e.Primary(),
		Compare: e.Response.Compare, ValueUnit: e.Response.Unit, Better: e.Response.Better,
		Effect: e.Value, Low: e.Low, High: e.High, Alpha: e.Alpha, N: e.N, Unit: e.Unit,
		Verdict: e.Verdict, Hours: r.Analysis.Hours, Reason: reasonText(e),
		Margin: e.Response.Margin, Floor: e.NoiseFloor, Evidence: evidence(x, e),
		Mean: e.Mean, Held: e.Held, Base: sideJSON{e.Base.Value, e.Base.P95},
		LevelSide: sideJSON{e.Level.Value, e.Level.P95}, Stalls: e.Stalls, Scatter: e.Scatter, Limits: e.Limits,
		Differs: e.Differences, NeedTime: math.NaN(), Finds: e.Finds,
		Adjusted: e.Adjusted, Warnings: warned(e),
	}
	if f := e.Failing; f != nil {
		out.Failing = &failingJSON{Level: newCount(f.Level), Baseline: newCount(f.Base), Failed: f.Failed, Void: f.Voids}
	}
	if interaction(e) {
		out.Kind = "interaction"
	}
	if e.Need > 0 {
		out.Need, out.NeedTime = new(e.Need), e.NeedSeconds
	}
	return out
}

func newExperiment(r *Report) experimentJSON {
	a, x := r.Analysis, r.head()
	out := experimentJSON{
		Dir: r.Dir, Experiment: *x, Blocks: a.Blocks, Planned: x.Planned(), Look: a.Look, Seconds: a.Seconds,
		Complete: a.Complete, Ended: a.Ended,
		Runs: map[string]int{}, First: a.First, Last: a.Last, Hours: a.Hours, Section: r.extra().data, Warnings: r.warnings(),
	}
	for _, run := range a.Used {
		if run.Contaminated != "" {
			out.Marked++
		}
	}
	for _, s := range a.Struck {
		out.Early = append(out.Early, earlyJSON{s.Pair, s.Level, s.Seconds, s.Why, s.Harmless == ""})
	}
	for _, f := range a.Failures {
		out.Failures = append(out.Failures, failuresJSON{Levels: x.Cells[f.Cell].Levels, countJSON: newCount(f),
			Reason: f.Reason})
	}
	for _, s := range []result.Status{result.OK, result.Void, result.Failed, result.WarmUp, analysis.FailedWarmUp} {
		out.Runs[string(s)] = a.Runs[s]
	}
	for _, v := range a.AA {
		out.AA = append(out.AA, aaJSON{Response: v.Response.Name, Effect: v.Value, Low: v.Low, High: v.High, N: v.N,
			Floor: v.Floor, Finds: v.Finds})
	}
	return out
}
