package analysis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"hostlab/internal/result"
)

// Comparison lines up the same effects of several experiments.
type Comparison struct {
	Experiments []*Analysis
	Rows        []Row        // primary ones first, in the order of the first experiment that has them
	Differences []Difference // conditions that are not the same in all of them
}

type Row struct {
	Effects []*Effect // one for each experiment; nil where it has none
	// Apart is set where two of the intervals have nothing in common: the effects
	// differ. That they overlap does not show that the effects are the same.
	Apart bool
}

// Difference is one condition that differs between experiments.
type Difference struct {
	Condition
	Values []string // one for each experiment; "" where it is not recorded
}

// Compare lines up the effects of experiments of different days and hosts, by the
// names of factors, levels and responses, and says which conditions differ. It
// does not pool them: each was randomised for itself.
func Compare(all []*Analysis) Comparison {
	c := Comparison{Experiments: all}
	c.line()
	c.differ()
	return c
}

// line fills the rows.
func (c *Comparison) line() {
	at := map[[4]string]int{}
	for i, a := range c.Experiments {
		for k := range a.Effects {
			e := &a.Effects[k]
			key := [4]string{key(a.Experiment, e.Contrast), e.Response.Name, e.Response.Unit, string(e.Response.Compare)}
			n, ok := at[key]
			if !ok {
				n = len(c.Rows)
				at[key] = n
				c.Rows = append(c.Rows, Row{Effects: make([]*Effect, len(c.Experiments))})
			}
			if c.Rows[n].Effects[i] == nil {
				c.Rows[n].Effects[i] = e
			}
		}
	}
	for i := range c.Rows {
		r := &c.Rows[i]
		for j, e := range r.Effects {
			for _, f := range r.Effects[:j] {
				r.Apart = r.Apart || e != nil && f != nil && (e.Low > f.High || f.Low > e.High)
			}
		}
	}
	slices.SortStableFunc(c.Rows, func(a, b Row) int { return b.primary() - a.primary() })
}

func (r Row) primary() int {
	for _, e := range r.Effects {
		if e != nil && e.Primary() {
			return 1
		}
	}
	return 0
}

// key names a contrast whatever the order of its two factors, with what it compares
// to: against another baseline it is another effect.
func key(x *result.Experiment, c result.Contrast) string {
	if len(c.Factors) == 2 && len(c.Levels) == 2 && c.Factors[0] > c.Factors[1] {
		c.Factors = []string{c.Factors[1], c.Factors[0]}
		c.Levels = []string{c.Levels[1], c.Levels[0]}
	}
	var baselines []string
	for _, name := range c.Factors {
		if f := x.Factor(name); f != nil {
			baselines = append(baselines, f.Baseline)
		}
	}
	return fmt.Sprintf("%q %q %q %q", c.Factors, c.Levels, baselines, c.At)
}

// differ fills the conditions that are not the same everywhere.
func (c *Comparison) differ() {
	for i, a := range c.Experiments {
		for _, f := range Facts(a.Experiment) {
			n := slices.IndexFunc(c.Differences, func(d Difference) bool { return d.What == f.What })
			if n < 0 {
				n = len(c.Differences)
				c.Differences = append(c.Differences, Difference{f.Condition, make([]string, len(c.Experiments))})
			}
			c.Differences[n].Values[i] = f.Value
		}
	}
	c.Differences = slices.DeleteFunc(c.Differences, func(d Difference) bool {
		return !slices.ContainsFunc(d.Values, func(v string) bool { return v != d.Values[0] })
	})
}

// TheStudy is the condition that has what a study says as a hash.
const TheStudy = "study"

// Condition is one under which an experiment ran.
type Condition struct {
	What string // "host kernel", "workload rows", "study", "hostlab", "margin of wall_s", ...
	Of   string // the factor or response that has it; "": the experiment
	// InStudy says that the study sets it: only another study can have another value.
	InStudy bool
}

type Fact struct {
	Condition
	Value string
}

// Facts lists the conditions of an experiment in the order of the report.
func Facts(x *result.Experiment) (facts []Fact) {
	set := func(c Condition, value string) { facts = append(facts, Fact{c, value}) }
	add := func(what, value string) { set(Condition{What: what, InStudy: true}, value) }
	of := func(what, name, value string) {
		set(Condition{What: what + " of " + name, Of: name, InStudy: true}, value)
	}
	fill := func(prefix string, m map[string]string, inStudy bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			set(Condition{What: prefix + k, InStudy: inStudy}, m[k])
		}
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	fill("host ", x.Host, false)
	set(Condition{What: TheStudy}, x.Study)
	fill("override ", x.Overrides, true)
	add("workload", x.Workload)
	fill("workload ", x.Parameters, true)
	set(Condition{What: "hostlab"}, x.Version)
	set(Condition{What: "evidence"}, string(x.Evidence))
	add("alpha", number(x.Design.Alpha))
	add("design", string(x.Design.Kind))
	add("repeats", strconv.Itoa(x.Design.Repeats))
	add("looks", fmt.Sprint(x.Design.Looks))
	add("A/A pairs", strconv.Itoa(x.Design.AA))
	add("adjust", strconv.FormatBool(x.Design.Adjust))
	for _, factor := range x.Factors {
		of("baseline", factor.Name, factor.Baseline)
		of("levels", factor.Name, strings.Join(slices.Sorted(slices.Values(factor.Levels)), ", "))
	}
	for _, r := range x.Responses {
		of("margin", r.Name, scale{r}.size(r.Margin))
		of("unit", r.Name, r.Unit)
		of("better", r.Name, r.Better)
	}
	return facts
}
