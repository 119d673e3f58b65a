package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

func (p *parser) contrasts() {
	list, left := p.f.Contrast, false
	named := []bool{} // of s.Contrasts: by their level
	for i := range list {
		if !p.left(&list[i]) {
			continue
		}
		left = true
		for _, c := range p.contrast(i) {
			same := slices.IndexFunc(p.s.Contrasts, func(o result.Contrast) bool { return contrastKey(o) == contrastKey(c) })
			if same >= 0 && list[i].Level == "" && named[same] {
				continue // all the other levels are meant
			}
			if same >= 0 {
				p.add(p.at("contrast", i, ""), "%s is compared by an earlier contrast already", c)
				continue
			}
			p.s.Contrasts, named = append(p.s.Contrasts, c), append(named, list[i].Level != "")
		}
	}
	if !left {
		p.defaultContrasts()
		return
	}
	if !slices.ContainsFunc(p.s.Contrasts, func(c result.Contrast) bool { return c.Primary }) && len(p.list) == 0 {
		p.add(p.at("contrast", 0, ""), "no contrast is primary: nothing would decide")
	}
}

func contrastKey(c result.Contrast) string { return fmt.Sprintf("%q %q %q", c.Factors, c.Levels, c.At) }

// defaultContrasts compares every level with its baseline; interactions inform.
func (p *parser) defaultContrasts() {
	for i := range p.s.Factors {
		p.s.Contrasts = append(p.s.Contrasts, mainEffects(&p.s.Factors[i], true, nil)...)
	}
	for i := range p.s.Factors {
		for j := range i {
			p.s.Contrasts = append(p.s.Contrasts, interactions(&p.s.Factors[j], &p.s.Factors[i], false, nil)...)
		}
	}
}

func mainEffects(f *Factor, primary bool, at map[string]string) (list []result.Contrast) {
	for _, l := range f.Levels {
		if l != f.Baseline {
			list = append(list, result.Contrast{Factors: []string{f.Name}, Levels: []string{l}, At: at, Primary: primary})
		}
	}
	return list
}

func interactions(a, b *Factor, primary bool, at map[string]string) (list []result.Contrast) {
	for _, k := range a.Levels {
		for _, l := range b.Levels {
			if k != a.Baseline && l != b.Baseline {
				list = append(list, result.Contrast{Factors: []string{a.Name, b.Name}, Levels: []string{k, l}, At: at,
					Primary: primary})
			}
		}
	}
	return list
}

// contrast expands one table to one level each.
func (p *parser) contrast(i int) []result.Contrast {
	f, before := &p.f.Contrast[i], len(p.list)
	at := func(key string) place { return p.at("contrast", i, key) }
	primary := or(f.Primary, true)
	switch {
	case f.Factor != "" && f.Interaction != nil:
		p.add(at(""), "[[contrast]] has both factor and interaction; give one")
		return nil
	case f.Factor == "" && f.Interaction == nil:
		p.add(at(""), "[[contrast]] has neither factor nor interaction; give one")
		return nil
	case f.Factor == "":
		if f.Level != "" {
			p.add(at("level"), "level belongs to factor; an interaction takes all levels")
		}
		if names := f.Interaction; len(names) != 2 || names[0] == names[1] {
			p.add(at("interaction"), "interaction needs two different factors")
			return nil
		}
		a, b := p.mentioned(f.Interaction[0], at("interaction")), p.mentioned(f.Interaction[1], at("interaction"))
		held := p.held(i, a, b)
		if len(p.list) > before {
			return nil
		}
		return interactions(a, b, primary, held)
	}
	x := p.mentioned(f.Factor, at("factor"))
	held := p.held(i, x)
	if len(p.list) > before {
		return nil
	}
	switch l := string(f.Level); {
	case l == "":
		return mainEffects(x, primary, held)
	case !slices.Contains(x.Levels, l):
		p.unknownLevel(at("level"), x, l)
		return nil
	case l == x.Baseline:
		p.add(at("level"), "level %q is the baseline of factor %s; it is compared with the others already", l, x.Name)
		return nil
	default:
		return []result.Contrast{{Factors: []string{x.Name}, Levels: []string{l}, At: held, Primary: primary}}
	}
}

// mentioned finds a factor by name, or says that there is none.
func (p *parser) mentioned(called string, at place) *Factor {
	var names []string
	for i := range p.s.Factors {
		x := &p.s.Factors[i]
		if x.Name == called {
			return x
		}
		names = append(names, x.Name)
	}
	p.addHint(at, screen.Meant(called, names), "no factor %q", screen.Short(called))
	return nil
}

func (p *parser) unknownLevel(at place, x *Factor, level string) {
	p.addHint(at, nearLevel(level, x.Levels), "factor %s has no level %q: %s", x.Name, level, strings.Join(x.Levels, ", "))
}

// held reads the factors that a contrast holds at a level.
func (p *parser) held(i int, own ...*Factor) map[string]string {
	var out map[string]string
	held, at := p.f.Contrast[i].At, p.at("contrast", i, "at")
	for _, name := range slices.Sorted(maps.Keys(held)) {
		x, l := p.mentioned(name, at), string(held[name])
		switch {
		case x == nil:
		case slices.Contains(own, x):
			p.add(at, "factor %s is what is compared; at holds the others", x.Name)
		case !slices.Contains(x.Levels, l):
			p.unknownLevel(at, x, l)
		default:
			if out == nil {
				out = map[string]string{}
			}
			out[x.Name] = l
		}
	}
	return out
}
