package experiment

import (
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
func (p *parser) workload(f fields, factors []fields) {
	w := &p.s.Workload
	w.Name = get(f, "name", "")
	w.WarmUp = int(get(f, "warmup", int64(1)))
	w.Settle = get(f, "settle", time.Duration(0))
	w.Timeout = get(f, "timeout", 10*time.Minute)
	w.Expect = get(f, "expect", time.Duration(0))
	w.Retries = int(get(f, "retries", int64(5)))
	if w.Name == "" {
		if f.at.line == 0 {
			p.add(f.at, "no [workload]: a study runs one")
		}
		for _, e := range f.rest { // without a name, it is not known which others there are
			if near := screen.Meant(e.name, sectionNamed("workload").names()); near == "name" {
				p.addHint(e.at, near, "[workload] has no key %s", screen.Short(e.name))
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
		p.addHint(f.place("name"), hint, "no workload %q%s", screen.Short(w.Name), also)
		return
	}
	p.params(f, factors)
	if w.Params == nil {
		p.s.Work = nil // refused, and so asked for nothing that follows from them
	}
}

// params checks the parameters of the workload, each problem at its key.
func (p *parser) params(f fields, factors []fields) {
	given, at := map[string]any{}, map[string]place{}
	varied := map[string]string{} // parameter -> factor
	failed := false
	for _, e := range f.rest {
		at[e.name] = e.where()
		param, known := p.desc.Param(e.name)
		if !known {
			names := slices.Concat(sectionNamed("workload").names(), paramNames(*p.desc))
			p.addHint(e.at, screen.Meant(e.name, names), "workload %s has no parameter %s", p.desc.Name, screen.Short(e.name))
			failed = true
			continue
		}
		v, err := e.value.convert(param)
		if err != nil {
			p.paramErrors(err, at, f.at)
			failed = true
			continue
		}
		given[e.name] = v
	}
	for _, x := range factors {
		name := get(x, "parameter", "")
		param, ok := p.desc.Param(name)
		if !ok {
			continue
		}
		if first, twice := varied[name]; twice {
			if own := get(x, "name", ""); own != first { // if not, the name is reported as given twice
				p.add(x.place("parameter"), "parameter %s is varied by factor %s already", name, first)
			}
			failed = true
			continue
		}
		varied[name] = get(x, "name", "")
		if where, twice := at[name]; twice {
			p.add(where, "%s is given here and varied by factor %s; take it out here", name, get(x, "name", "?"))
			failed = true
			continue
		}
		if by := p.overriding(name, given); by != "" {
			p.add(at[by], "%s is given here and makes all levels of factor %s alike, which varies %s; take it out here", by,
				get(x, "name", "?"), name)
			failed = true
			continue
		}
		at[name] = x.place("parameter")
		if x.has("directories") {
			continue // each run gets its own; until then, the default
		}
		if base := baseline(x); base != "" {
			if v, err := workload.ParseText(param, base); err == nil { // if not, its factor tells
				given[name] = v
				continue
			}
		}
		failed = true
		if !param.Required {
			continue
		}
		// Nothing to put in its place: without it, Check would call it missing.
		if v, err := workload.Check(*p.desc, given); err == nil {
			p.s.Workload.Params = v
		}
		return
	}
	v, err := workload.Check(*p.desc, given)
	if err != nil {
		p.paramErrors(err, at, f.at)
		return
	}
	if failed {
		return
	}
	p.s.Workload.Params = v
	p.ramp(f, at, v["ramp"])
	for _, x := range p.varied {
		if x.parameter == "ramp" {
			p.ramp(f, map[string]place{"ramp": x.at}, x.value)
		}
	}
}

// overriding is a given parameter beside which another has no effect; "" for none.
func (p *parser) overriding(name string, given map[string]any) string {
	for _, param := range p.desc.Params {
		if v, ok := given[param.Name]; ok && param.Over == name && fmt.Sprint(v) != fmt.Sprint(param.Default) {
			return param.Name
		}
	}
	return ""
}

// ramp refuses a ramp that the timeout cuts short: it is part of the first run.
func (p *parser) ramp(f fields, at map[string]place, value any) {
	ramp, ok := value.(time.Duration)
	if w := p.s.Workload; ok && ramp > 0 && w.Timeout > 0 && ramp >= w.Timeout {
		where, given := at["ramp"]
		if !given {
			where = f.at
		}
		p.add(where, "ramp: %s is part of the first run, which may take %s at most; give it less, or raise timeout",
			screen.Brief(ramp), screen.Brief(w.Timeout))
	}
}

// paramErrors reports each error of a parameter at its place.
func (p *parser) paramErrors(err error, at map[string]place, nowhere place) {
	for _, e := range flat(err) {
		x, ok := errors.AsType[*workload.ParamError](e)
		if !ok {
			p.add(nowhere, "%v", e)
			continue
		}
		where, ok := at[x.Name]
		if !ok {
			table, _, _ := strings.Cut(x.Name, ".")
			if where, ok = at[table]; !ok {
				where = nowhere
			}
		}
		p.param(where, x.Name, x)
	}
}

// flat takes joined errors apart.
func flat(err error) []error {
	if j, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // errors.Join's own type, not what it wraps
		var out []error
		for _, e := range j.Unwrap() {
			out = append(out, flat(e)...)
		}
		return out
	}
	return []error{err}
}

// validate asks the workload itself, which knows more than its table of
// parameters: templates in arguments, and picks.
func (p *parser) validate(work fields, responses []fields) {
	v, ok := p.s.Work.(workload.Validator)
	if !ok || p.s.Workload.Params == nil {
		return
	}
	at := map[string]place{}
	for _, e := range work.rest {
		at[e.name] = e.where()
	}
	for _, r := range responses {
		if name := get(r, "name", ""); r.has("from") {
			at[name] = r.place("from")
		}
	}
	c := p.s.Config("")
	if err := v.Validate(c); err != nil {
		p.paramErrors(err, at, work.at)
		return // the same would be said of each level
	}
	for _, x := range p.varied {
		c.Params = maps.Clone(p.s.Workload.Params)
		c.Params[x.parameter] = x.value
		if err := v.Validate(c); err != nil {
			p.paramErrors(err, map[string]place{x.parameter: x.at}, x.at)
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

// holds reports whether any text of a value has {name}.
func holds(v any, name string) bool {
	want := "{" + name + "}"
	switch v := v.(type) {
	case string:
		return strings.Contains(v, want)
	case []string:
		return slices.ContainsFunc(v, func(s string) bool { return strings.Contains(s, want) })
	case map[string]string:
		for _, s := range v {
			if strings.Contains(s, want) {
				return true
			}
		}
	}
	return false
}

// paramNames lists the parameters of a workload.
func paramNames(d workload.Description) (names []string) {
	for _, p := range d.Params {
		names = append(names, p.Name)
	}
	return names
}

// baseline is a factor's baseline, the first level unless given.
func baseline(f fields) string {
	if l := list[string](f, "levels"); len(l) > 0 {
		return get(f, "baseline", l[0].v)
	}
	return ""
}
