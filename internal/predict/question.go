// Package predict answers what a power policy would cost a workload: it takes a
// machine and a workload from files, names or the host's facts, asks the model, and
// writes the answer with everything that it rests on. All that it says is simulated.
package predict

import (
	"errors"
	"fmt"
	"math"

	"hostlab/internal/model"
)

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
	Sweep    bool
}

// focus is the policy that the sensitivity and the map are about: the first that is
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

// validate checks what the model would only find after minutes, and says it in the
// words of the command line.
func (q Question) validate() error {
	// With more than one of its CPUs on each of this host's, a replay would have another
	// load than its record, and no idle time in which a policy shows.
	if n := q.Machine.CPUs(); q.Workload.Active > n {
		return fmt.Errorf("workload %s: its record has bursts of %d CPUs at a load of %s, and host %s has %d CPUs to replay them on; give --load for its bursts at a load of this host, or the record's host with --host FILE",
			q.Workload.Name, q.Workload.Active, percent(q.Workload.Load), q.Machine.Name, n)
	}
	if !q.Workload.Open() {
		if len(q.Loads) > 0 {
			return fmt.Errorf("workload %s is closed, so its load follows from users, slice, wait and think; it takes no load", q.Workload.Name)
		}
		if q.Sweep {
			return fmt.Errorf("workload %s is closed, so it has no map over loads; a sweep needs an open one, of kind dialog with users = 0", q.Workload.Name)
		}
	} else if len(q.Loads) == 0 {
		return errors.New("an open workload needs a load")
	} else if !q.Workload.Think.IsZero() {
		return fmt.Errorf("think: workload %s, of kind %s, has no users, so nobody thinks between steps; give users or --users N, or leave think out", q.Workload.Name, q.Workload.Kind)
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
		return fmt.Errorf("load is %g; it must be above 0 and below 1 (100 %%)", l)
	case l < leastLoad:
		return fmt.Errorf("load is %g; the least that can be simulated is %g (%s): below it, simulated time runs out between arrivals", l, leastLoad, percent(leastLoad))
	case l >= 1:
		return fmt.Errorf("load is %g; at 1 (100 %%) or more the queue of an open workload grows without end (unstable); ask for less, or close the workload with --users N", l)
	}
	return nil
}
