package predict

import (
	"encoding/json"
	"io"

	"hostlab/internal/model"
	"hostlab/internal/result"
)

// Document is the answer as JSON; docs/schema/predict.schema.json describes it.
// What is not known is null, never 0.
type Document struct {
	Schema       int             `json:"schema"`
	Evidence     string          `json:"evidence"`               // always "simulated"
	HostDecides  *HostDecides    `json:"host_decides,omitempty"` // before all else: the machine is a guest that has no say in its clock
	Answer       string          `json:"answer"`
	Seed         uint64          `json:"seed"`
	Replications int             `json:"replications"`
	Level        float64         `json:"level"`
	Machine      model.Machine   `json:"machine"`
	System       model.System    `json:"system,omitempty"` // whose policies the machine has
	Workload     docWorkload     `json:"workload"`
	Baseline     string          `json:"baseline"`
	Policies     []model.Policy  `json:"policies"` // the baseline first
	Cells        []Cell          `json:"cells"`
	Residency    []docResidency  `json:"residency"`
	Refused      []docRefused    `json:"refused"` // policies that cannot carry a load
	VanishesAt   []docVanishing  `json:"vanishes_at"`
	Sensitivity  *docSensitivity `json:"sensitivity"`
	Map          *docMap         `json:"map"`
	Assumptions  []Assumption    `json:"assumptions"`
	Warnings     []string        `json:"warnings"`
	Test         string          `json:"test"` // a command that would test the answer on the host
}

// Cell is one figure of one policy at one load.
type Cell struct {
	Policy   string       `json:"policy"`
	Bound    string       `json:"bound,omitempty"` // "lowest frequency", "highest frequency": a bound, not a prediction
	Load     *float64     `json:"load"`            // null for closed workloads
	Response string       `json:"response"`
	Mean     *float64     `json:"mean"` // null when infinite: a ramp that never ends
	Low      *float64     `json:"low"`
	High     *float64     `json:"high"`
	Unit     string       `json:"unit"`
	Ratio    *docInterval `json:"ratio_to_baseline"`
	N        int          `json:"n"`
}

type docInterval struct {
	Mean *float64 `json:"mean"`
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
}

type docWorkload struct {
	Name        string   `json:"name"`
	Source      string   `json:"source"`
	Kind        string   `json:"kind"`
	Open        bool     `json:"open"`
	Users       int      `json:"users"`
	Slices      int      `json:"slices"`
	Slice       *docDist `json:"slice"`
	Wait        *docDist `json:"wait"`
	Think       *docDist `json:"think"`
	Device      *docDist `json:"device"`
	FlushWork   *docDist `json:"flush_work"`
	Work        *float64 `json:"work"`
	MemoryShare float64  `json:"memory_share"`
	Placement   string   `json:"placement"`
	RecordLoad  *float64 `json:"record_load"` // of the record it was made of
}

// docDist sums up a distribution; a record has thousands of values.
type docDist struct {
	Kind   string  `json:"kind"`
	Mean   float64 `json:"mean"`
	CV     float64 `json:"cv,omitempty"`
	Values int     `json:"values,omitempty"`
}

type docResidency struct {
	Policy string   `json:"policy"`
	Bound  string   `json:"bound,omitempty"`
	Load   *float64 `json:"load"`
	Of     string   `json:"of"` // busy, idle
	State  string   `json:"state"`
	Hz     *float64 `json:"hz"`
	Mean   *float64 `json:"mean"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
}

type docRefused struct {
	Policy string   `json:"policy"`
	Load   *float64 `json:"load"`
	Reason string   `json:"reason"`
}

type docVanishing struct {
	Policy   string     `json:"policy"`
	Response string     `json:"response"`
	Limit    float64    `json:"limit"`
	Load     *float64   `json:"load"` // null where it does not vanish
	Found    bool       `json:"found"`
	Points   []docPoint `json:"points"`
}

type docPoint struct {
	Load  float64      `json:"load"`
	Ratio *docInterval `json:"ratio_to_baseline"`
}

type docSensitivity struct {
	Policy     string         `json:"policy"`
	Load       *float64       `json:"load"`
	Response   string         `json:"response"`
	Influences []docInfluence `json:"influences"` // largest range first
}

type docInfluence struct {
	Parameter string       `json:"parameter"`
	Unit      string       `json:"unit"`
	Source    string       `json:"source"`
	Range     *float64     `json:"range"` // null: at one of the values the policy cannot carry the load
	Settings  []docSetting `json:"settings"`
}

type docSetting struct {
	Value string       `json:"value"`
	Ratio *docInterval `json:"ratio_to_baseline"`
	Note  string       `json:"note,omitempty"`
}

type docMap struct {
	Policy   string           `json:"policy"`
	Response string           `json:"response"`
	Loads    []float64        `json:"loads"`
	Slices   []float64        `json:"slices"`
	Ratios   [][]*docInterval `json:"ratios"`
}

func intervalOf(e model.Estimate) *docInterval {
	if e.N == 0 || result.Finite(e.Mean) == nil {
		return nil
	}
	return &docInterval{result.Finite(e.Mean), result.Finite(e.Low), result.Finite(e.High)}
}

// NewDocument makes the JSON document of an answer.
func NewDocument(a *Answer) Document {
	d := Document{
		Schema: 1, Evidence: "simulated", HostDecides: a.Machine.HostDecides, System: a.Machine.System, Answer: a.Sentence(), Seed: a.Options.Seed, Replications: a.Options.Replications, Level: 0.95,
		Machine: a.Machine.Machine, Workload: docOfWorkload(a.Workload), Baseline: a.Baseline.String(), Policies: append([]model.Policy{a.Baseline}, a.Policies...),
		Cells: []Cell{}, Residency: []docResidency{}, Refused: []docRefused{}, VanishesAt: []docVanishing{},
		Assumptions: append([]Assumption{}, a.Assumptions...), Warnings: append([]string{}, a.Warnings...), Test: a.TestCommand(),
	}
	for _, c := range a.Comparisons {
		for _, r := range append([]model.Row{c.Baseline}, c.Rows...) {
			d.add(c, r)
		}
		for _, w := range shared(c) {
			d.Warnings = append(d.Warnings, w+at(c))
		}
	}
	for _, v := range a.Vanishing {
		x := docVanishing{Policy: v.Policy, Response: string(Headline), Limit: Limit, Load: result.Finite(v.Load), Found: v.Found, Points: []docPoint{}}
		for _, p := range v.Points {
			x.Points = append(x.Points, docPoint{p.Load, intervalOf(p.Ratio)})
		}
		d.VanishesAt = append(d.VanishesAt, x)
	}
	if len(a.Sensitivity) > 0 {
		s := &docSensitivity{Policy: a.focus().String(), Load: result.Finite(a.Comparisons[0].Baseline.Load), Response: string(Headline)}
		for _, i := range a.Sensitivity {
			x := docInfluence{Parameter: i.Parameter, Unit: i.Unit, Source: i.Source, Range: result.Finite(i.Range)}
			for _, v := range i.Settings {
				x.Settings = append(x.Settings, docSetting{v.Value, intervalOf(v.Ratio), v.Note})
			}
			s.Influences = append(s.Influences, x)
		}
		d.Sensitivity = s
	}
	if m := a.Map; m != nil {
		d.Map = &docMap{Policy: m.Policy, Response: string(m.Response), Loads: m.Loads, Slices: m.Slices}
		for _, row := range m.Ratios {
			var out []*docInterval
			for _, e := range row {
				out = append(out, intervalOf(e))
			}
			d.Map.Ratios = append(d.Map.Ratios, out)
		}
	}
	return d
}

func (d *Document) add(c model.Comparison, r model.Row) {
	load := result.Finite(c.Baseline.Load)
	if len(r.Responses) == 0 {
		d.Refused = append(d.Refused, docRefused{r.Policy, load, reason(r)})
		return
	}
	for _, i := range model.Responses() {
		e, ok := r.Responses[i.Name]
		if !ok {
			continue
		}
		cell := Cell{Policy: r.Policy, Bound: string(r.Bound), Load: load, Response: string(i.Name),
			Mean: result.Finite(e.Mean), Low: result.Finite(e.Low), High: result.Finite(e.High), Unit: i.Unit, N: e.N}
		if q, ok := r.Ratio[i.Name]; ok {
			cell.Ratio = intervalOf(q)
		}
		d.Cells = append(d.Cells, cell)
	}
	for _, of := range []struct {
		name string
		list []model.Residency
	}{{"busy", r.PStates}, {"idle", r.IdleStates}} {
		for _, s := range of.list {
			x := docResidency{Policy: r.Policy, Bound: string(r.Bound), Load: load, Of: of.name, State: s.Name,
				Mean: result.Finite(s.Share.Mean), Low: result.Finite(s.Share.Low), High: result.Finite(s.Share.High)}
			if s.Hz > 0 {
				x.Hz = result.Finite(s.Hz)
			}
			d.Residency = append(d.Residency, x)
		}
	}
}

func docOfWorkload(w Workload) docWorkload {
	dist := func(d model.Dist) *docDist {
		if d.IsZero() {
			return nil
		}
		kind := d.Kind
		if kind == "" {
			kind = model.DistFixed
		}
		return &docDist{string(kind), d.Mean, d.CV, len(d.Values)}
	}
	out := docWorkload{Name: w.Name, Source: w.Source, Kind: string(w.Kind), Open: w.Open(), Users: w.Users, Slices: w.Slices,
		Slice: dist(w.Slice), Wait: dist(w.Wait), Think: dist(w.Think), Device: dist(w.Device), FlushWork: dist(w.FlushWork),
		MemoryShare: w.MemoryShare, Placement: string(w.Placement), RecordLoad: result.Finite(w.Load)}
	if w.Work > 0 {
		out.Work = result.Finite(w.Work)
	}
	return out
}

// WriteJSON writes the document.
func WriteJSON(w io.Writer, a *Answer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(NewDocument(a))
}
