package experiment

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// live reports whether the workload watches a service that others use.
func (p *parser) live() bool { return p.desc != nil && p.desc.Live }

// washout is what is waited after a change where the study does not say.
func (p *parser) washout() time.Duration {
	switch {
	case !p.live():
		return 0
	case p.over.Quick:
		return quickPeriod
	}
	return PilotWashout
}

// switchback checks what pairs of periods ask of a study.
func (p *parser) switchback() {
	d := &p.s.Design
	if d.AA > 0 {
		p.add(p.at("study", 0, "aa"), "aa = %d, but a service in use has no runs beside its pairs of periods; take it out",
			d.AA)
	}
	for i := range p.s.Factors {
		x := &p.s.Factors[i]
		switch n := len(x.Levels); {
		case i > 0:
			p.add(p.whole(), "a switchback compares one level with the baseline, and there is a second factor, %s; take it out",
				x.Name)
		case n > 2:
			p.add(p.whole(), "a switchback compares one level with the baseline, and factor %s has %s beside it; leave one",
				x.Name, screen.Count(n-1, "level"))
		case x.Change != result.Online:
			p.add(p.whole(),
				"factor %s has change = %q, and the service of a switchback keeps running; only what changes at once can "+
					"be tried on it", x.Name, x.Change)
		}
	}
	p.load()
}

// load checks the response that stands for what is asked of the service.
func (p *parser) load() {
	d := &p.s.Design
	if d.Load = p.f.Design.Load; d.Load == "" {
		return
	}
	var names []string
	for _, r := range p.s.Responses {
		names = append(names, r.Name)
	}
	i := slices.Index(names, d.Load)
	switch {
	case i < 0:
		p.addHint(p.designAt("load"), screen.Meant(d.Load, names), "load: the study has no response %q; it has %s",
			screen.Short(d.Load), strings.Join(names, ", "))
	case p.s.Responses[i].Primary:
		p.add(p.designAt("load"),
			"load: %s decides, and what it is adjusted for would be its own effect; name another response",
			d.Load)
	}
}

// harmed are the responses that a switchback watches unless its study says which.
var harmed = []string{"latency_p99", "latency", "elapsed_per_transaction", "cpu_per_transaction"}

// lookEvery is the parameter of a workload that watches a service by which it has a look.
const lookEvery = "every"

// harm reads [harm]. A switchback of work that hostlab does itself harms nobody, and has no looks.
func (p *parser) harm() {
	if p.desc == nil {
		return
	}
	if p.s.Design.Kind != result.Switchback || !p.live() {
		if p.f.Harm != nil {
			p.add(p.at("harm", 0, ""),
				"[harm] watches a service that others use, and workload %s does its own work; take it out", p.desc.Name)
		}
		return
	}
	f := cmp.Or(p.f.Harm, &HarmTable{})
	h := &Harm{Above: cmp.Or(float64(f.Above), 0.4), Strikes: or(f.Strikes, 2),
		Every: cmp.Or(f.Every.Duration, 10*time.Second)}
	if every, ok := workload.Value(p.s.Workload.Params, lookEvery).(workload.Span); ok {
		if f.Every.Duration > 0 {
			p.s.Workload.Params, _ = workload.With(p.s.Workload.Params, lookEvery, h.Every.String()) // both take 1 s to 10 min
		} else {
			h.Every = every.Duration
		}
	}
	better, units := map[string]string{}, map[string]string{}
	for _, r := range p.desc.Responses {
		better[r.Name], units[r.Name] = r.Better, r.Unit
	}
	for _, r := range p.s.Responses {
		better[r.Name], units[r.Name] = r.Better, r.Unit
		if slices.Contains(harmed, r.Name) && f.Responses == nil {
			h.Responses = append(h.Responses, r.Name)
		}
	}
	at := p.at("harm", 0, "responses")
	for _, w := range f.Responses {
		way, known := better[w]
		switch {
		case !known:
			p.addHint(at, screen.Meant(w, slices.Sorted(maps.Keys(better))),
				"[harm] watches %s, and neither the study nor workload %s has it", screen.Short(w), p.desc.Name)
		case way == "higher":
			p.add(at, "[harm] watches %s, of which more is better; harm is what rises", w)
		case slices.Contains(h.Responses, w):
			p.add(at, "responses: %s is there twice", w)
		default:
			h.Responses = append(h.Responses, w)
		}
	}
	h.Limits = slices.Repeat([]float64{math.NaN()}, len(h.Responses))
	at = p.at("harm", 0, "limit")
	for _, name := range slices.Sorted(maps.Keys(f.Limit)) {
		i, text := slices.Index(h.Responses, name), strings.TrimSpace(string(f.Limit[name]))
		v, ok := amount(text, units[name])
		_, unit := strconv.ParseFloat(text, 64) // an error: there is one
		switch {
		case i < 0:
			p.addHint(at, screen.Meant(name, h.Responses), "limit: [harm] does not watch %s; it watches %s",
				screen.Short(name), strings.Join(h.Responses, ", "))
		case units[name] == "s" && unit == nil: // who means ms would get a limit that nothing exceeds
			p.add(at, "limit: %q has no unit; write %[1]sms or %[1]ss", screen.Short(text))
		case !ok || v <= 0:
			p.add(at, "limit: %q is no amount of %s above 0", screen.Short(text), unitName(units[name]))
		default:
			h.Limits[i] = v
		}
	}
	if len(h.Responses) == 0 && len(p.list) == 0 {
		p.add(p.whole(),
			"nothing would say that the service is harmed: the study has none of %s; name a response in [harm] responses",
			strings.Join(harmed, ", "))
	}
	for _, block := range []int{0, math.MaxInt} { // the first periods are short
		if t := p.s.Paced(block); t > 0 && t < h.Every && len(p.list) == 0 {
			p.add(p.whole(),
				"a period of %s is shorter than a look of %s, so that harm would not be seen; make periods longer or looks "+
					"shorter", t, h.Every)
		}
	}
	p.s.Harm = h
}

// Paced returns how long a run of a block takes, counted from 0, where the workload knows; else 0.
func (s *Study) Paced(block int) time.Duration {
	if s.Work == nil {
		return 0
	}
	return s.Work.Takes(s.Workload.Params, block)
}
