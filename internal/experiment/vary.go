package experiment

import (
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"

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
func (p *parser) vary(tree *value, key, text string, at place) bool {
	kind, name, ok := strings.Cut(key, ".")
	if !ok || !slices.Contains(byName, kind) {
		return false
	}
	p.s.Overrides[key] = text
	var factor *value
	if e := tree.get("factor"); e != nil {
		for _, f := range e.value.list {
			if f.get(kind) != nil && factor == nil {
				factor = f
			}
		}
	}
	others := slices.DeleteFunc(slices.Collect(maps.Keys(p.over.Set)),
		func(k string) bool { return k == key || !strings.HasPrefix(k, kind+".") })
	switch {
	case factor == nil:
		p.add(at, "no factor of this study varies a %s", map[string]string{KindSetting: "setting",
			KindServer: "server's parameter"}[kind])
		return true
	case len(others) > 0:
		p.add(at, "--set %s is there too, and one can be varied at a time", screen.Short(slices.Min(others)))
		return true
	case name == "" || text == "":
		p.add(at, "expected --set %s.NAME=LEVEL", kind)
		return true
	case text == Current:
		p.add(at, "%s is what there is already; name another level", Current)
		return true
	}
	word := func(s string) *value { return &value{at: at, kind: unstable.String, text: s} }
	factor.put(&entry{kind, at, word(name)})
	factor.put(&entry{"name", at, word(notName.ReplaceAllString(name, "_"))})
	factor.put(&entry{"levels", at, &value{at: at, kind: unstable.Array, list: []*value{word(Current), word(text)}}})
	factor.put(&entry{"baseline", at, word(Current)})
	return true
}

// notName is what the name of a factor cannot hold.
var notName = lazyre.New(`[^A-Za-z0-9_-]`)

// serverName is what servers call their parameters; one of an extension has a dot.
var serverName = lazyre.New(`^[A-Za-z_][A-Za-z0-9_$]*(\.[A-Za-z_][A-Za-z0-9_$]*)?$`)

// server checks a factor that is a parameter of the service's database server.
func (p *parser) server(f fields, x *Factor) {
	x.Server = get(f, "server", "")
	x.Target = x.Server
	switch {
	case !f.has("server"):
	case !serverName.MatchString(x.Server):
		p.add(f.place("server"), "%q is no name of a server's parameter", screen.Short(x.Server))
	case p.desc != nil && !p.desc.Live:
		p.add(f.place("server"), "factor %s is a parameter of a service that is watched, and workload %s watches none", x.Name,
			p.desc.Name)
	}
}

// current checks the level that is what there is.
func (p *parser) current(f fields, x *Factor) {
	if !slices.Contains(x.Levels, Current) || !slices.Contains(byName, x.Kind) {
		return
	}
	for _, other := range p.s.Factors {
		if slices.Contains(byName, other.Kind) && slices.Contains(other.Levels, Current) {
			p.add(f.place("levels"), "factor %s has the level %s, and factor %s too; only one factor of a study may have it",
				x.Name, Current, other.Name)
		}
	}
}
