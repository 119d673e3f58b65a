package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// workload reads [workload], with the parameters that factors vary at their
// baseline.
func (p *parser) workload() {
	w, f := &p.s.Workload, &p.work
	w.Name, w.WarmUp, w.Retries = f.Name, or(f.Warmup, 1), or(f.Retries, 5)
	w.Settle, w.Timeout, w.Expect = f.Settle.Duration, cmp.Or(f.Timeout.Duration, 10*time.Minute), f.Expect.Duration
	if w.Name == "" {
		if p.f.Workload == nil {
			p.add(p.whole(), "no [workload]: a study runs one")
			return
		}
		p.add(p.workAt(""), "[workload] needs name")
		for key := range p.f.Workload { // without a name, it is not known which others there are
			if near := screen.Meant(key, keysOf("workload")); near == "name" {
				p.addHint(p.workAt(key), near, "[workload] has no key %s", screen.Short(key))
			}
		}
		return
	}
	var names []string
	for _, k := range p.known.Workloads {
		d := k.Describe()
		if names = append(names, d.Name); d.Name == w.Name {
			p.s.Work, p.desc = k, &d
		}
	}
	if p.desc == nil {
		hint := screen.Meant(w.Name, names)
		also := ""
		if hint == "" {
			also = "; there are " + strings.Join(names, ", ")
		}
		p.addHint(p.workAt("name"), hint, "no workload %q%s", screen.Short(w.Name), also)
		return
	}
	p.parameters()
	if w.Params == nil {
		p.s.Work = nil // refused, and so asked for nothing that follows from them
	}
}

func (p *parser) workAt(key string) place { return p.at("workload", 0, key) }

// parameters checks those of the workload, each problem at its key.
func (p *parser) parameters() {
	given, at := maps.Clone(p.f.Workload), map[string]place{}
	failed := false
	for key := range given {
		at[key] = p.workAt(key)
		if _, known := p.desc.Param(key); !known {
			names := slices.Concat(keysOf("workload"), paramNames(*p.desc))
			p.addHint(at[key], screen.Meant(key, names), "workload %s has no parameter %s", p.desc.Name, screen.Short(key))
			delete(given, key)
			failed = true
		}
	}
	varied := map[string]string{} // parameter -> factor
	for i := range p.f.Factor {
		x := &p.f.Factor[i]
		key, own := x.Parameter, string(x.Name)
		param, ok := p.desc.Param(key)
		if !ok || x.fixed != nil {
			continue
		}
		where, there := at[key]
		by := p.overriding(key, given)
		switch first, twice := varied[key]; {
		case twice && own != first: // else the name is reported as given twice
			p.add(p.factorAt(i, "parameter"), "parameter %s is varied by factor %s already", key, first)
		case twice:
		case there:
			p.add(where, "%s is given here and varied by factor %s; take it out here", key, own)
		case by != "":
			p.add(at[by], "%s is given here and makes all levels of factor %s alike, which varies %s; take it out here", by,
				own, key)
		case x.Directories != nil: // each run gets its own; until then, the default
			varied[key], at[key] = own, p.factorAt(i, "parameter")
			continue
		default:
			varied[key], at[key] = own, p.factorAt(i, "parameter")
			if _, err := param.Canonical(p.desc.Params, x.baseline()); err != nil { // its factor tells
				if failed = true; param.Required {
					return // nothing to put in its place: it would be called missing
				}
				continue
			}
			given[key] = workload.Typed(x.baseline())
			continue
		}
		varied[key], failed = own, true
	}
	v, err := workload.Check(*p.desc, given)
	if err != nil {
		if p.bad["factor"] { // one that cannot be read may give a parameter that is missing here
			err = errors.Join(slices.DeleteFunc(flat(err), func(e error) bool {
				x, ok := errors.AsType[*workload.ParamError](e)
				return ok && given[x.Name] == nil
			})...)
		}
		p.params(err, at, p.workAt(""))
		return
	}
	if failed {
		return
	}
	p.s.Workload.Params = v
	p.ramp(p.workAt("ramp"), v)
	for _, x := range p.varied {
		if x.parameter == "ramp" {
			if v, err := workload.With(v, "ramp", x.value); err == nil {
				p.ramp(x.at, v)
			}
		}
	}
}

// overriding is a given parameter beside which another has no effect; "" for none.
func (p *parser) overriding(name string, given map[string]any) string {
	for _, param := range p.desc.List() {
		if v, ok := given[param.Name]; ok && param.Over == name && fmt.Sprint(v) != param.Default {
			return param.Name
		}
	}
	return ""
}

// ramp refuses a ramp that the timeout cuts short: it is part of the first run.
func (p *parser) ramp(at place, params workload.Params) {
	ramp, ok := workload.Value(params, "ramp").(workload.Span)
	if w := p.s.Workload; ok && ramp.Duration > 0 && w.Timeout > 0 && ramp.Duration >= w.Timeout {
		p.add(at, "ramp: %s is part of the first run, which may take %s at most; give it less, or raise timeout",
			ramp, screen.Brief(w.Timeout))
	}
}

// validate asks the workload itself, which knows more than its table of
// parameters: templates in arguments, and picks.
func (p *parser) validate() {
	v := p.s.Work
	if v == nil || p.s.Workload.Params == nil {
		return
	}
	at := map[string]place{}
	for key := range p.f.Workload {
		at[key] = p.workAt(key)
	}
	for i, r := range p.f.Response {
		if r.From != "" {
			at[string(r.Name)] = p.responseAt(i, "from")
		}
	}
	c := p.s.Config("")
	if err := v.Validate(c); err != nil {
		p.params(err, at, p.workAt(""))
		return // the same would be said of each level
	}
	for _, x := range p.varied {
		c.Params, _ = workload.With(p.s.Workload.Params, x.parameter, x.value) // its factor checked it
		if err := v.Validate(c); err != nil {
			p.params(err, map[string]place{x.parameter: x.at}, x.at)
		}
	}
}

// Config returns what the workload of a study is opened with.
func (s *Study) Config(work string) workload.Config {
	c := workload.Config{Params: s.Workload.Params, Dir: s.Dir, Work: work, Factors: []string{}, Evidence: s.Evidence,
		Machine: s.Machine}
	for _, f := range s.Factors {
		c.Factors = append(c.Factors, f.Name)
	}
	for _, r := range s.Responses {
		if r.From != "" && r.From != r.Name && r.Over == "" {
			c.Picks = append(c.Picks, workload.Pick{Name: r.Name, From: r.From, Unit: r.Unit, Scale: r.Scale})
		}
	}
	return c
}

// holds reports whether any argument has {name}.
func holds(arguments []string, name string) bool {
	return slices.ContainsFunc(arguments, func(s string) bool { return strings.Contains(s, "{"+name+"}") })
}

func paramNames(d workload.Description) (names []string) {
	for _, p := range d.List() {
		names = append(names, p.Name)
	}
	return names
}
