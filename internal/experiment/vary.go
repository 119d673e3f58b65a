package experiment

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
)

// Current is the level of a setting, or of a server's parameter, that is there when the experiment
// begins: what each object had, which need not be the same on all.
const Current = "current"

// byName are the kinds of factors of which the command line may name another one with its level,
// as in --set setting.thp=never.
var byName = []string{KindSetting, KindServer}

// vary puts what the command line names into the study's factor of that kind: its level beside what
// is there. It reports false for other keys.
func (p *parser) vary(key, text string, at place) bool {
	kind, called, ok := strings.Cut(key, ".")
	if !ok || !slices.Contains(byName, kind) {
		return false
	}
	p.s.Overrides[key] = text
	target := func(f *FactorTable) *string {
		if kind == KindSetting {
			return &f.Setting
		}
		return &f.Server
	}
	i := slices.IndexFunc(p.f.Factor, func(f FactorTable) bool { return *target(&f) != "" || p.over.live })
	others := slices.DeleteFunc(slices.Collect(maps.Keys(p.over.Set)),
		func(k string) bool {
			other, _, _ := strings.Cut(k, ".")
			return k == key || other != kind && (!p.over.live || !slices.Contains(byName, other))
		})
	switch {
	case i < 0:
		p.add(at, "no factor of this study varies a %s", map[string]string{KindSetting: "setting",
			KindServer: "server's parameter"}[kind])
		return true
	case len(others) > 0:
		if first := slices.Min(others); key < first { // else that one says it
			p.add(at, "--set %s is there too, and one can be varied at a time", screen.Short(first))
		}
		return true
	case called == "" || text == "":
		p.add(at, "expected --set %s.NAME=LEVEL", kind)
		return true
	case text == Current:
		p.add(at, "%s is what there is already; name another level", Current)
		return true
	}
	f := &p.f.Factor[i]
	f.Setting, f.Server = "", ""
	*target(f), f.from, f.Baseline = called, at.source, Current
	for key, v := range map[string]any{"name": notName.ReplaceAllString(called, "_"), "levels": []any{Current, text}} {
		p.key(at, "factor", reflect.ValueOf(f).Elem(), key, v)
	}
	return true
}

// notName is what the name of a factor cannot hold.
var notName = lazyre.New(`[^A-Za-z0-9_-]`)

// serverName is what servers call their parameters; one of an extension has a dot.
var serverName = lazyre.New(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// server checks a factor that is a parameter of the service's database server.
func (p *parser) server(i int, x *Factor) {
	x.Server = p.f.Factor[i].Server
	x.Target = x.Server
	switch {
	case !serverName.MatchString(x.Server):
		p.add(p.factorAt(i, "server"), "%q is no name of a server's parameter", screen.Short(x.Server))
	case p.desc != nil && !p.desc.Live:
		p.add(p.factorAt(i, "server"),
			"factor %s is a parameter of a service that is watched, and workload %s watches none", x.Name,
			p.desc.Name)
	}
}

// current checks the level that is what there is.
func (p *parser) current(i int, x *Factor) {
	if !slices.Contains(x.Levels, Current) || !slices.Contains(byName, x.Kind) {
		return
	}
	for _, other := range p.s.Factors {
		if slices.Contains(byName, other.Kind) && slices.Contains(other.Levels, Current) {
			p.add(p.factorAt(i, "levels"),
				"factor %s has the level %s, and factor %s too; only one factor of a study may have it",
				x.Name, Current, other.Name)
		}
	}
}
