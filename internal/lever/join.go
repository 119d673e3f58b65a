package lever

import (
	"cmp"
	"fmt"
	"slices"

	"hostlab/internal/check"
	"hostlab/internal/host"
	"hostlab/internal/probe"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

// Join makes the table: one lever for each subject of package check, in the
// order in which a burst of work meets them. facts may be nil, results and
// outcomes empty; a lever about which nothing is known says so.
func Join(role check.Role, facts *host.Facts, results []check.Result, outcomes []probe.Outcome) []Lever {
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
	levers := []Lever{
		in.frequency(),
		in.idle(),
		in.smt(),
		in.logDevice(),
		in.degree(),
		in.settings(check.Memory, "Memory settings",
			"the cost of paging, huge pages and write-back depends on the workload's memory; no quick probe shows it"),
		in.settings(check.Kernel, "Kernel limits",
			"a limit costs nothing until the work reaches it and stops, so its cost is not a share of time"),
	}
	for i := range levers {
		in.elsewhere(&levers[i])
		levers[i].Evidence = evidence(&levers[i])
	}
	return levers
}

// evidence is what a verdict rests on: the recommendation of a source is cited,
// whatever was measured beside it.
func evidence(l *Lever) result.Evidence {
	switch l.Verdict {
	case Recommended, Settled:
		return result.Cited
	case Worthwhile, NoEffect, Unresolved, NotForRole, NotHere:
		if known(l.Measurement) {
			return l.Measurement.Evidence
		}
		return result.Cited // a limit that this host reports
	}
	return ""
}

// input is all that a lever is built from.
type input struct {
	role     check.Role
	facts    *host.Facts
	results  []check.Result
	measured []result.Measurement
	skipped  map[string]string  // probe -> why nothing was measured, skipped or failed
	busy     map[string]float64 // probe -> share of the CPUs' time that others took meanwhile
}

// findings returns the results that found something for a lever, worst first.
func (in *input) findings(lever string) []check.Result {
	var out []check.Result
	for _, r := range check.Findings(in.results) {
		if r.Subject == lever {
			out = append(out, r)
		}
	}
	return out
}

// actionable drops findings that only inform.
func actionable(findings []check.Result) []check.Result {
	return slices.DeleteFunc(slices.Clone(findings), func(r check.Result) bool { return r.Severity == check.Info })
}

// first returns the first measurement of a kind, or nil.
func (in *input) first(kind result.Kind) *result.Measurement { return in.find(kind, nil) }

// alike returns the measurement of a kind on the CPU of another one, or nil.
func (in *input) alike(kind result.Kind, m *result.Measurement) *result.Measurement {
	return in.find(kind, m.Labels.CPU)
}

func (in *input) find(kind result.Kind, cpu *int) *result.Measurement {
	for i := range in.measured {
		if m := &in.measured[i]; m.Kind == kind && (cpu == nil || m.Labels.On(*cpu)) {
			return m
		}
	}
	return nil
}

// known returns the known measurements of a kind.
func (in *input) known(kind result.Kind) []result.Measurement {
	var out []result.Measurement
	for _, m := range in.measured {
		if m.Kind == kind && m.Known() {
			out = append(out, m)
		}
	}
	return out
}

// whyUnmeasured says in a clause why a probe gave no number of a kind.
func (in *input) whyUnmeasured(probeName string, kind result.Kind) string {
	if why := in.skipped[probeName]; why != "" {
		return why
	}
	for _, m := range in.measured {
		if m.Kind == kind && !m.Known() && m.Reason != "" {
			return m.Reason
		}
	}
	for _, m := range in.measured {
		if m.Probe == probeName {
			return "the " + probeName + " probe measured no value for it"
		}
	}
	return "the " + probeName + " probe did not run"
}

// assess is the command that measures again.
func (in *input) assess() Next { return Next{Command: "hostlab assess" + Again(in.role, in.facts)} }

// Again are the flags with which another command looks at the same: the role, and
// the log directory unless it was none.
func Again(role check.Role, facts *host.Facts) string {
	flags := " --role " + string(role)
	if facts == nil {
		return flags
	}
	for _, s := range facts.Storage {
		if s.Purpose == "log-dir" {
			flags += " --log-dir " + screen.Word(s.Path)
		}
	}
	return flags
}

// new starts a lever with its findings.
func (in *input) new(name, title string) Lever {
	l := Lever{Name: name, Title: title, Findings: []string{}}
	for _, f := range in.findings(name) {
		l.Findings = append(l.Findings, f.ID)
	}
	l.todo = actionable(in.findings(name))
	for _, r := range in.results {
		if r.Subject == name && r.Status == check.Unknown {
			l.blind = append(l.blind, r.ID)
		}
	}
	return l
}

// take fills in what a family of ratios says.
func (l *Lever) take(r reading) {
	l.Measurement, l.Cost, l.Disturbed, l.why = r.m, r.cost, r.disturbed, r.why()
	if r.call == costs {
		l.Disturbed = "" // the comparison that decides was not
	}
	if r.cost {
		l.effect = saving(r.m.Estimate.Low)
		l.says = fmt.Sprintf("%s takes %s as long after a pause of 100 ms (%s)", work(r.m), short(r.m), Count(r.m))
	}
}

// beside makes others' work a condition of a bound on what a pause costs.
func (in *input) beside(l *Lever, r reading) {
	if r.awake == nil || l.Bound == nil {
		return
	}
	l.BoundOf += in.while()
	idle := fmt.Sprintf("the CPU was idle in %d of %d pauses", max(0, r.awake.Estimate.N-r.awake.Labels.Awake),
		r.awake.Estimate.N)
	if r.here {
		l.BoundWhy += "; this holds only beside this load, because " + idle
	} else {
		l.BoundWhy += "; this allows for the fact that " + idle
	}
}

// while is the condition under which pauses were measured.
func (in *input) while() string {
	if in.busy["wakeup"] == 0 {
		return ""
	}
	return fmt.Sprintf(", while other work took %s of the CPUs", Percent(in.busy["wakeup"]))
}

// rest decides a lever on its checks alone, where no measurement decided it.
// why says what could not be measured.
func (in *input) rest(l *Lever, why string) {
	if why != "" {
		l.why = why
	}
	if todo := l.todo; len(todo) > 0 {
		l.decide(Recommended, remedy(todo), screen.Plural(len(todo), "setting differs", "settings differ")+
			" from the recommendation for this role",
			"first "+todo[0].ID+", "+lowerFirst(todo[0].Title), notMeasured(why))
		return
	}
	passed, blind := 0, ""
	for _, r := range in.results {
		if r.Subject != l.Name {
			continue
		}
		switch r.Status {
		case check.OK, check.Finding: // what only informs is as it should be
			passed++
		case check.Unknown:
			blind = r.ID
		}
	}
	look, fine := Next{Command: "hostlab check --explain " + blind},
		screen.Plural(passed, "check finds", "checks find")+" nothing to change"
	switch {
	case passed > 0 && blind == "":
		l.decide(Settled, l.Next, fine+" for this role")
	case passed > 0:
		l.decide(Settled, look, fine, blind+" could not look")
	case blind != "":
		l.decide(Untestable, look, "the checks could not look")
	default:
		l.decide(Untestable, l.Next, "no check applies to this host in this role")
	}
	l.add(notMeasured(why))
}

// notMeasured is a clause with the reason; "" for none.
func notMeasured(why string) string {
	if why == "" {
		return ""
	}
	return "not measured: " + why
}

// settings is a lever that only checks speak of: no quick probe moves it.
func (in *input) settings(name, title, boundWhy string) Lever {
	l := in.new(name, title)
	l.BoundOf = "the workload's time"
	l.unbounded(boundWhy)
	in.rest(&l, "")
	return l
}

// remedy is the command of the worst finding that has one.
func remedy(findings []check.Result) Next {
	for _, f := range findings {
		if f.Remedy != "" {
			return Next{Command: f.Remedy}
		}
	}
	if len(findings) > 0 {
		return Next{Command: "hostlab check --explain " + findings[0].ID}
	}
	return Next{}
}
