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
	{"emulate", KindEmulated, []string{"floor"}, "an emulated policy is in force at once"},
	{"server", KindServer, nil, "hostlab changes it while the server runs"},
	{"apply", KindCommands, []string{"read", "restore"}, ""},
	{"manual", KindManual, []string{"read"}, ""},
}

// Changes reports whether a factor changes something outside of the workload. Parameters and
// emulated policies do not: they end with the workload.
func (f *Factor) Changes() bool { return f.Kind != KindParameter && f.Kind != KindEmulated }

func (p *parser) factorAt(i int, key string) place {
	if from := p.f.Factor[i].from; from != "" {
		return place{source: from}
	}
	return p.at("factor", i, key)
}

func (p *parser) factors() {
	if len(p.f.Factor) == 0 {
		p.add(p.whole(), "no [[factor]]: a study varies at least one")
	}
	seen := map[string]bool{}
	for i := range p.f.Factor {
		f := &p.f.Factor[i]
		if f.fixed != nil {
			continue
		}
		x := Factor{Settle: p.washout(), Unsettled: p.live() && f.Settle == nil,
			Timeout: cmp.Or(f.Timeout.Duration, time.Minute)}
		if f.Settle != nil {
			x.Settle = f.Settle.Duration
		}
		x.Name = string(f.Name)
		p.levels(i, &x)
		p.way(i, &x)
		if seen[x.Name] { // it is no factor, but what else is wrong with it is worth telling
			p.add(p.factorAt(i, "name"), "factor %s is there already", x.Name)
			continue
		}
		seen[x.Name] = true
		p.s.Factors = append(p.s.Factors, x)
	}
	if len(p.s.Factors) == 0 && len(p.list) == 0 {
		p.add(p.whole(), "--set gives the parameter of each factor, so that nothing is left to vary")
	}
	p.strayLevels()
}

func (p *parser) levels(i int, x *Factor) {
	f := &p.f.Factor[i]
	for _, l := range f.Levels {
		if slices.Contains(x.Levels, string(l)) {
			p.add(p.factorAt(i, "levels"), "level %q is there twice", l)
			continue
		}
		x.Levels = append(x.Levels, string(l))
	}
	if len(x.Levels) == 1 {
		p.add(p.factorAt(i, "levels"), "factor %s has one level only; an effect is a difference between two", x.Name)
	}
	x.Baseline = f.baseline()
	if !slices.Contains(x.Levels, x.Baseline) {
		p.addHint(p.factorAt(i, "baseline"), nearLevel(x.Baseline, x.Levels), "baseline %q is no level of factor %s: %s",
			x.Baseline, x.Name, strings.Join(x.Levels, ", "))
		x.Baseline = x.Levels[0]
	}
}

// baseline is the first level unless given.
func (f *FactorTable) baseline() string {
	if f.Baseline == "" && len(f.Levels) > 0 {
		return string(f.Levels[0])
	}
	return string(f.Baseline)
}

// has reports whether a key of those that only some factors have is given.
func (f *FactorTable) has(key string) bool {
	return map[string]bool{"setting": f.Setting != "", "parameter": f.Parameter != "", "emulate": f.Emulate != "",
		"server": f.Server != "",
		"apply":  f.Apply != nil, "manual": f.Manual != "", "directories": f.Directories != nil, "floor": f.Floor != nil,
		"read": f.Read != nil, "restore": f.Restore != nil}[key]
}

// way finds how a factor is changed, and checks the keys that belong to it.
func (p *parser) way(i int, x *Factor) {
	f := &p.f.Factor[i]
	var have []string
	var how way
	for _, w := range ways {
		if f.has(w.key) {
			have, how = append(have, w.key), w
		}
	}
	if len(have) != 1 {
		at, says := p.factorAt(i, "name"), "does not say how it is varied"
		if len(have) > 1 {
			at, says = p.factorAt(i, have[1]), "is varied by "+strings.Join(have, " and ")
		}
		p.add(at, "%s %s; give one of setting, parameter, server, emulate, apply, manual",
			strings.TrimSpace("factor "+x.Name), says)
		x.Change = result.Online
		return
	}
	change := result.Online
	if x.Kind = how.kind; x.Kind == KindManual {
		change = result.Manual
	}
	x.Change = cmp.Or(f.Change, change)
	if how.atOnce != "" && x.Change.WholePlot() {
		p.add(p.factorAt(i, "change"), "change = %q: %s", x.Change, how.atOnce)
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
			p.add(p.factorAt(i, key), "%s belongs to %s, not to %s", key, strings.Join(of, " and "), how.key)
		}
	}
	x.Read, x.Restore = plain(f.Read), plain(f.Restore)
	switch x.Kind {
	case KindSetting:
		p.setting(i, x)
		p.current(i, x)
	case KindServer:
		p.server(i, x)
		p.current(i, x)
	case KindParameter:
		x.Parameter = f.Parameter
		p.parameter(i, x)
	case KindEmulated:
		x.Emulate = &Emulation{Floor: float64(or(f.Floor, 0.5))}
		p.emulated(i, x)
	case KindCommands:
		x.Apply = plain(f.Apply)
		p.commands(i, x)
	case KindManual:
		x.Manual = f.Manual
		if !strings.Contains(x.Manual, "{level}") {
			p.add(p.factorAt(i, "manual"), "manual holds {level} nowhere, so that nobody knew which level to set")
		}
		if !x.Change.WholePlot() {
			p.add(p.factorAt(i, "change"), "change = %q: a person changes it, so change is manual or reboot", x.Change)
		}
	}
}

// plain are arguments as a command takes them.
func plain(list []argument) (out []string) {
	for _, a := range list {
		out = append(out, string(a))
	}
	return out
}

// nearLevel is the level that was perhaps meant. One number is not a slip for
// another.
func nearLevel(s string, levels []string) string {
	if !strings.ContainsFunc(s, unicode.IsLetter) {
		return ""
	}
	return screen.Meant(s, levels)
}

func (p *parser) setting(i int, x *Factor) {
	name, err := p.known.Setting(p.f.Factor[i].Setting)
	if err != nil {
		p.add(p.factorAt(i, "setting"), "%s", err)
		return
	}
	x.Setting, x.Target = name, name
}

// emulated checks a factor whose levels are power policies.
func (p *parser) emulated(i int, x *Factor) {
	for _, other := range p.s.Factors {
		if other.Kind == KindEmulated {
			p.add(p.factorAt(i, "emulate"), "factor %s emulates the clock already, and there is one", other.Name)
		}
	}
	for _, l := range x.Levels {
		if err := p.known.Policy(l, x.Emulate.Floor); err != nil {
			p.add(p.factorAt(i, "levels"), "level %q: %s", l, err)
		}
	}
	if p.s.Evidence != result.Emulated {
		p.add(p.factorAt(i, "emulate"),
			"factor %s imitates a clock, and this study says that it measures this host's own; write evidence "+
				"= \"emulated\" under [study]", x.Name)
	}
}

func (p *parser) commands(i int, x *Factor) {
	if !holds(x.Apply, "level") {
		p.add(p.factorAt(i, "apply"),
			"apply holds {level} nowhere, so that it would do the same for all levels of factor %s", x.Name)
	}
	if x.Read == nil {
		switch {
		case holds(x.Apply, "original") || holds(x.Restore, "original"):
			p.add(p.factorAt(i, "apply"), "{original} is what read printed, and factor %s has no read", x.Name)
		case x.Restore == nil:
			p.add(p.factorAt(i, "apply"),
				"factor %s has neither read nor restore, so that hostlab could not put back what was", x.Name)
		}
	}
}

// parameter checks a factor that is a parameter of the workload, or a {name} in a
// command's arguments.
func (p *parser) parameter(i int, x *Factor) {
	if p.desc == nil || x.Parameter == "" {
		return
	}
	param, ok := p.desc.Param(x.Parameter)
	if !ok {
		p.placeholder(i, x)
		return
	}
	if p.f.Factor[i].Directories != nil {
		p.directories(i, x, param)
		return
	}
	same, at := map[string]string{}, p.factorAt(i, "levels")
	for _, l := range x.Levels {
		canonical, err := param.Canonical(p.desc.Params, l)
		if err != nil {
			p.params(err, nil, at)
			continue
		}
		if first, twice := same[canonical]; twice {
			p.add(at, "level %q is the same as %q", l, first)
			continue
		}
		same[canonical] = l
		if l != x.Baseline { // which is checked with the rest of the workload
			p.varied = append(p.varied, variant{x.Parameter, l, at})
		}
	}
}

// placeholder checks a factor that is no parameter of its own.
func (p *parser) placeholder(i int, x *Factor) {
	at := p.factorAt(i, "parameter")
	names := paramNames(*p.desc)
	if !p.desc.Picks { // only commands have arguments that hold names
		p.addHint(at, screen.Meant(x.Parameter, names), "workload %s has no parameter %s; it has %s", p.desc.Name,
			screen.Short(x.Parameter), cmp.Or(strings.Join(names, ", "), "none"))
		return
	}
	used := func(name string) bool {
		params := p.s.Workload.Params
		return params == nil || // cannot tell
			slices.ContainsFunc(p.desc.List(), func(of workload.Param) bool {
				return strings.Contains(of.Text(params), "{"+name+"}")
			})
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
		text := fmt.Sprintf(
			"no argument and no variable of the command holds {%s}, so that all levels of factor %s would do the same",
			x.Parameter, x.Name)
		p.addHint(at, screen.Meant(x.Parameter, names), "%s", text)
	}
}
