package experiment

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"hostlab/internal/lazyre"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
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
	i := slices.IndexFunc(p.f.Factor, func(f FactorTable) bool { return *target(&f) != "" || p.over.live() })
	others := slices.DeleteFunc(slices.Collect(maps.Keys(p.over.Set)),
		func(k string) bool {
			other, _, _ := strings.Cut(k, ".")
			return k == key || other != kind && (!p.over.live() || !slices.Contains(byName, other))
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

// fix takes a factor out of the study whose parameter the command line gives.
func (p *parser) fix(parameter, value string) {
	for i := range p.f.Factor {
		if f := &p.f.Factor[i]; f.Parameter == parameter && f.Directories == nil {
			f.fixed = &value
		}
	}
}

// fixedAt is what the command line fixes a factor at; nil: it is varied.
func (p *parser) fixedAt(factor string) *string {
	i := slices.IndexFunc(p.f.Factor, func(f FactorTable) bool { return string(f.Name) == factor })
	if i < 0 {
		return nil
	}
	return p.f.Factor[i].fixed
}

// left takes out of a contrast the factors that are fixed; false: it compares something else.
func (p *parser) left(f *ContrastTable) bool {
	if slices.ContainsFunc(append(f.Interaction[:len(f.Interaction):len(f.Interaction)], f.Factor),
		func(name string) bool { return p.fixedAt(name) != nil }) {
		return false
	}
	for name, l := range f.At {
		switch value := p.fixedAt(name); {
		case value == nil:
		case *value != string(l):
			return false
		default:
			delete(f.At, name)
		}
	}
	return true
}

// What the command line sets beside tables of the file, among a study's Overrides.
const (
	SettleKey = "settle"
	QuickKey  = "quick"
)

// A study that the command line holds whole has CommandLine for its file, and decides by Printed where the number that
// its command prints last does.
const (
	CommandLine = "the command after --"
	Printed     = "printed"
)

// settle reads what is waited after every change of a level, in place of the study's.
func (p *parser) settle(text string, at place) {
	for i := range p.f.Factor {
		p.key(at, "factor", reflect.ValueOf(&p.f.Factor[i]).Elem(), SettleKey, workload.Typed(text))
	}
}

// A quick study of a service in use: its periods, as long as which its first pairs wait after a change, its looks, and
// when it ends.
const (
	quickPeriod = 5 * time.Second
	quickLook   = time.Second
	quickEnd    = 10 * time.Minute
)

// quick makes periods short.
func (p *parser) quick() {
	p.s.Overrides[QuickKey] = "true"
	at := place{source: "--quick"}
	live := slices.ContainsFunc(p.known.Workloads, func(w workload.Workload) bool {
		d := w.Describe()
		return d.Name == p.work.Name && d.Live
	})
	if !live {
		p.add(at, "it is for studies that watch a service in use, such as live-epp; this one runs its own work")
		return
	}
	for key, d := range map[string]time.Duration{"for": quickPeriod, "short": quickPeriod, lookEvery: quickLook} {
		if _, given := p.over.Set["workload."+key]; !given {
			p.f.Workload[key], p.set[key] = workload.Typed(d.String()), at
		}
	}
	if p.f.Harm != nil {
		p.f.Harm.Every = workload.Span{Duration: quickLook}
	}
	if b := &p.f.Study.Budget; b.Duration == 0 || b.Duration > quickEnd {
		b.Duration = quickEnd
	}
}

// Quick reports that periods are short, and says what that can show; "" where they are not.
func (s *Study) Quick() string {
	if s.Overrides[QuickKey] == "" {
		return ""
	}
	return "an effect that is there some seconds after a change, and is larger than the noise of 5 s; not one that takes " +
		"longer to come: run without --quick for that"
}
