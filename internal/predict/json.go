package predict

import (
	"slices"
	"strings"

	"hostlab/internal/document"
	"hostlab/internal/model"
	"hostlab/internal/result"
)

// Schema is the version of Data.
const Schema = 2

// Data is the answer as JSON; docs/schema/predict.schema.json describes it.
// What is not known is null, never 0.
type Data struct {
	Kind     string          `json:"kind"`
	Schema   int             `json:"schema"`
	Evidence result.Evidence `json:"evidence"` // of all estimates
	// before all else: the machine is a guest that has no say in its clock
	HostDecides  *HostDecides      `json:"host_decides,omitempty"`
	Answer       string            `json:"answer"`
	Seed         uint64            `json:"seed"`
	Replications int               `json:"replications"`
	Level        float64           `json:"level"`
	Machine      model.Machine     `json:"machine"`
	System       model.System      `json:"system,omitempty"` // whose policies the machine has
	Workload     dataWorkload      `json:"workload"`
	Baseline     string            `json:"baseline"`
	Policies     []model.Policy    `json:"policies"` // the baseline first
	Cells        []Cell            `json:"cells"`
	Residency    []dataResidency   `json:"residency"`
	Refused      []dataRefused     `json:"refused"` // policies that cannot carry a load
	VanishesAt   []model.Vanishing `json:"vanishes_at"`
	Sensitivity  *dataSensitivity  `json:"sensitivity"`
	Assumptions  []Assumption      `json:"assumptions"`
	Warnings     []string          `json:"warnings"`
	Test         string            `json:"test"` // a command that would test the answer on the host
}

// row names a row of a comparison.
type row struct {
	Policy string      `json:"policy"`
	Bound  model.Bound `json:"bound,omitempty"` // a bound, not a prediction
	Load   float64     `json:"load"`            // null for closed workloads
}

// Cell is one figure of one policy at one load.
type Cell struct {
	row
	Response model.Response  `json:"response"`
	Estimate result.Estimate `json:"estimate"` // its value is null when infinite: a ramp that never ends
	Ratio    result.Estimate `json:"ratio_to_baseline"`
}

type dataWorkload struct {
	model.Workload
	Open       bool    `json:"open"`
	RecordLoad float64 `json:"record_load"` // of the record it was made of
}

type dataResidency struct {
	row
	Of string `json:"of"` // busy, idle
	model.Residency
}

type dataRefused struct {
	row
	Reason string `json:"reason"`
}

type dataSensitivity struct {
	Policy     string            `json:"policy"`
	Load       float64           `json:"load"`
	Response   model.Response    `json:"response"`
	Influences []model.Influence `json:"influences"` // largest range first
}

// Data returns the answer as JSON prints it.
func (a *Answer) Data() Data {
	d := Data{
		Kind: "predict", Schema: Schema, Evidence: result.Simulated, HostDecides: a.Machine.HostDecides,
		System: a.Machine.System,
		Answer: strings.Join(a.Sentences(), " "),
		Seed:   a.Options.Seed, Replications: a.Options.Replications, Level: 0.95, Machine: a.Machine.Machine,
		Workload: dataWorkload{a.Workload.Workload, a.Workload.Open(), a.Workload.Load}, Baseline: a.Baseline.String(),
		Policies: slices.Concat([]model.Policy{a.Baseline}, a.Policies), VanishesAt: a.Vanishing,
		Assumptions: a.Assumptions,
		Warnings:    slices.Clone(a.Warnings), Test: a.TestCommand(),
	}
	for _, c := range a.Comparisons {
		for _, r := range c.All() {
			d.add(c, r)
		}
		for _, w := range shared(c) {
			d.Warnings = append(d.Warnings, w+at(c))
		}
	}
	if len(a.Sensitivity) > 0 {
		d.Sensitivity = &dataSensitivity{a.focus().String(), a.Comparisons[0].Baseline.Load, Headline, a.Sensitivity}
	}
	return d
}

// rows has one for each figure, in base units.
func (d *Data) rows() *document.Table {
	t := &document.Table{Columns: document.Columns{}.Names("policy", "bound", "response", "unit").Figures("load", "value",
		"low",
		"high", "n", "ratio to "+d.Baseline, "ratio low", "ratio high")}
	for _, c := range d.Cells {
		cells := document.Texts(c.Policy, string(c.Bound), string(c.Response), c.Estimate.Unit)
		for _, v := range []float64{c.Load, c.Estimate.Value, c.Estimate.Low, c.Estimate.High, float64(c.Estimate.N),
			c.Ratio.Value, c.Ratio.Low, c.Ratio.High} {
			cells = append(cells, document.Exact(v))
		}
		t.Add(cells...)
	}
	return t
}

func (d *Data) add(c model.Comparison, r model.Row) {
	of := row{r.Policy, r.Bound, c.Baseline.Load}
	if len(r.Responses) == 0 {
		d.Refused = append(d.Refused, dataRefused{of, reason(r)})
		return
	}
	for _, i := range model.Responses() {
		if e, ok := r.Responses[i]; ok {
			d.Cells = append(d.Cells, Cell{of, i, e, r.Ratio[i]})
		}
	}
	for _, s := range r.PStates {
		d.Residency = append(d.Residency, dataResidency{of, "busy", s})
	}
	for _, s := range r.IdleStates {
		d.Residency = append(d.Residency, dataResidency{of, "idle", s})
	}
}
