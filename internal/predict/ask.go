// Package predict answers what a power policy would cost a workload: it takes a
// machine and a workload from files, names or the host's facts, asks the model, and
// writes the answer with everything that it rests on. All that it says is simulated.
package predict

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"hostlab/internal/model"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Answer is a question with all that was simulated for it.
type Answer struct {
	Question
	Comparisons []model.Comparison // one a load; one in all for closed workloads
	Vanishing   []model.Vanishing  // of each policy that is simulated itself; open workloads only
	// Sensitivity is of the first policy that can be simulated itself, at the lowest load,
	// largest influence first.
	Sensitivity []model.Influence
	Assumptions []Assumption
	Warnings    []string
}

// Ask simulates. step is called with what begins; it may be nil. The answer depends on the
// question only, whatever Options.Workers is. Errors are of the question, or the
// context's.
func Ask(ctx context.Context, q Question, step func(title string)) (*Answer, error) {
	if step == nil {
		step = func(string) {}
	}
	a := &Answer{Question: q, Assumptions: assumptions(q), Warnings: slices.Concat(q.Machine.Warnings,
		q.Workload.Warnings)}
	step("policies")
	var err error
	if a.Comparisons, err = Compare(ctx, q); err != nil {
		return nil, err
	}
	c, loads := q.oneCase(), q.loads()
	rough := q.Options
	rough.Precision = 0.02
	if c.Workload.Open() {
		for _, p := range q.Policies {
			if p.Bounds {
				continue
			}
			step("from which load " + p.Name + " does not matter")
			c.Policy = p
			v, err := model.LoadWhereEffectVanishes(ctx, c, q.Baseline, Headline, Limit, rough)
			if err != nil {
				return nil, err
			}
			a.Vanishing = append(a.Vanishing, v)
		}
	}
	c.Policy, c.Load = q.focus(), loads[0]
	if !c.Policy.Bounds {
		step("what the answer depends on")
		if a.Sensitivity, err = model.Sensitivity(ctx, c, q.Baseline, Headline, q.Machine.variations(), rough); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// Compare simulates the policies alone, at each load.
func Compare(ctx context.Context, q Question) ([]model.Comparison, error) {
	if err := q.validate(); err != nil {
		return nil, err
	}
	c := q.oneCase()
	c.Samples = q.Workload.samples(q.Options)
	return model.CompareAll(ctx, c.AtLoads(q.loads()), q.Baseline, q.Policies, q.Options)
}

func (q Question) oneCase() model.Case {
	return model.Case{Machine: q.Machine.Machine, Workload: q.Workload.Workload, Policy: q.Policies[0]}
}

// loads are those asked for; a closed workload has its own.
func (q Question) loads() []float64 {
	if !q.Workload.Open() {
		return []float64{math.NaN()}
	}
	return q.Loads
}

// assumptions lists all that is unknown or unverified, each once.
func assumptions(q Question) []Assumption {
	out := slices.Concat(q.Machine.Assumptions, q.Workload.Assumptions)
	seen := map[string]bool{}
	for _, p := range append([]model.Policy{q.Baseline}, q.Policies...) {
		for _, x := range p.Parameters {
			if x.Known || seen[p.Name+x.Name] {
				continue
			}
			seen[p.Name+x.Name] = true
			out = append(out, Assumption{Of: p.Name, Name: x.Name, Value: x.Text(x.Value), Source: x.Source})
		}
		if p.Note != "" && !seen[p.Name] {
			seen[p.Name] = true
			out = append(out, Assumption{Of: p.Name, Name: "rule", Value: "as modelled", Source: p.Note})
		}
	}
	return out
}

// Assumption is something that the answer rests on and that nobody has measured or
// documented for this case.
type Assumption struct {
	Of     string `json:"of"`   // machine, workload, or a policy's name
	Name   string `json:"name"` // the key or the parameter
	Value  string `json:"value"`
	Source string `json:"source"` // where the value comes from, or why it was chosen
}

// Machine is a machine with what was assumed of it.
type Machine struct {
	model.Machine
	Assumptions []Assumption
	This        bool         // the host that predicts
	System      model.System // "": not known
	InForce     string       // policy that the host has now; "": not known
	HostDecides *HostDecides // nil: the machine has its clock to itself, or none is known
	Warnings    []string

	offered      []string // policies of its driver, with facts of Linux
	floorAssumed bool     // the lowest of PStates, as a share of Nominal
}

// Workload is a workload with what was assumed of it.
type Workload struct {
	model.Workload
	// Load is that of the record that the workload was made of, 0 to 1; NaN otherwise.
	Load float64
	// Watched are the CPUs of that record; Active those of them that each replay their
	// own bursts. Both are 0 without a record, Active also where nothing is replayed.
	Watched, Active int
	Assumptions     []Assumption
	Warnings        []string

	record *burstlog.Record // that it was made of; nil without
}

// Stretches is how many parts of its record there are to draw from.
func (w Workload) Stretches() int { return w.record.Drawn() }

// Lengths is how many lengths of busy time there are in it.
func (w Workload) Lengths() int { return w.record.Lengths() }

// MeanBurst is how long a burst of it lasts, in s.
func (w Workload) MeanBurst() float64 { return w.record.MeanBurst() }

// ServiceShare is the share of its record's bursts that the service ran.
func (w Workload) ServiceShare() float64 { return w.record.ServiceShare() }

// samples draws the workload anew from stretches of its record, once for each replication.
func (w Workload) samples(o model.Options) (list []model.Workload) {
	if w.record == nil {
		return nil
	}
	n := cmp.Or(o.Replications, Replications)
	for i := range n {
		s := w.record.Resample(rand.New(rand.NewPCG(o.Seed, uint64(i))))
		one := w.Workload
		one.Slice = s.Open(w.Name).Slice
		if w.Active > 0 { // it replays the record's idle times too
			replay := s.Replay(w.Name)
			one.Think, one.Each = replay.Think, replay.Each
		}
		list = append(list, one)
	}
	return list
}

// Question is what was asked. The first of Policies is the one that the sentence is
// about.
type Question struct {
	Machine  Machine
	Workload Workload
	Baseline model.Policy
	Policies []model.Policy
	Loads    []float64 // open workloads only; rising
	Options  model.Options
}

// focus is the policy that the sensitivity is about: the first that is
// not bounded, for bounds have no parameters.
func (q Question) focus() model.Policy {
	for _, p := range q.Policies {
		if !p.Bounds {
			return p
		}
	}
	return q.Policies[0]
}

// Limit is the ratio to the baseline below which an effect counts as gone.
const Limit = 1.05

// Headline is the response that most is said of: what the published jobs were billed for.
const Headline = model.CPUSeconds

// Replications when nothing else is asked for: enough for a t-interval that does
// not hang on its degrees of freedom.
const Replications = 10

// DefaultLoads are those of the published table.
func DefaultLoads() []float64 { return []float64{0.05, 0.2, 0.5, 0.7, 0.95} }

// Carried are those of loads that nobody asked for which the baseline can carry; all, where it can carry none.
func (q Question) Carried(loads []float64) (out []float64) {
	for _, l := range loads {
		c := model.Case{Machine: q.Machine.Machine, Workload: q.Workload.Workload, Policy: q.Baseline, Load: l}
		if _, unstable := errors.AsType[*model.UnstableError](c.Validate()); !unstable {
			out = append(out, l)
		}
	}
	if out == nil {
		return loads
	}
	return out
}

// validate checks what the model would only find after minutes, and says it in the
// words of the command line.
func (q Question) validate() error {
	// With more than one of its CPUs on each of this host's, a replay would have another
	// load than its record, and no idle time in which a policy shows.
	if n := q.Machine.CPUs(); q.Workload.Active > n {
		return fmt.Errorf(
			"workload %s: its record has bursts of %d CPUs at a load of %s, and host %s has %d CPUs to replay them on; "+
				"give --load for its bursts at a load of this host, or the record's host with --host FILE",
			q.Workload.Name, q.Workload.Active, percent(q.Workload.Load), q.Machine.Name, n)
	}
	if !q.Workload.Open() {
		if len(q.Loads) > 0 {
			return fmt.Errorf("workload %s is closed, so its load follows from users, slice, wait and think; it takes no load",
				q.Workload.Name)
		}
	} else if len(q.Loads) == 0 {
		return errors.New("an open workload needs a load")
	} else if !q.Workload.Think.IsZero() {
		return fmt.Errorf(
			"think: workload %s, of kind %s, has no users, so nobody thinks between steps; give users or --users N, or "+
				"leave think out", q.Workload.Name, q.Workload.Kind)
	}
	for _, l := range q.Loads {
		if err := checkLoad(l); err != nil {
			return err
		}
	}
	c := model.Case{Machine: q.Machine.Machine, Workload: q.Workload.Workload, Policy: q.Baseline}
	for _, l := range append([]float64{math.NaN()}, q.Loads...) {
		if math.IsNaN(l) == c.Workload.Open() {
			continue
		}
		c.Load = l
		if err := c.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// leastLoad keeps the moments of a simulation within 64 bits of nanoseconds.
const leastLoad = 1e-5

// checkLoad refuses what no open queue can carry.
func checkLoad(l float64) error {
	switch {
	case math.IsNaN(l) || l <= 0:
		return fmt.Errorf("a load of %g: expected a share above 0 and below 100 %%, such as 5%%", l)
	case l < leastLoad:
		return fmt.Errorf(
			"a load of %g: the least that can be simulated is %g (%s): below it, simulated time runs out between arrivals",
			l, leastLoad, percent(leastLoad))
	case l >= 1:
		return fmt.Errorf(
			"a load of %s: expected less than 100 %%, from which on the queue grows without end; give less with --load, or "+
				"users, who wait for an answer, with --users N", percent(l))
	}
	return nil
}

// Asked is a question whose policies are texts, as the flags --policy and --baseline have them.
type Asked struct {
	Question
	Policies []string // none: those of the machine's system
	Baseline string   // "": the first policy's usual one
	All      bool     // also the policies of the other system
}

// Read reads the policies. Without loads, those that the baseline cannot carry are left out of the usual ones. The
// error names the flag.
func (a Asked) Read() (q Question, err error) {
	q = a.Question
	if len(a.Policies) == 0 || a.All {
		a.Policies = slices.Concat(a.Policies, DefaultPolicies(q.Machine, a.All))
	}
	if a.Baseline == "" {
		first, _ := model.ParsePolicy(a.Policies[0]) // what is wrong with it is said below
		a.Baseline = DefaultBaseline(first, q.Machine)
	}
	if q.Baseline, err = policy("baseline", a.Baseline, q.Machine.Machine); err != nil {
		return q, err
	}
	if q.Baseline.Bounds {
		return q, fmt.Errorf("--baseline %s: the hardware chooses its frequency, so it has only bounds; take another one",
			a.Baseline)
	}
	for _, text := range a.Policies {
		p, err := policy("policy", text, q.Machine.Machine)
		if err != nil {
			return q, err
		}
		same := func(x model.Policy) bool { return x.String() == p.String() }
		if p.String() == q.Baseline.String() && len(a.Policies) > 1 || slices.ContainsFunc(q.Policies, same) {
			continue // asking twice is no mistake, and the baseline is there anyway
		}
		q.Policies = append(q.Policies, p)
	}
	if len(q.Policies) == 0 {
		q.Policies = []model.Policy{q.Baseline}
	}
	if len(q.Loads) == 0 && q.Workload.Open() {
		all := DefaultLoads()
		if q.Loads = q.Carried(all); len(q.Loads) < len(all) {
			q.Workload.Warnings = append(q.Workload.Warnings,
				fmt.Sprintf("the baseline %s cannot carry %s load and more, so these are "+
					"left out", q.Baseline.Name, result.Percent(all[len(q.Loads)], 0)))
		}
	}
	slices.Sort(q.Loads)
	q.Loads = slices.Compact(q.Loads)
	return q, nil
}

// policy reads a policy and checks that the host can run it.
func policy(flag, text string, m model.Machine) (model.Policy, error) {
	p, err := model.ParsePolicy(text)
	if err != nil {
		name, parameters, _ := strings.Cut(text, ",")
		hint := ""
		if near := screen.Meant(name, append(model.PolicyNames(), "balanced")); near != "" && near != name {
			hint = "; did you mean " + near + "?"
		}
		if name == "fixed" {
			hint = "; give its percentage of the nominal frequency, as in fixed:57"
		}
		for part := range strings.SplitSeq(parameters, ",") {
			if parameters != "" && !strings.Contains(part, "=") {
				several := "for several policies, repeat --" + flag
				if flag == "baseline" {
					several = "there is one baseline"
				}
				return p, fmt.Errorf("--%s %s: %s; for a parameter of %s, write KEY=VALUE instead of %q", flag, text, several, name,
					strings.TrimSpace(part))
			}
		}
		return p, fmt.Errorf("--%s: %w%s", flag, err, hint)
	}
	if p.Bounds {
		return p, nil
	}
	w := model.Workload{Name: "any", Kind: model.Batch, Users: 1, Work: 1, Slice: model.Dist{Mean: 0.01},
		Placement: model.Spread}
	if err := (model.Case{Machine: m, Workload: w, Policy: p}).Validate(); err != nil {
		return p, fmt.Errorf("--%s: %w", flag, err) // which names the policy
	}
	return p, nil
}
