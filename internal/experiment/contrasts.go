package experiment

import (
	"fmt"
	"slices"
	"strings"

	"hostlab/internal/result"
	"hostlab/internal/screen"
)

func (p *parser) contrasts(list []fields) {
	if len(list) == 0 {
		p.defaultContrasts()
		return
	}
	var (
		at    []place
		named []bool // by their level
	)
	for _, f := range list {
		for _, c := range p.contrast(f) {
			same := slices.IndexFunc(p.s.Contrasts, func(o result.Contrast) bool { return contrastKey(o) == contrastKey(c) })
			if same >= 0 && !f.has("level") && named[same] {
				continue // all the other levels are meant
			}
			if same >= 0 {
				p.add(f.at, "compares %s as line %d does already", c, at[same].line)
				continue
			}
			p.s.Contrasts, at, named = append(p.s.Contrasts, c), append(at, f.at), append(named, f.has("level"))
		}
	}
	if !slices.ContainsFunc(p.s.Contrasts, func(c result.Contrast) bool { return c.Primary }) && len(p.list) == 0 {
		p.add(list[0].at, "no contrast is primary: nothing would decide")
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

// contrast reads one table and expands it to one level each.
func (p *parser) contrast(f fields) []result.Contrast {
	primary := get(f, "primary", true)
	before := len(p.list)
	one, two := f.present("factor"), f.present("interaction")
	if one == two {
		p.add(f.at, "[[contrast]] has %s interaction; give one",
			map[bool]string{true: "both factor and", false: "neither factor nor"}[one])
		return nil
	}
	if two {
		names := list[string](f, "interaction")
		if f.has("level") {
			p.add(f.place("level"), "level belongs to factor; an interaction takes all levels")
		}
		if names == nil {
			return nil
		}
		if len(names) != 2 || names[0].v == names[1].v {
			p.add(f.place("interaction"), "interaction needs two different factors, found %d",
				map[bool]int{true: 1, false: len(names)}[len(names) == 2])
			return nil
		}
		a, b := p.mentioned(names[0]), p.mentioned(names[1])
		at := p.at(f, a, b)
		if len(p.list) > before || a == nil || b == nil {
			return nil
		}
		return interactions(a, b, primary, at)
	}
	if !f.has("factor") {
		return nil
	}
	x := p.mentioned(placed[string]{get(f, "factor", ""), f.place("factor")})
	at := p.at(f, x)
	if x == nil || len(p.list) > before {
		return nil
	}
	level := get(f, "level", "")
	switch {
	case level == "":
		return mainEffects(x, primary, at)
	case !slices.Contains(x.Levels, level):
		p.unknownLevel(f.place("level"), x, level)
		return nil
	case level == x.Baseline:
		p.add(f.place("level"), "level %q is the baseline of factor %s; it is compared with the others already", level, x.Name)
		return nil
	}
	return []result.Contrast{{Factors: []string{x.Name}, Levels: []string{level}, At: at, Primary: primary}}
}

// mentioned finds a factor by name, or says that there is none.
func (p *parser) mentioned(name placed[string]) *Factor {
	var names []string
	for i := range p.s.Factors {
		x := &p.s.Factors[i]
		if x.Name == name.v {
			return x
		}
		names = append(names, x.Name)
	}
	p.addHint(name.at, screen.Meant(name.v, names), "no factor %q", screen.Short(name.v))
	return nil
}

func (p *parser) unknownLevel(at place, x *Factor, level string) {
	p.addHint(at, nearLevel(level, x.Levels), "factor %s has no level %q: %s", x.Name, level, strings.Join(x.Levels, ", "))
}

// at reads the factors that a contrast holds at a level.
func (p *parser) at(f fields, own ...*Factor) map[string]string {
	var out map[string]string
	for _, n := range pairsOf(f, "at") {
		x := p.mentioned(placed[string]{n.name, n.at})
		switch {
		case x == nil:
		case slices.Contains(own, x):
			p.add(n.at, "factor %s is what is compared; at holds the others", x.Name)
		case !slices.Contains(x.Levels, n.text):
			p.unknownLevel(n.textAt, x, n.text)
		default:
			if out == nil {
				out = map[string]string{}
			}
			out[x.Name] = n.text
		}
	}
	return out
}
