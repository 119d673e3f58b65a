package experiment

import (
	"cmp"
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

// workAt is the place of a key of [workload].
func (p *parser) workAt(key string) place { return p.at("workload", 0, key) }

// parameters checks those of the workload, each problem at its key.
func (p *parser) parameters() {
	given, at := map[string]any{}, map[string]place{}
	varied := map[string]string{} // parameter -> factor
	failed := false
	for _, key := range slices.Sorted(maps.Keys(p.f.Workload)) {
		if slices.Contains(keysOf("workload"), key) {
			continue
		}
		at[key] = p.workAt(key)
		param, known := p.desc.Param(key)
		if !known {
			names := slices.Concat(keysOf("workload"), paramNames(*p.desc))
			p.addHint(at[key], screen.Meant(key, names), "workload %s has no parameter %s", p.desc.Name, screen.Short(key))
			failed = true
			continue
		}
		v, err := p.f.Workload[key], error(nil)
		if text, ok := v.(typed); ok {
			v, err = workload.ParseText(param, string(text))
		} else {
			v, err = workload.Convert(param, v)
		}
		if err != nil {
			p.params(err, at, p.workAt(""))
			failed = true
			continue
		}
		given[key] = v
	}
	for i := range p.f.Factor {
		x := &p.f.Factor[i]
		key, own := x.Parameter, string(x.Name)
		param, ok := p.desc.Param(key)
		if !ok || x.fixed != nil {
			continue
		}
		if first, twice := varied[key]; twice {
			if own != first { // if not, the name is reported as given twice
				p.add(p.factorAt(i, "parameter"), "parameter %s is varied by factor %s already", key, first)
			}
			failed = true
			continue
		}
		varied[key] = own
		if where, twice := at[key]; twice {
			p.add(where, "%s is given here and varied by factor %s; take it out here", key, own)
			failed = true
			continue
		}
		if by := p.overriding(key, given); by != "" {
			p.add(at[by], "%s is given here and makes all levels of factor %s alike, which varies %s; take it out here", by,
				own, key)
			failed = true
			continue
		}
		at[key] = p.factorAt(i, "parameter")
		if x.Directories != nil {
			continue // each run gets its own; until then, the default
		}
		if v, err := workload.ParseText(param, x.baseline()); err == nil { // if not, its factor tells
			given[key] = v
			continue
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
		p.params(err, at, p.workAt(""))
		return
	}
	if failed {
		return
	}
	p.s.Workload.Params = v
	p.ramp(p.workAt("ramp"), v["ramp"])
	for _, x := range p.varied {
		if x.parameter == "ramp" {
			p.ramp(x.at, x.value)
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
func (p *parser) ramp(at place, value any) {
	ramp, ok := value.(time.Duration)
	if w := p.s.Workload; ok && ramp > 0 && w.Timeout > 0 && ramp >= w.Timeout {
		p.add(at, "ramp: %s is part of the first run, which may take %s at most; give it less, or raise timeout",
			screen.Brief(ramp), screen.Brief(w.Timeout))
	}
}

// validate asks the workload itself, which knows more than its table of
// parameters: templates in arguments, and picks.
func (p *parser) validate() {
	v, ok := p.s.Work.(workload.Validator)
	if !ok || p.s.Workload.Params == nil {
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
		c.Params = maps.Clone(p.s.Workload.Params)
		c.Params[x.parameter] = x.value
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
