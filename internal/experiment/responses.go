package experiment

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"hostlab/internal/result"
	"hostlab/internal/screen"
	"hostlab/internal/workload"
)

// scaled are units that people write, with the base unit and how many of it they
// are.
var scaled = map[string]struct {
	base string
	one  float64
}{
	"ms": {"s", 1e-3}, "us": {"s", 1e-6}, "µs": {"s", 1e-6}, "ns": {"s", 1e-9}, "min": {"s", 60}, "h": {"s", 3600},
	"sec": {"s", 1}, "seconds": {"s", 1},
	"kHz": {"Hz", 1e3}, "MHz": {"Hz", 1e6}, "GHz": {"Hz", 1e9},
	"KiB": {"B", 1 << 10}, "MiB": {"B", 1 << 20}, "GiB": {"B", 1 << 30}, "TiB": {"B", 1 << 40}, "kB": {"B", 1e3},
	"KB": {"B", 1e3}, "MB": {"B", 1e6}, "GB": {"B", 1e9}, "bytes": {"B", 1},
	"KiB/s": {"B/s", 1 << 10}, "MiB/s": {"B/s", 1 << 20}, "GiB/s": {"B/s", 1 << 30}, "kB/s": {"B/s", 1e3},
	"MB/s": {"B/s", 1e6}, "GB/s": {"B/s", 1e9},
	"/s": {"1/s", 1}, "ops/s": {"1/s", 1}, "tps": {"1/s", 1}, "qps": {"1/s", 1}, "req/s": {"1/s", 1}, "k/s": {"1/s", 1e3},
	"mJ": {"J", 1e-3}, "kJ": {"J", 1e3}, "mW": {"W", 1e-3}, "kW": {"W", 1e3}, "percent": {"%", 1},
}

// direction is what is good where the study does not say, by unit; of others it
// has to say.
var direction = map[string]string{"s": "lower", "B": "lower", "J": "lower", "W": "lower", "1/s": "higher",
	"B/s": "higher"}

const defaultMargin = 0.02

// EmulatedCPU is a response of every workload whose processes are slowed down by an
// emulated policy: the CPU time that they had, divided by the speed they had it at. A
// process that is kept from its CPU is not billed for that; on a slow clock it is.
// EmulatedEach is that by operation, for workloads that do as many as they come to;
// EmulatedExtra is the thread-seconds for which they were really kept from their CPUs
// while they had work, as measured: two threads kept for 1 s are 2 s; 0 at full speed.
const (
	EmulatedCPU   = "emulated_cpu_s"
	EmulatedEach  = "emulated_cpu_op_s"
	EmulatedExtra = "emulated_throttled_s"
)

// Energy and EnergyEach are responses of every workload: what the CPU packages used
// in a run, as the runner reads it, and that by operation, which of workload dialog
// is a step. A study that names no response does not have them.
const (
	Energy     = "energy_j"
	EnergyEach = "energy_op_j"
)

func (p *parser) responses() {
	list := p.f.Response
	if p.desc == nil {
		return
	}
	with := *p.desc
	p.desc, with.Responses = &with, slices.Clip(with.Responses)
	if len(list) > 0 {
		with.Responses = append(with.Responses,
			workload.Response{Name: Energy, Title: "Energy of the CPU packages, others on the host included", Unit: "J",
				Better: "lower"},
			workload.Response{Name: EnergyEach, Title: "Energy of the CPU packages per operation, others on the host included",
				Unit: "J", Better: "lower"})
	}
	if slices.ContainsFunc(p.s.Factors, func(f Factor) bool { return f.Kind == KindEmulated }) {
		with.Responses = append(with.Responses,
			workload.Response{Name: EmulatedCPU, Title: "CPU time of the workload's processes at the emulated clock", Unit: "s",
				Better: "lower"},
			workload.Response{Name: EmulatedExtra, Title: "Throttled time of the workload's processes, as measured", Unit: "s",
				Better: "lower"},
			workload.Response{Name: EmulatedEach,
				Title: "CPU time of the workload's processes at the emulated clock, per operation", Unit: "s", Better: "lower"})
	}
	if len(list) == 0 {
		p.allResponses()
		return
	}
	says := slices.ContainsFunc(list, func(f ResponseTable) bool { return f.Primary != nil })
	seen := map[string]bool{}
	for i := range list {
		f := &list[i]
		r := Response{Scale: or(f.Scale, 1), From: f.From}
		r.Name, r.Title, r.Unit, r.Better, r.Primary = string(f.Name), f.Title, string(or(f.Unit, "")), f.Better,
			or(f.Primary, !says && i == 0)
		if seen[r.Name] {
			p.add(p.responseAt(i, "name"), "response %s is there already", r.Name)
			continue
		}
		seen[r.Name] = true
		p.source(i, &r)
		if r.Scale == 0 || math.IsNaN(r.Scale) {
			p.add(p.responseAt(i, "scale"), "scale cannot be 0")
		}
		p.margin(i, &r)
		p.s.Responses = append(p.s.Responses, r)
	}
	if !slices.ContainsFunc(p.s.Responses, func(r Response) bool { return r.Primary }) && len(p.list) == 0 {
		p.add(p.responseAt(0, ""), "no response is primary: nothing would decide")
	}
}

func (p *parser) responseAt(i int, key string) place { return p.at("response", i, key) }

// allResponses takes those that the workload has.
func (p *parser) allResponses() {
	if len(p.desc.Responses) == 0 {
		p.add(p.whole(), "no [[response]], and workload %s has none of its own", p.desc.Name)
	}
	for i, w := range p.desc.Responses {
		if w.Name == EmulatedExtra {
			continue // 0 at full speed, of which there is no ratio
		}
		p.s.Responses = append(p.s.Responses, Response{From: w.Name, Scale: 1,
			Response: result.Response{Name: w.Name, Title: w.Title, Unit: w.Unit,
				Better: w.Better, Compare: result.Ratio, Margin: defaultMargin, Primary: i == 0}})
	}
}

// source finds where a response comes from, and fills in what that tells.
func (p *parser) source(i int, r *Response) {
	f := &p.f.Response[i]
	var names []string
	all := map[string]*workload.Response{}
	for k, w := range p.desc.Responses {
		names = append(names, w.Name)
		all[w.Name] = &p.desc.Responses[k]
	}
	own := all[r.Name]
	if p.divided(i, r, names, own != nil) {
		return
	}
	switch {
	case r.From == "" && own == nil:
		also := ""
		if p.desc.Picks {
			also = ", and without from it is nowhere to be found"
		}
		p.addHint(p.responseAt(i, "name"), screen.Meant(r.Name, names),
			"response %s: workload %s has none of that name%s; it has %s",
			r.Name, p.desc.Name, also, strings.Join(names, ", "))
	case r.From != "" && !p.desc.Picks && r.From != r.Name:
		p.add(p.responseAt(i, "from"), "workload %s prints nothing that from could pick; only commands do", p.desc.Name)
	case r.From != "" && own != nil && r.From != r.Name:
		p.add(p.responseAt(i, "name"), "response %s: the workload has one of its own by that name; choose another", r.Name)
	case r.From == "" || own != nil:
		r.From = r.Name
		if r.Scale != 1 {
			p.add(p.responseAt(i, "scale"), "response %s is the workload's own, which is in %s already", r.Name,
				unitName(own.Unit))
		}
		if f.Unit != nil && r.Unit != own.Unit {
			p.add(p.responseAt(i, "unit"), "response %s is in %s", r.Name, unitName(own.Unit))
		}
		if r.Better != "" && r.Better != own.Better && own.Better != "" {
			p.add(p.responseAt(i, "better"), "response %s: %s is better", r.Name, own.Better)
		}
		r.Unit, r.Better, r.Title = own.Unit, own.Better, cmp.Or(r.Title, own.Title)
	default:
		p.picked(i, r, all[r.From])
	}
}

// divided takes a response that is one divided by another, and reports whether r is one.
func (p *parser) divided(i int, r *Response, own []string, taken bool) bool {
	from, over, ok := strings.Cut(r.From, " / ")
	if !ok || strings.Contains(from, ":") { // a path or an expression
		return false
	}
	r.From, r.Over = strings.TrimSpace(from), strings.TrimSpace(over)
	known := slices.Clone(own)
	for _, other := range p.s.Responses {
		if other.Over == "" && !slices.Contains(known, other.Name) {
			known = append(known, other.Name)
		}
	}
	for _, name := range []string{r.From, r.Over} {
		if !slices.Contains(known, name) {
			p.addHint(p.responseAt(i, "from"), screen.Meant(name, known),
				"response %s: there is no %q to divide; there are %s", r.Name,
				name, strings.Join(known, ", "))
		}
	}
	if taken {
		p.add(p.responseAt(i, "name"), "response %s: the workload has one of its own by that name; choose another", r.Name)
	}
	p.picked(i, r, nil)
	return true
}

// picked completes a response that is picked from output, or, with like, from what
// is measured of the process.
func (p *parser) picked(i int, r *Response, like *workload.Response) {
	f := &p.f.Response[i]
	if like != nil {
		if f.Unit != nil && r.Unit != like.Unit && r.Scale == 1 {
			p.add(p.responseAt(i, "unit"), "%s is in %s", r.From, unitName(like.Unit))
		}
		if f.Unit == nil {
			r.Unit = like.Unit
		}
		r.Better, r.Title = cmp.Or(r.Better, like.Better), cmp.Or(r.Title, like.Title)
		return
	}
	if f.Unit == nil {
		p.add(p.responseAt(i, "name"),
			"response %s needs its unit: one of s, Hz, B, 1/s, B/s, J, W, ratio, %%, or \"\" for a "+
				"plain number", r.Name)
	}
	if r.Better == "" {
		if r.Better = direction[r.Unit]; r.Better == "" && f.Unit != nil {
			p.add(p.responseAt(i, "name"), "response %s needs better = \"lower\" or \"higher\"", r.Name)
		}
	}
}

func unitName(u string) string { return cmp.Or(u, "a plain number") }

// unitHint says what to write in place of a unit that is no base unit.
func unitHint(u string) string {
	s, ok := scaled[u]
	if !ok {
		return ""
	}
	if s.one == 1 {
		return strconv.Quote(s.base)
	}
	return strconv.Quote(s.base) + " with scale = " + strconv.FormatFloat(s.one, 'f', -1, 64)
}

// margin reads equiv and compare.
func (p *parser) margin(i int, r *Response) {
	f := &p.f.Response[i]
	r.Compare, r.Margin = result.Ratio, defaultMargin
	compare, equiv, at := f.Compare, strings.TrimSpace(string(f.Equiv)), p.responseAt(i, "equiv")
	if equiv == "" {
		if compare == result.Difference {
			p.add(p.responseAt(i, "compare"), "a difference needs equiv, the smallest that matters, in %s", unitName(r.Unit))
		}
		r.Compare = cmp.Or(compare, result.Ratio)
		return
	}
	number, percent := strings.CutSuffix(equiv, "%")
	if percent && (compare != result.Difference || r.Unit != "%") {
		x, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		switch {
		case err != nil || math.IsNaN(x):
			p.add(at, "equiv: %q is no share; write it as \"2%%\"", screen.Short(equiv))
		case compare == result.Difference:
			p.add(at, "equiv: %q is a share, and compare is difference; give it in %s", screen.Short(equiv), unitName(r.Unit))
		case x <= 0:
			p.add(at, "equiv: %q: the smallest effect that matters is above 0", screen.Short(equiv))
		case x < 0.01 || x >= 100:
			p.add(at, "equiv: %q: expected 0.01%% to 99%%", screen.Short(equiv))
		default:
			r.Margin = x / 100
		}
		return
	}
	r.Compare = result.Difference
	x, ok := amount(strings.TrimSpace(equiv), r.Unit)
	switch {
	case compare == result.Ratio:
		p.addHint(at, shareHint(equiv), "equiv: %q is a difference, and compare is ratio", screen.Short(equiv))
	case !ok:
		p.add(at, "equiv: %q is neither a share such as \"2%%\" nor an amount of %s", screen.Short(equiv), unitName(r.Unit))
	case x <= 0:
		p.add(at, "equiv: %q: the smallest effect that matters is above 0", screen.Short(equiv))
	case compare == "" && !strings.ContainsFunc(equiv, func(r rune) bool { return unicode.IsLetter(r) || r == '%' }) &&
		r.Unit != "":
		// 0.02 may be meant as 2 % or as 20 ms.
		p.addHint(at, shareHint(equiv), "equiv: %s says no unit; write a share such as \"2%%\", or an amount with its unit",
			screen.Short(equiv))
	default:
		r.Margin = x
	}
}

// shareHint writes a plain fraction as a share.
func shareHint(s string) string {
	if x, err := strconv.ParseFloat(s, 64); err == nil && x > 0 && x < 1 {
		return strconv.Quote(strconv.FormatFloat(x*100, 'g', 6, 64) + "%")
	}
	return ""
}

// amount reads a number with a unit, or without one, in a base unit.
func amount(s, unit string) (float64, bool) {
	if x, err := strconv.ParseFloat(s, 64); err == nil {
		return x, !math.IsInf(x, 0) && !math.IsNaN(x)
	}
	end := strings.LastIndexAny(s, "0123456789.") + 1
	if i := strings.LastIndex(s, "1/s"); i > 0 && unit == "1/s" { // whose 1 is no digit of the number
		end = i
	}
	x, err := strconv.ParseFloat(strings.TrimSpace(s[:end]), 64)
	if err != nil || math.IsInf(x, 0) || math.IsNaN(x) {
		return 0, false
	}
	name := strings.TrimSpace(s[end:])
	if name == unit {
		return x, true
	}
	u, ok := scaled[name]
	return x * u.one, ok && u.base == unit
}
