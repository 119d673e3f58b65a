package lever

import (
	"cmp"
	"fmt"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Platform judges what checks found and probes measured: one lever for each subject of package
// check, and the answer in a few sentences. facts may be nil, results and outcomes
// empty; a lever about which nothing is known says so.
func Platform(role check.Role, facts *host.Facts, results []check.Result, outcomes []probe.Outcome) (levers []Lever,
	answer string) {
	drafts := newInput(role, facts, results, outcomes).judge()
	for _, d := range drafts {
		levers = append(levers, d.lever())
	}
	return levers, headline(role, drafts)
}

func newInput(role check.Role, facts *host.Facts, results []check.Result, outcomes []probe.Outcome) *input {
	if facts == nil {
		facts = &host.Facts{}
	}
	in := &input{role: role, facts: facts, results: results, skipped: map[string]string{}, busy: map[string]float64{}}
	for _, o := range outcomes {
		in.busy[o.Probe] = o.Busy
		in.measured = append(in.measured, o.Measurements...)
		if why := cmp.Or(o.Skipped, o.Failed); why != "" {
			in.skipped[o.Probe] = why
		}
	}
	return in
}

// judge makes all levers that probes and checks speak of.
func (in *input) judge() []*draft {
	drafts := []*draft{in.frequency(), in.idle(), in.smt(), in.logDevice(), in.degree(),
		in.settings(Memory,
			"the cost of paging, huge pages and write-back depends on the workload's memory; no quick probe shows it"),
		in.settings(Kernel, "a limit costs nothing until the work reaches it and stops, so its cost is not a share of time")}
	for _, d := range drafts {
		in.elsewhere(d)
	}
	return drafts
}

// draft is a lever while it is judged.
type draft struct {
	name     string
	findings []string // IDs of the checks that found something
	todo     []check.Result
	blind    []string // IDs of checks that could not look

	bound       Bound
	measurement *result.Measurement // the one that decides; nil: none
	cost        bool                // its interval lies beyond its noise floor, and nothing disturbed it
	effect      float64             // share that is certainly lost, to order costs by
	disturbed   string              // what spoiled it, as in "4 of 16 rounds were clean, 6 are needed"; "": nothing
	says        string              // what was measured, with figures, as a clause for the headline
	held        string              // how the host's own settings hold the clock down, as a clause
	unmeasured  string              // why nothing was measured

	reason Reason
	doubt  Reason // why what was measured decides nothing, where reason is Elsewhere
	owner  string
	next   Next
	checks string // what checks say
	text   string // what was measured, or why nothing was
}

func (in *input) new(name string) *draft {
	d := &draft{name: name}
	for _, f := range check.Findings(in.results) {
		if f.Subject != name {
			continue
		}
		d.findings = append(d.findings, f.ID)
		if f.Severity != check.Info {
			d.todo = append(d.todo, f)
		}
	}
	for _, r := range in.results {
		if r.Subject == name && r.Status == check.Unknown {
			d.blind = append(d.blind, r.ID)
		}
	}
	return d
}

// decide sets the reason, what to do next and what was measured.
func (d *draft) decide(r Reason, next Next, clauses ...string) {
	d.reason, d.next, d.text = r, next, ""
	d.add(clauses...)
}

// add puts clauses that are not empty after what was measured.
func (d *draft) add(clauses ...string) { d.text = joined(append([]string{d.text}, clauses...)...) }

// joined puts clauses that are not empty in a row.
func joined(clauses ...string) (out string) {
	for _, c := range clauses {
		switch {
		case c == "":
		case out == "":
			out = c
		default:
			out += "; " + c
		}
	}
	return out
}

// bounded sets a bound, which is a share.
func (d *draft) bounded(share float64, from Basis, why string) {
	b := Unit(share)
	d.bound.AtMost, d.bound.From, d.bound.Why = &b, from, why
}

func (d *draft) unbounded(why string) { d.bound.AtMost, d.bound.From, d.bound.Why = nil, "", why }

// take fills in what a family of ratios says.
func (d *draft) take(r reading) {
	d.measurement, d.cost, d.disturbed = r.m, r.cost, r.disturbed
	if r.reason == Costs {
		d.disturbed = "" // the comparison that decides was not
	}
	if r.cost {
		d.effect = saving(r.m.Estimate.Low)
		d.says = fmt.Sprintf("%s takes %s as long after a pause of 100 ms (%s)", work(r.m), short(r.m), Count(r.m))
	}
}

// rest decides a lever on its checks alone, where no measurement decided it.
// why says what could not be measured.
func (in *input) rest(d *draft, why string) {
	if why != "" {
		d.unmeasured = why
	}
	d.text = notMeasured(why)
	if n := len(d.todo); n > 0 {
		d.reason, d.next = Recommended, remedy(d.todo)
		d.checks = fmt.Sprintf("%s found something to change for this role; first %s, %s",
			screen.Count(n, "check"), d.todo[0].ID, lowerFirst(d.todo[0].Title))
		return
	}
	passed := 0
	for _, r := range in.results {
		// what only informs is as it should be
		if r.Subject == d.name && (r.Status == check.OK || r.Status == check.Finding) {
			passed++
		}
	}
	if len(d.blind) > 0 {
		d.next = Next{Command: "hostlab check --explain " + d.blind[len(d.blind)-1]}
	}
	fine := screen.Plural(passed, "check finds", "checks find") + " nothing to change"
	switch {
	case passed > 0 && len(d.blind) == 0:
		d.reason, d.checks = Settled, fine+" for this role"
	case passed > 0:
		d.reason, d.checks = Settled, fine+"; "+d.blind[len(d.blind)-1]+" could not look"
	case len(d.blind) > 0:
		d.reason, d.checks = Untested, "the checks could not look"
	default:
		d.reason, d.checks = Untested, "no check applies to this host in this role"
	}
}

// notMeasured is a clause with the reason; "" for none.
func notMeasured(why string) string {
	if why == "" {
		return ""
	}
	return "not measured: " + why
}

// settings is a lever that only checks speak of: no quick probe moves it.
func (in *input) settings(name, unbounded string) *draft {
	d := in.new(name)
	d.bound.Of = "the workload's time"
	d.unbounded(unbounded)
	in.rest(d, "")
	return d
}

// remedy is the command of the worst finding that has one.
func remedy(findings []check.Result) Next {
	for _, f := range findings {
		if f.Remedy != "" {
			return Next{Command: f.Remedy, Sets: f.Sets}
		}
	}
	if len(findings) > 0 {
		return Next{Command: "hostlab check --explain " + findings[0].ID}
	}
	return Next{}
}

func (d *draft) lever() Lever {
	l := Lever{Name: d.name, Verdict: d.reason.verdict(d.bound.AtMost != nil), Reason: d.reason, Of: d.bound.Of,
		AtMost: d.bound.AtMost, Owner: d.owner, Next: d.next}
	measured := Evidence{Source: OfProbe, Text: d.text, Bound: &d.bound, Measurement: d.measurement}
	checks := Evidence{Source: OfChecks, Text: d.checks, Findings: d.findings}
	switch {
	case known(d.measurement):
		measured.Kind = d.measurement.Evidence
	case d.reason != Untested && d.reason != Recommended && d.reason != Settled:
		measured.Kind = result.Cited // a limit that this host reports
	}
	if d.reason == Recommended || d.reason == Settled {
		checks.Kind = result.Cited
	}
	if d.checks == "" && len(d.findings) > 0 {
		checks.Text = screen.Plural(len(d.findings), "finding", "findings") + " of checks"
	}
	l.Evidence = []Evidence{measured, checks}
	if checks.Kind != "" {
		l.Evidence = []Evidence{checks, measured}
	}
	if checks.Text == "" {
		l.Evidence = []Evidence{measured}
	}
	return l
}
