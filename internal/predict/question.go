package predict

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/model"
	"hostlab/internal/result"
	"hostlab/internal/screen"
)

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
		return p, fmt.Errorf("--%s %s: %w", flag, text, err)
	}
	return p, nil
}
