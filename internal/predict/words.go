package predict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hostlab/internal/model"
	"hostlab/internal/result"
)

// Sentences returns the answer: what the first policy would cost this workload, from which
// load on it does not matter, and what that depends on most.
func (a *Answer) Sentences() []string {
	return slices.DeleteFunc([]string{a.cost(), a.ends(), a.depends(), a.whose()}, func(s string) bool { return s == "" })
}

// ends says from which load on the first policy's extra CPU time does not matter; "": it has none.
func (a *Answer) ends() string {
	i := slices.IndexFunc(a.Vanishing, func(v model.Vanishing) bool { return v.Policy == a.Policies[0].String() })
	if i < 0 || !a.ratio(Headline).Known() {
		return ""
	}
	return "The extra CPU time " + a.vanishes(a.Vanishing[i]) + "."
}

// whose says that bursts are not those of a service here, and how to get these; "": they are, or this is another host.
func (a *Answer) whose() string {
	if !a.Machine.This || a.Workload.Watched > 0 {
		return ""
	}
	return "These are bursts of the workload " + a.Workload.Name +
		". Those of a service here may be shorter and cost more: " +
		"'hostlab assess' simulates them, and 'hostlab assess --bursts' writes them for --workload."
}

// ratio returns the first policy's at the lowest load; unknown where it has none or two.
func (a *Answer) ratio(x model.Response) result.Estimate {
	if rows := rowsOf(a.Comparisons[0], a.Policies[0]); len(rows) == 1 {
		return rows[0].Ratio[x]
	}
	return result.Unknown()
}

func (a *Answer) cost() string {
	c, p := a.Comparisons[0], a.Policies[0]
	rows := rowsOf(c, p)
	policy := p.Title
	if name := p.String(); !strings.HasSuffix(policy, " "+name) {
		policy += " (" + name + ")"
	}
	switch len(rows) {
	case 0:
		return policy + " is the baseline itself."
	case 2:
		low, high := rows[1].Ratio[model.StepTime], rows[0].Ratio[model.StepTime]
		if !high.Known() {
			return fmt.Sprintf("The hardware chooses the clock of %s, so there are only bounds: its lowest frequency cannot carry "+
				"%s%s; under its highest, steps take %s as long as under %s.", policy, a.Workload.Name, at(c), low.Text(),
				a.Baseline.Name)
		}
		return fmt.Sprintf("The hardware chooses the clock of %s, so there are only bounds: steps of %s would take %s to %s "+
			"as long as under %s%s.", policy, a.Workload.Name, low.Text(), high.Text(), a.Baseline.Name, at(c))
	}
	if len(rows[0].Responses) == 0 {
		return fmt.Sprintf("%s cannot carry %s%s: its queue would grow without end.", policy, a.Workload.Name, at(c))
	}
	step, cpu := a.ratio(model.StepTime), a.ratio(Headline)
	little := ""
	if cpu.Low <= 1.02 && cpu.High >= 0.98 && step.Low <= 1.02 && step.High >= 0.98 {
		little = ", so it costs almost nothing"
	}
	return fmt.Sprintf("Under %s, steps of %s would take %s and %s than under %s%s%s (simulated, n %d).", policy,
		a.Workload.Name, than(step, "longer", "shorter"), than(cpu, "more CPU time", "less CPU time"), a.Baseline.Name,
		at(c), little, step.N)
}

// than says a ratio as a difference, with its interval.
func than(ratio result.Estimate, more, less string) string {
	e := ratio.Map(func(v float64) float64 { return v - 1 }).Percent()
	if e.Value < 0 {
		return e.Negated().Brief() + " " + less
	}
	return e.Brief() + " " + more
}

// vanishes says where an effect ends, as a predicate. The load at which it does lies between the
// last one at which the interval is above the limit, and the first from which on all
// that were tried have it below.
func (a *Answer) vanishes(v model.Vanishing) string {
	limit := fmt.Sprintf("%.0f %%", (Limit-1)*100)
	last := math.NaN() // the highest load at which there is an effect
	for _, p := range v.Points {
		if p.Ratio.Low > Limit && !(p.Load <= last) && !(v.Found && p.Load >= v.Load) {
			last = p.Load
		}
	}
	switch {
	case v.Everywhere:
		return "is below " + limit + " at every load tried"
	case v.Found:
		out := fmt.Sprintf("is below %s from %s load on", limit, percent(v.Load))
		if !math.IsNaN(last) {
			out = fmt.Sprintf("is over %s up to %s load, and below it from %s on; between the two it is undecided", limit,
				percent(last),
				percent(v.Load))
		}
		return out
	}
	carried := math.NaN()
	try := func(load float64, e result.Estimate) {
		if e.Known() && e.High >= Limit && !(load <= carried) {
			carried = load
		}
	}
	for _, p := range v.Points {
		try(p.Load, p.Ratio)
	}
	for _, c := range a.Comparisons {
		for _, r := range c.Rows {
			if r.Policy == v.Policy {
				try(c.Baseline.Load, r.Ratio[Headline])
			}
		}
	}
	if math.IsNaN(carried) {
		return "is unknown: no load that was tried can be carried by both policies"
	}
	return "keeps its cost at every load up to " + percent(carried) + "; with more, its queue grows without end"
}

func (a *Answer) depends() string {
	if len(a.Sensitivity) == 0 {
		return ""
	}
	i := a.Sensitivity[0]
	if i.Range < 0.01 {
		return "What is unknown hardly matters: the values tried move the CPU time by less than 1 % of the baseline's."
	}
	var parts []string
	for _, s := range i.Settings {
		ratio := "no ratio"
		if s.Ratio.Known() {
			ratio = s.Ratio.Text()
		}
		parts = append(parts, ratio+" at "+s.Value)
	}
	subject := "The answer"
	if p := a.focus(); p.Name != a.Policies[0].Name {
		subject += " for " + p.String()
	}
	return fmt.Sprintf("%s depends most on %s: %s.", subject, i.Parameter, strings.Join(parts, ", "))
}

// at names the load of a comparison; closed workloads have none.
func at(c model.Comparison) string {
	if math.IsNaN(c.Baseline.Load) {
		return ""
	}
	return " at " + percent(c.Baseline.Load) + " load"
}

// rowsOf are a policy's rows: none for the baseline, two where it is bounded.
func rowsOf(c model.Comparison, p model.Policy) (out []model.Row) {
	for _, r := range c.Rows {
		if r.Policy == p.String() {
			out = append(out, r)
		}
	}
	return out
}

// label names a row; a bounded policy's two rows differ by the end.
func label(r model.Row) string {
	switch r.Bound {
	case model.AtLowestHertz:
		return r.Policy + " lowest"
	case model.AtTopHertz:
		return r.Policy + " highest"
	}
	return r.Policy
}

func percent(share float64) string { return result.Percent(share, 1) }

// reason is why a row has no figures.
func reason(r model.Row) string { return "cannot carry it: " + r.Refused }

func machineLine(m model.Machine) string {
	s := fmt.Sprintf("%s: %d x %d cores", m.Name, m.Sockets, m.CoresPerSocket)
	if m.ThreadsPerCore > 1 {
		s += fmt.Sprintf(" x %d threads", m.ThreadsPerCore)
	}
	s += ", " + hz(m.PStates[0])
	if n := len(m.PStates); n > 1 {
		s += fmt.Sprintf(" to %s in %d steps", hz(m.PStates[n-1]), n)
	}
	if n := len(m.Turbo); n > 0 {
		s += fmt.Sprintf(", turbo %s (all cores %s)", hz(m.Turbo[0].Hz), hz(m.Turbo[n-1].Hz))
	}
	if m.Fixed > 0 {
		s += ", held at " + hz(m.Fixed) + " by firmware"
	}
	return s + ", one frequency for each " + string(m.Domain)
}

// recordLine sets the load of a record beside the one that was simulated for it.
func recordLine(a *Answer) string {
	if a.Workload.Watched == 0 {
		return ""
	}
	s := fmt.Sprintf("load of %s on %d CPUs", percent(a.Workload.Load), a.Workload.Watched)
	for i, c := range a.Comparisons {
		between := ", "
		if i == 0 {
			between = "; simulated here, under " + a.Baseline.Name + ": "
		}
		s += between + percent(c.Baseline.Responses[model.Utilisation].Value)
	}
	return s + fmt.Sprintf(" of %d CPUs busy", a.Machine.CPUs())
}

func workloadLine(w model.Workload) string {
	s := w.Name + ": "
	switch w.Kind {
	case model.Dialog:
		s += fmt.Sprintf("steps of %d x %s CPU", w.Slices, distText(w.Slice))
		if w.Slices > 1 {
			s += fmt.Sprintf(" and %d x %s wait", w.Slices-1, distText(w.Wait))
		}
		if w.Users > 0 {
			s += fmt.Sprintf(", closed: %d users thinking %s", w.Users, distText(w.Think))
		} else {
			s += ", open: random arrivals"
		}
	case model.Batch:
		s += fmt.Sprintf("%d jobs of %s CPU each in slices of %s with waits of %s", w.Users, seconds(w.Work),
			distText(w.Slice), distText(w.Wait))
	case model.Query:
		s += fmt.Sprintf("one query of %d workers with %s CPU each, in slices of %s with waits of %s", w.Users,
			seconds(w.Work), distText(w.Slice), distText(w.Wait))
	case model.Commit:
		s += fmt.Sprintf("%d writers that compute %s, commit to a device of %s and think %s", w.Users, distText(w.Slice),
			distText(w.Device), distText(w.Think))
	}
	if w.MemoryShare > 0 {
		s += fmt.Sprintf(", %s of the work does not scale with frequency", percent(w.MemoryShare))
	}
	return s + ", placed " + string(w.Placement)
}

// distText describes a distribution by its mean; values of a record are many.
func distText(d model.Dist) string {
	text := seconds(d.Mean)
	switch {
	case d.Kind == model.DistEmpirical:
		text += fmt.Sprintf(" (%d values)", len(d.Values))
	case d.CV > 0:
		text += fmt.Sprintf(" (%s, cv %.2g)", d.Kind, d.CV)
	case d.Kind == model.DistExponential:
		text += " (exp)"
	}
	return text
}

// shared are the warnings of rows that have figures, each kind once, in the words of
// the row that it limits most, behind the names of their rows.
func shared(c model.Comparison) (out []string) {
	var order []model.Caution
	worst, rows := map[model.Caution]model.Warning{}, map[model.Caution][]string{}
	for _, r := range c.All() {
		for _, w := range r.Warnings {
			if rows[w.Of] == nil {
				order = append(order, w.Of)
			}
			if rows[w.Of] == nil || w.By > worst[w.Of].By {
				worst[w.Of] = w
			}
			rows[w.Of] = append(rows[w.Of], label(r))
		}
	}
	for _, kind := range order {
		out = append(out, strings.Join(rows[kind], ", ")+": "+worst[kind].Text)
	}
	return out
}
