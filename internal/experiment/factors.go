package experiment

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// The kinds of factors, as records have them.
const (
	KindSetting   = "setting"
	KindParameter = "parameter"
	KindCommands  = "commands"
	KindManual    = "manual"
	KindEmulated  = "emulated"
	KindServer    = "server"
)

// way is how a factor changes.
type way struct {
	key, kind string
	own       []string // keys that belong to it
	atOnce    string   // why it takes neither a boot nor a person
}

// ways are those of which a factor has exactly one.
var ways = []way{
	{"setting", KindSetting, nil, "hostlab changes a setting at once; change is online or restart-workload"},
	{"parameter", KindParameter, []string{"directories"}, "a parameter of the workload needs no reboot and no person"},
	{"emulate", KindEmulated, []string{"floor", "slice", "method"}, "an emulated policy is in force at once"},
	{"server", KindServer, nil, "hostlab changes it while the server runs"},
	{"apply", KindCommands, []string{"read", "restore"}, ""},
	{"manual", KindManual, []string{"read"}, ""},
}

// Changes reports whether a factor changes something outside of the workload. Parameters and
// emulated policies do not: they end with the workload.
func (f *Factor) Changes() bool { return f.Kind != KindParameter && f.Kind != KindEmulated }

func (p *parser) factors(list []fields) {
	if len(list) == 0 {
		p.add(p.whole(), "no [[factor]]: a study varies at least one")
	}
	seen := map[string]place{}
	for _, f := range list {
		x := Factor{Settle: get(f, "settle", p.washout()), Unsettled: p.live() && !f.has("settle"),
			Timeout: get(f, "timeout", time.Minute)}
		x.Name = get(f, "name", "")
		if first, twice := seen[x.Name]; twice && x.Name != "" {
			p.add(f.place("name"), "factor %s is there already, in line %d", x.Name, first.line)
			p.levels(f, &x) // it is no factor, but what else is wrong with it is worth telling
			p.way(f, &x)
			continue
		}
		seen[x.Name] = f.place("name")
		p.levels(f, &x)
		p.way(f, &x)
		p.s.Factors = append(p.s.Factors, x)
	}
	p.strayLevels()
}

func (p *parser) levels(f fields, x *Factor) {
	given := list[string](f, "levels")
	for _, l := range given {
		if slices.Contains(x.Levels, l.v) {
			p.add(l.at, "level %q is there twice", l.v)
			continue
		}
		x.Levels = append(x.Levels, l.v)
	}
	switch len(x.Levels) {
	case 0:
		return
	case 1:
		p.add(given[0].at, "factor %s has one level only; an effect is a difference between two", x.Name)
	}
	x.Baseline = get(f, "baseline", x.Levels[0])
	if !slices.Contains(x.Levels, x.Baseline) {
		p.addHint(f.place("baseline"), nearLevel(x.Baseline, x.Levels), "baseline %q is no level of factor %s: %s",
			x.Baseline, x.Name, strings.Join(x.Levels, ", "))
		x.Baseline = x.Levels[0]
	}
}

// way finds how a factor is changed, and checks the keys that belong to it.
func (p *parser) way(f fields, x *Factor) {
	var have []string
	var how way
	for _, w := range ways {
		if f.present(w.key) {
			have, how = append(have, w.key), w
		}
	}
	if len(have) != 1 {
		at, says := f.place("name"), "does not say how it is varied"
		if len(have) > 1 {
			at, says = f.place(have[1]), "is varied by "+strings.Join(have, " and ")
		}
		p.add(at, "%s %s; give one of setting, parameter, server, emulate, apply, manual", strings.TrimSpace("factor "+x.Name),
			says)
		x.Change = result.Online
		return
	}
	change := result.Online
	if x.Kind = how.kind; x.Kind == KindManual {
		change = result.Manual
	}
	x.Change = result.Change(get(f, "change", string(change)))
	if how.atOnce != "" && x.Change.WholePlot() {
		p.add(f.place("change"), "change = %q: %s", x.Change, how.atOnce)
		x.Change = result.Online
	}
	owners := map[string][]string{}
	for _, w := range ways {
		for _, key := range w.own {
			owners[key] = append(owners[key], w.key)
		}
	}
	for key, of := range owners {
		if f.has(key) && !slices.Contains(of, how.key) {
			p.add(f.place(key), "%s belongs to %s, not to %s", key, strings.Join(of, " and "), how.key)
		}
	}
	x.Read, x.Restore = arguments(f, "read"), arguments(f, "restore")
	switch x.Kind {
	case KindSetting:
		x.Setting = get(f, "setting", "")
		p.setting(f, x)
		p.current(f, x)
	case KindServer:
		p.server(f, x)
		p.current(f, x)
	case KindParameter:
		x.Parameter = get(f, "parameter", "")
		p.parameter(f, x)
	case KindEmulated:
		x.Emulate = &Emulation{Floor: get(f, "floor", 0.5), Slice: get(f, "slice", time.Duration(0)),
			Method: get(f, "method", "auto")}
		p.emulated(f, x)
	case KindCommands:
		x.Apply = arguments(f, "apply")
		p.commands(f, x)
	case KindManual:
		x.Manual = get(f, "manual", "")
		if f.has("manual") && !strings.Contains(x.Manual, "{level}") {
			p.add(f.place("manual"), "manual holds {level} nowhere, so that nobody knew which level to set")
		}
		if !x.Change.WholePlot() {
			p.add(f.place("change"), "change = %q: a person changes it, so change is manual or reboot", x.Change)
		}
	}
}

// nearLevel is the level that was perhaps meant. One number is not a slip for
// another.
func nearLevel(s string, levels []string) string {
	if !strings.ContainsFunc(s, unicode.IsLetter) {
		return ""
	}
	return screen.Meant(s, levels)
}

func arguments(f fields, key string) []string { return get(f, key, []string(nil)) }

func (p *parser) setting(f fields, x *Factor) {
	if !f.has("setting") {
		return
	}
	name, err := p.known.Setting(x.Setting)
	if err != nil {
		p.add(f.place("setting"), "%s", err)
		return
	}
	x.Setting, x.Target = name, name
}

// emulated checks a factor whose levels are power policies.
func (p *parser) emulated(f fields, x *Factor) {
	for _, other := range p.s.Factors {
		if other.Kind == KindEmulated {
			p.add(f.place("emulate"), "factor %s emulates the clock already, and there is one", other.Name)
		}
	}
	for _, l := range list[string](f, "levels") {
		if err := p.known.Policy(l.v, x.Emulate.Floor); err != nil {
			p.add(l.at, "level %q: %s", l.v, err)
		}
	}
	if p.s.Evidence != result.Emulated {
		p.add(f.place("emulate"), "factor %s imitates a clock, and this study says that it measures this host's own; write evidence "+
			"= \"emulated\" under [study]", x.Name)
	}
}

func (p *parser) commands(f fields, x *Factor) {
	if x.Apply == nil {
		return // reported already
	}
	if !holds(x.Apply, "level") {
		p.add(f.place("apply"), "apply holds {level} nowhere, so that it would do the same for all levels of factor %s", x.Name)
	}
	if x.Read == nil && !f.wrong("read") {
		switch {
		case holds(x.Apply, "original") || holds(x.Restore, "original"):
			p.add(f.place("apply"), "{original} is what read printed, and factor %s has no read", x.Name)
		case x.Restore == nil && !f.wrong("restore"):
			p.add(f.place("apply"), "factor %s has neither read nor restore, so that hostlab could not put back what was", x.Name)
		}
	}
}

// parameter checks a factor that is a parameter of the workload, or a {name} in a
// command's arguments.
func (p *parser) parameter(f fields, x *Factor) {
	if p.desc == nil || x.Parameter == "" {
		return
	}
	param, ok := p.desc.Param(x.Parameter)
	if !ok {
		p.placeholder(f, x)
		return
	}
	if f.has("directories") {
		p.directories(f, x, param)
		return
	}
	same := map[string]string{}
	for _, l := range list[string](f, "levels") {
		v, err := workload.ParseText(param, l.v)
		if err != nil {
			p.paramErrors(err, map[string]place{param.Name: l.at}, l.at)
			continue
		}
		canonical := workload.Text(param, v)
		if first, twice := same[canonical]; twice && first != l.v {
			p.add(l.at, "level %q is the same as %q", l.v, first)
			continue
		}
		same[canonical] = l.v
		if l.v != x.Baseline { // which is checked with the rest of the workload
			p.varied = append(p.varied, variant{x.Parameter, v, l.at})
		}
	}
}

// placeholder checks a factor that is no parameter of its own.
func (p *parser) placeholder(f fields, x *Factor) {
	at := f.place("parameter")
	names := paramNames(*p.desc)
	if !p.desc.Picks { // only commands have arguments that hold names
		p.addHint(at, screen.Meant(x.Parameter, names), "workload %s has no parameter %s; it has %s", p.desc.Name,
			screen.Short(x.Parameter), cmp.Or(strings.Join(names, ", "), "none"))
		return
	}
	used := func(name string) bool {
		for _, v := range p.s.Workload.Params {
			if holds(v, name) {
				return true
			}
		}
		return p.s.Workload.Params == nil // cannot tell
	}
	switch {
	case x.Name == "":
	case used(x.Name):
		if x.Parameter != x.Name {
			p.add(at, "the arguments hold the factor by its name, {%s}; write parameter = %q", x.Name, x.Name)
		}
	case used(x.Parameter):
		p.add(at, "the arguments hold {%s}, and the factor is %s; give both the same name", x.Parameter, x.Name)
	default:
		text := fmt.Sprintf("no argument and no variable of the command holds {%s}, so that all levels of factor %s would do the same",
			x.Parameter, x.Name)
		p.addHint(at, screen.Meant(x.Parameter, names), "%s", text)
	}
}
