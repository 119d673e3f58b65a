package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

type rule int

const (
	ruleNone         rule = iota // the zero Policy
	ruleTop                      // always the highest state allowed
	ruleFloor                    // always the lowest state allowed
	ruleHertz                    // a frequency given
	ruleWindows                  // thresholds and counts of check intervals
	ruleOndemand                 // jump above a threshold, else in proportion
	ruleConservative             // steps
	ruleSchedutil                // tracked utilisation, at scheduling events
	ruleIntelPstate              // in proportion to the busy share, at intervals
	ruleHardware                 // HWP, CPPC
)

// Where parameters' values come from.
const (
	msDocs    = "Microsoft, processor power management tuning (Windows Server)"
	msUnknown = "not documented; assumption"
	msClient  = "client Windows, community source; unverified for servers"
	linux612  = "Linux 6.12 source"
	hertzDep  = "Linux 6.12 source: 2 scheduler ticks, so it depends on CONFIG_HZ; 250 assumed"
)

// choice parameters.
var steps = []string{"ideal", "single", "rocket"}

const (
	stepIdeal = iota
	stepSingle
	stepRocket
)

// Names of parameters that the code refers to.
const (
	pIncThreshold = "PERFINCTHRESHOLD"
	pDecThreshold = "PERFDECTHRESHOLD"
	pIncTime      = "PERFINCTIME"
	pDecTime      = "PERFDECTIME"
	pIncPolicy    = "PERFINCPOL"
	pDecPolicy    = "PERFDECPOL"
	pCheck        = "PERFCHECK"
	pThrottleMin  = "PROCTHROTTLEMIN"
	pThrottleMax  = "PROCTHROTTLEMAX"
	pBoostMode    = "PERFBOOSTMODE"
	pReference    = "utilisation_reference"
	pMinFreq      = "scaling_min_freq"
	pMaxFreq      = "scaling_max_freq"
	pSampling     = "sampling_rate"
	pUp           = "up_threshold"
	pDown         = "down_threshold"
	pStep         = "freq_step"
	pRateLimit    = "rate_limit_us"
	pHalfLife     = "pelt_half_life"
	pMargin       = "margin"
	pTick         = "tick"
	pUtilEst      = "UTIL_EST"
	pIOWait       = "iowait_boost"
	pEPP          = "energy_performance_preference"
	pHertz        = "frequency"
)

func share(name string, value float64, known bool, source, meaning string, alternatives ...float64) Parameter {
	return Parameter{Name: name, Value: value, Known: known, Source: source, Meaning: meaning, Alternatives: alternatives, Low: 0, High: 1}
}

func seconds(name string, value, low, high float64, known bool, source, meaning string, alternatives ...float64) Parameter {
	return Parameter{Name: name, Value: value, Unit: "s", Known: known, Source: source, Meaning: meaning, Alternatives: alternatives, Low: low, High: high}
}

func count(name string, value, low, high float64, known bool, source, meaning string, alternatives ...float64) Parameter {
	return Parameter{Name: name, Value: value, Known: known, Source: source, Meaning: meaning, Alternatives: alternatives, Low: low, High: high}
}

func choose(name string, value int, choices []string, known bool, source, meaning string, alternatives ...float64) Parameter {
	p := count(name, float64(value), 0, float64(len(choices)-1), known, source, meaning, alternatives...)
	p.Choices = choices
	return p
}

// throttle are the bounds that every Windows plan has. Shares of the highest
// P-state; the state is the nearest one inside the bound.
func throttle(low float64, known bool, source string, floors, caps []float64) []Parameter {
	return []Parameter{
		share(pThrottleMin, low, known, source, "lowest performance, share of the highest P-state", floors...),
		share(pThrottleMax, 1, known, source, "highest performance, share of the highest P-state", caps...),
	}
}

// linux adds the bounds that every Linux policy has.
func linux(own ...Parameter) []Parameter {
	for _, l := range [][2]string{{pMinFreq, "lowest"}, {pMaxFreq, "highest"}} {
		own = append(own, Parameter{Name: l[0], Unit: "Hz", Known: true, Source: linux612, High: 2e10,
			Meaning: l[1] + " frequency allowed; 0 is the hardware's"})
	}
	return own
}

func boost(on int) Parameter {
	return choose(pBoostMode, on, []string{"disabled", "enabled"}, true, msDocs, "whether the highest state includes turbo")
}

func reference() Parameter {
	return choose(pReference, 0, []string{"current", "maximum"}, false, msUnknown,
		"what 100 % utilisation means: busy all the time at the current or at the highest frequency", 1)
}

func windows(inc, dec, times float64, policy int, checkSource string) []Parameter {
	return append([]Parameter{
		share(pIncThreshold, inc, true, msDocs, "utilisation from which performance rises"),
		share(pDecThreshold, dec, true, msDocs, "utilisation up to which performance falls"),
		count(pIncTime, times, 1, 100, true, msDocs, "check intervals above the threshold before a rise"),
		count(pDecTime, 1, 1, 100, false, msUnknown, "check intervals below the threshold before a fall", 3),
		choose(pIncPolicy, policy, steps, true, msDocs, "how far performance rises at once"),
		choose(pDecPolicy, stepRocket, steps, false, msUnknown, "how far performance falls at once", stepIdeal, stepSingle),
		seconds(pCheck, 0.015, 0.001, 5, false, checkSource, "check interval", 0.010, 0.030, 0.050),
		boost(1),
		reference(),
	}, throttle(0.05, false, "unverified", []float64{0.8}, []float64{0.95})...)
}

// catalog holds the policies in the order to list.
var catalog = []struct {
	name, title string
	rule        rule
	note        string
	parameters  []Parameter
}{
	{"high-performance", "Windows High performance", ruleTop, "", append(throttle(1, true, msDocs, nil, nil), boost(1))},
	{"balanced-rs1", "Windows Balanced, to Server 2016 RS1", ruleWindows,
		"The check interval, how performance falls and what utilisation refers to are not documented.",
		windows(0.9, 0.8, 3, stepSingle, msUnknown)},
	{"balanced-rs2", "Windows Balanced, from RS2", ruleWindows,
		"The check interval is that of client Windows; how performance falls and what utilisation refers to are not documented. With HWP the hardware decides instead.",
		windows(0.6, 0.4, 1, stepIdeal, msClient)},
	{"power-saver", "Windows Power saver", ruleTop,
		"Modelled as always at its cap, without turbo: thresholds and cap of this plan are not documented; the cap is fitted (70 to 75 %) to one published measurement.",
		[]Parameter{share(pThrottleMax, 0.75, false, "fitted: Olontsev's table gives 70 to 75 %", "highest performance, share of the highest P-state",
			0.7, 0.8, 1), boost(0)}},
	{"performance", "Linux performance", ruleTop, "", linux()},
	{"powersave", "Linux powersave (not intel_pstate's)", ruleFloor, "", linux()},
	{"ondemand", "Linux ondemand", ruleOndemand, "sampling_down_factor 1, powersave_bias 0; the load copied after a long idle time is not modelled.",
		linux(
			seconds(pSampling, 0.008, 0.0005, 5, false, hertzDep, "check interval", 0.002, 0.020),
			share(pUp, 0.8, true, linux612, "utilisation above which the frequency goes to the highest"),
		)},
	{"conservative", "Linux conservative", ruleConservative, "sampling_down_factor 1.", linux(
		seconds(pSampling, 0.008, 0.0005, 5, false, hertzDep, "check interval", 0.002, 0.020),
		share(pUp, 0.8, true, linux612, "utilisation above which the frequency rises"),
		share(pDown, 0.2, true, linux612, "utilisation below which the frequency falls"),
		share(pStep, 0.05, true, linux612, "step, share of the highest frequency"),
	)},
	{"schedutil", "Linux schedutil", ruleSchedutil, "", linux(
		seconds(pHalfLife, 0.032, 0.001, 1, true, linux612, "half-life of tracked utilisation (PELT)"),
		count(pMargin, 1.25, 1, 4, true, linux612, "frequency = margin x highest x utilisation"),
		seconds(pRateLimit, 0.001, 0, 1, false, "Linux 6.12 source: 1.5 x transition latency where the driver gives one, else 1 ms",
			"shortest time between changes", 0.010),
		seconds(pTick, 0.004, 0.0005, 0.1, false, "CONFIG_HZ; 250 assumed", "scheduler tick, at which a busy CPU is looked at", 0.001, 0.010),
		choose(pUtilEst, 1, []string{"off", "on"}, true, linux612, "whether a task's utilisation before its last sleep counts"),
		choose(pIOWait, 1, []string{"off", "on"}, true, linux612, "whether wake-ups from I/O raise the frequency"),
	)},
	{"intel_pstate", "Linux intel_pstate active, without HWP", ruleIntelPstate, "", linux(
		seconds(pSampling, 0.010, 0.0005, 5, true, linux612, "check interval"),
		count(pMargin, 1.25, 1, 4, true, linux612, "target = margin x highest x busy share"),
	)},
	{"hwp", "Intel HWP", ruleHardware, "The hardware chooses: only the lowest and the highest frequency can be given as bounds.",
		linux(count(pEPP, 0x80, 0, 255, false, linux612, "a hint to the hardware: 0 performance, 0x80, 0xC0, 0xFF power"))},
	{"amd-pstate-epp", "AMD CPPC, active mode", ruleHardware, "The hardware chooses: only the lowest and the highest frequency can be given as bounds.",
		linux(count(pEPP, 0x80, 0, 255, false, linux612, "a hint to the hardware: 0 performance, 0x80, 0xBF, 0xFF power"))},
}

// PolicyNames lists the policies: high-performance, balanced-rs1 (alias
// balanced), balanced-rs2, power-saver, performance, powersave, ondemand,
// conservative, schedutil, intel_pstate, hwp, amd-pstate-epp, and fixed:PERCENT.
func PolicyNames() []string {
	var names []string
	for _, c := range catalog {
		names = append(names, c.name)
	}
	return append(names, "fixed:PERCENT")
}

// ParsePolicy reads NAME or NAME,KEY=VALUE,...: "balanced-rs1,PERFCHECK=30ms".
// Values take units: ms, s, us, %, Hz, MHz, GHz, or a choice's name. Errors name
// the key and its range.
func ParsePolicy(text string) (Policy, error) {
	parts := strings.Split(text, ",")
	p, err := findPolicy(strings.TrimSpace(parts[0]))
	for _, s := range parts[1:] {
		if err != nil {
			return Policy{}, err
		}
		key, value, ok := strings.Cut(s, "=")
		if !ok {
			return Policy{}, fmt.Errorf("policy %q: write KEY=VALUE instead of %q", text, s)
		}
		p, err = p.parse(strings.TrimSpace(key), strings.TrimSpace(value))
	}
	if err != nil {
		return Policy{}, err
	}
	return p, nil
}

// System is an operating system that power policies belong to.
type System string

// The systems.
const (
	Windows System = "windows"
	Linux   System = "linux"
)

// System is the one that has the policy; "" for a fixed frequency. Its bounds show it: those of a
// plan, or those of cpufreq.
func (p Policy) System() System {
	switch {
	case p.index(pThrottleMax) >= 0:
		return Windows
	case p.index(pMaxFreq) >= 0:
		return Linux
	}
	return ""
}

func findPolicy(name string) (Policy, error) {
	if percent, ok := strings.CutPrefix(name, "fixed:"); ok {
		v, err := strconv.ParseFloat(strings.TrimSuffix(percent, "%"), 64)
		if err != nil || !(v >= 1 && v <= 1000) {
			return Policy{}, fmt.Errorf("policy %q: fixed takes a percentage of the nominal frequency, 1 to 1000, as in fixed:57", name)
		}
		return Policy{Name: name, Title: "fixed at " + strconv.FormatFloat(v, 'g', 6, 64) + " % of nominal", rule: ruleHertz,
			Parameters: []Parameter{count(pHertz, v/100, 0.01, 10, true, "as asked", "share of the nominal frequency")}}, nil
	}
	if name == "balanced" {
		name = "balanced-rs1"
	}
	for _, c := range catalog {
		if c.name == name {
			return Policy{Name: name, Title: c.title, Parameters: slices.Clone(c.parameters), Note: c.note, Bounds: c.rule == ruleHardware, rule: c.rule}, nil
		}
	}
	return Policy{}, fmt.Errorf("no policy is called %q; there are %s", name, strings.Join(PolicyNames(), ", "))
}

func (p Policy) parse(key, value string) (Policy, error) {
	i := p.index(key)
	if i < 0 {
		return Policy{}, p.noParameter(key)
	}
	q := p.Parameters[i]
	if c := slices.Index(q.Choices, value); c >= 0 {
		return p.With(q.Name, float64(c))
	}
	v, err := parseQuantity(value, q.Unit)
	if err != nil {
		return Policy{}, fmt.Errorf("policy %s: %s: %w", p.Name, q.Name, err)
	}
	return p.With(q.Name, v)
}

func (p Policy) index(key string) int {
	return slices.IndexFunc(p.Parameters, func(q Parameter) bool { return strings.EqualFold(q.Name, key) })
}

func (p Policy) noParameter(key string) error {
	var names []string
	for _, q := range p.Parameters {
		names = append(names, q.Name)
	}
	return fmt.Errorf("policy %s has no parameter %q; it has %s", p.Name, key, strings.Join(names, ", "))
}

// With returns the policy with one parameter set, in the parameter's base unit.
// What someone sets counts as known.
func (p Policy) With(name string, value float64) (Policy, error) {
	i := p.index(name)
	if i < 0 {
		return Policy{}, p.noParameter(name)
	}
	q := p.Parameters[i]
	if !(value >= q.Low && value <= q.High) || q.Choices != nil && value != float64(int(value)) {
		if q.Choices != nil {
			return Policy{}, fmt.Errorf("policy %s: %s is %g; it must be one of %s", p.Name, q.Name, value, strings.Join(q.Choices, ", "))
		}
		unit := ""
		if q.Unit != "" {
			unit = " " + q.Unit
		}
		return Policy{}, fmt.Errorf("policy %s: %s is %g%s; it must be %g to %g%s", p.Name, q.Name, value, unit, q.Low, q.High, unit)
	}
	p.Parameters = slices.Clone(p.Parameters)
	q.Value, q.Known, q.Source = value, true, "as asked"
	p.Parameters[i] = q
	return p, nil
}

// String is a form that ParsePolicy reads: the name and what was set.
func (p Policy) String() string {
	s := p.Name
	for _, q := range p.Parameters {
		if q.Source == "as asked" && p.rule != ruleHertz {
			s += "," + q.Name + "=" + q.Text(q.Value)
		}
	}
	return s
}

// Text writes a value of the parameter as ParsePolicy reads it.
func (q Parameter) Text(v float64) string {
	if q.Choices != nil && v >= 0 && int(v) < len(q.Choices) {
		return q.Choices[int(v)]
	}
	switch {
	case q.Unit == "s" && v != 0 && v < 1:
		return strconv.FormatFloat(v*1e3, 'g', 6, 64) + "ms"
	case q.Unit == "" && q.Low == 0 && q.High == 1:
		return strconv.FormatFloat(v*100, 'g', 6, 64) + "%"
	}
	return strconv.FormatFloat(v, 'g', 6, 64) + q.Unit
}

// value is the parameter's value, or 0 when the policy does not have it.
func (p Policy) value(name string) float64 {
	if i := p.index(name); i >= 0 {
		return p.Parameters[i].Value
	}
	return 0
}

// Parameter is a number that a policy's rule uses, under the name by which its
// operating system knows it.
type Parameter struct {
	Name  string  `json:"name"` // powercfg alias or sysfs name
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // s, Hz, or "" for shares (1 is 100 %), counts and choices
	// Known is false when the default is not documented or not verified; then
	// Alternatives holds the other values that Sensitivity tries.
	Known        bool      `json:"known"`
	Alternatives []float64 `json:"alternatives,omitempty"`
	Low          float64   `json:"low"`  // smallest value allowed
	High         float64   `json:"high"` // largest value allowed
	Source       string    `json:"source"`
	Meaning      string    `json:"meaning"`
	// Choices names the values 0, 1, 2, ... of a parameter that is a choice.
	Choices []string `json:"choices,omitempty"`
}

// Policy is a rule with its parameters. Get one from ParsePolicy.
type Policy struct {
	// Name is what ParsePolicy got, with an alias resolved: balanced-rs1,
	// ondemand, fixed:57, ...
	Name       string      `json:"name"`
	Title      string      `json:"title"`
	Parameters []Parameter `json:"parameters"`
	// Note says what a reader has to know before believing the figures: an
	// unverified rule, a simplification. Empty when there is nothing.
	Note string `json:"note,omitempty"`
	// Bounds is set for policies whose choice is made in hardware (HWP, CPPC).
	// They are not simulated; Compare simulates their lowest and their highest
	// frequency instead and marks the two rows.
	Bounds bool `json:"bounds,omitempty"`

	rule  rule
	bound Bound // that it was made into by expand
}
