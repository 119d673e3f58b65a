package model

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

type rule int

// The rules, as policies.toml names them.
const (
	ruleNone         rule = iota // the zero Policy
	ruleTop                      // always the highest state allowed
	ruleFloor                    // always the lowest state allowed
	ruleWindows                  // thresholds and counts of check intervals
	ruleOndemand                 // jump above a threshold, else in proportion
	ruleConservative             // steps
	ruleSchedutil                // tracked utilisation, at scheduling events
	ruleIntelPstate              // in proportion to the busy share, at intervals
	ruleHardware                 // HWP, CPPC
	ruleHertz                    // a frequency given
)

var rules = []string{"", "top", "floor", "windows", "ondemand", "conservative", "schedutil", "intel_pstate", "hardware"}

// How far a Windows plan goes at once, as its parameters' choices have it.
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

//go:embed policies.toml
var policiesFile []byte

// catalog holds the policies in the order to list.
var catalog = sync.OnceValue(func() (list []Policy) {
	var file struct {
		Parameter map[string]map[string]any
		Policy    []struct {
			Name, Title, Rule, Note string
			Parameters              []map[string]any
		}
	}
	check := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	check(toml.Unmarshal(policiesFile, &file))
	for _, c := range file.Policy {
		p := Policy{Name: c.Name, Title: c.Title, Note: c.Note, rule: rule(slices.Index(rules, c.Rule))}
		p.Bounds = p.rule == ruleHardware
		for _, own := range c.Parameters {
			all := maps.Clone(file.Parameter[own["name"].(string)])
			maps.Copy(all, own)
			text, err := toml.Marshal(all)
			check(err)
			var q Parameter
			check(toml.Unmarshal(text, &q))
			if q.Choices != nil {
				q.High = float64(len(q.Choices) - 1)
			}
			p.Parameters = append(p.Parameters, q)
		}
		list = append(list, p)
	}
	return list
})

// PolicyNames lists the policies: high-performance, balanced-rs1 (alias
// balanced), balanced-rs2, power-saver, performance, powersave, ondemand,
// conservative, schedutil, intel_pstate, hwp, amd-pstate-epp, and fixed:PERCENT.
func PolicyNames() []string {
	var names []string
	for _, p := range catalog() {
		names = append(names, p.Name)
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
			return Policy{}, fmt.Errorf(
				"policy %q: fixed takes a percentage of the nominal frequency, 1 to 1000, as in fixed:57",
				name)
		}
		return Policy{Name: name, Title: "fixed at " + strconv.FormatFloat(v, 'g', 6, 64) + " % of nominal", rule: ruleHertz,
			Parameters: []Parameter{{Name: pHertz, Value: v / 100, Known: true, Low: 0.01, High: 10, Source: "as asked",
				Meaning: "share of the nominal frequency"}}}, nil
	}
	if name == "balanced" {
		name = "balanced-rs1"
	}
	for _, p := range catalog() {
		if p.Name == name {
			p.Parameters = slices.Clone(p.Parameters)
			return p, nil
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
			return Policy{}, fmt.Errorf("policy %s: %s is %g; it must be one of %s", p.Name, q.Name, value,
				strings.Join(q.Choices, ", "))
		}
		return Policy{}, fmt.Errorf("policy %s: %w", p.Name, between(q.Name, value, q.Low, q.High, q.Unit))
	}
	p.Parameters = slices.Clone(p.Parameters)
	q.Value, q.Known, q.Source, q.asked = value, true, "as asked", true
	p.Parameters[i] = q
	return p, nil
}

// String is a form that ParsePolicy reads: the name and what was set.
func (p Policy) String() string {
	s := p.Name
	for _, q := range p.Asked() {
		s += "," + q.Name + "=" + q.Text(q.Value)
	}
	return s
}

// Asked are the parameters that were set.
func (p Policy) Asked() []Parameter {
	return slices.DeleteFunc(slices.Clone(p.Parameters), func(q Parameter) bool { return !q.asked })
}

// Text writes a value of the parameter as ParsePolicy reads it.
func (q Parameter) Text(v float64) string {
	if q.Choices != nil && v >= 0 && int(v) < len(q.Choices) {
		return q.Choices[int(v)]
	}
	switch {
	case q.Unit == "Hz" && v >= 1e9:
		return strconv.FormatFloat(v/1e9, 'g', 6, 64) + "GHz"
	case q.Unit == "Hz" && v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 6, 64) + "MHz"
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

	asked bool // set by With
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

//go:embed builtin.toml
var builtInFile []byte

// builtIn are the machines and workloads that need no file.
type builtIn struct {
	Machine  []Machine `toml:"machine"`
	Workload []struct {
		Workload
		Home string `toml:"home"`
	} `toml:"workload"`
}

var readBuiltIn = sync.OnceValue(func() (b builtIn) {
	d := toml.NewDecoder(bytes.NewReader(builtInFile))
	d.DisallowUnknownFields()
	if err := d.Decode(&b); err != nil {
		panic(err)
	}
	return b
})

func Machines() []Machine { return slices.Clone(readBuiltIn().Machine) }

// FindMachine returns a built-in machine, or an error that lists their names.
func FindMachine(name string) (Machine, error) {
	return find("machine", name, Machines(), func(m Machine) string { return m.Name })
}

func find[T any](what, name string, list []T, of func(T) string) (T, error) {
	var names []string
	for _, x := range list {
		if of(x) == name {
			return x, nil
		}
		names = append(names, of(x))
	}
	var none T
	return none, fmt.Errorf("no built-in %s is called %q; there are %s", what, name, strings.Join(names, ", "))
}

func Workloads() (list []Workload) {
	for _, w := range readBuiltIn().Workload {
		list = append(list, w.Workload)
	}
	return list
}

// FindWorkload returns a built-in workload, or an error that lists their names.
func FindWorkload(name string) (Workload, error) {
	return find("workload", name, Workloads(), func(w Workload) string { return w.Name })
}

// HomeMachine names the built-in machine that a built-in workload was measured on;
// empty for those that belong to none.
func HomeMachine(workload string) string {
	for _, w := range readBuiltIn().Workload {
		if w.Name == workload {
			return w.Home
		}
	}
	return ""
}
