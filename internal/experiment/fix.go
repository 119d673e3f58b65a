package experiment

import (
	"reflect"
	"slices"
	"time"

	"hostlab/internal/workload"
)

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
