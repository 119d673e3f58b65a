package setting

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"hostlab/internal/screen"
)

// inactive says what EBUSY means in a policy.
var inactive = []refusal{{syscall.EBUSY, "no CPU of this policy is online"}}

// shareOfHighest is why Windows takes no frequency in Hz.
const shareOfHighest = "Windows takes a share of the highest frequency, such as 60%"

// frequencies holds the settings of the frequency policies.
var frequencies = []Setting{
	{
		Name: "governor", Title: "CPU frequency governor", Order: rankGovernor,
		Effect: "CPUs draw more power while they are busy",
		Values: "a governor that the driver offers",
		File:   policyFiles + "scaling_governor", Absent: noCPUFreq,
		// Those of the kernel itself (admin-guide/pm/cpufreq.rst).
		Takes: words{from: "scaling_available_governors", known: []string{"performance", "powersave", "userspace", "ondemand",
			"conservative", "schedutil"}},
		// amd-pstate-epp forces EPP performance along with the governor performance; intel_pstate
		// keeps the older EPP and shows another.
		Moves: []Move{{Setting: "epp"}}, refusals: inactive,
		Advice: map[string]string{"PWR-001": "performance"},
		Words: []Word{
			{Tool: "tuned", Option: "cpu/governor"}, {Tool: "saptune", Option: "cpu/governor"},
			{Tool: "windows", Option: "SCHEME_MIN", Values: map[string]string{"performance": "1"},
				Only: "Windows has power plans; only performance has a counterpart, High performance"},
		},
	},
	{
		Name: "epp", Title: "Energy performance preference", Order: rankEPP,
		Rounds: true, // default reads back as another word
		Effect: "the processor draws more power",
		Values: "a preference that the driver offers",
		File:   policyFiles + "energy_performance_preference", Absent: "the frequency driver has no EPP",
		// The kernel's, of which drivers list performance alone under the governor of that
		// name (intel_pstate.c and amd-pstate.c, energy_perf_strings).
		Takes: words{from: "energy_performance_available_preferences",
			known: []string{"default", "performance", "balance_performance", "balance_power", "power"}},
		LockedBy: "governor", LockedAt: "performance",
		refusals: []refusal{{syscall.EBUSY, "EPP is locked while the governor is performance"},
			{syscall.EINVAL, "the driver has " +
				"no EPP of this value"}},
		Words: []Word{
			{Tool: "tuned", Option: "cpu/energy_performance_preference"},
			// The names' values as hardware has them (0, 0x80, 0xC0, 0xFF), in the percent that PERFEPP takes.
			{Tool: "windows", Option: "PERFEPP", Values: map[string]string{"performance": "0", "balance_performance": "50",
				"balance_power": "75", "power": "100"},
				Only: "Windows takes 0 to 100 %, and this word has none"},
		},
	},
	{
		Name: "max_freq", Title: "Upper limit of the frequency (scaling_max_freq)", Order: rankMax, Rounds: true,
		Effect: "CPUs draw more power while they are busy",
		File:   policyFiles + "scaling_max_freq", Absent: noCPUFreq, Takes: frequency{},
		Moves: []Move{{Setting: "min_freq"}}, request: true, refusals: inactive,
		Words: []Word{{Tool: "windows", Option: "PROCTHROTTLEMAX", Only: shareOfHighest}},
	},
	{
		Name: "min_freq", Title: "Lower limit of the frequency (scaling_min_freq)", Order: rankMin, Rounds: true,
		File: policyFiles + "scaling_min_freq", Absent: noCPUFreq, Takes: frequency{},
		request: true, refusals: inactive, against: minAboveMax,
		Words: []Word{{Tool: "windows", Option: "PROCTHROTTLEMIN", Only: shareOfHighest}},
	},
}

// frequency is a limit in kHz, typed in any unit, as min or max, or as a share of the highest.
type frequency struct{ anything }

const frequencyValues = "a frequency such as 2.4GHz, 2400MHz or kHz; min; max; or a share of the highest such as 60%"

func (frequency) describe() string { return frequencyValues }

// minAboveMax refuses a lower limit above the upper one, which the kernel would take and keep down
// without a word. The reverse, an upper limit alone that is below the lower one in force, has its effect: the
// lower one gives way.
func minAboveMax(sys *System, step Step, all steps) error {
	limit, both := all.value("max_freq", step.Name)
	if !both {
		limit, _ = sys.text(beside(step.Object, "scaling_max_freq"))
	}
	if !above(step.To, limit) || !both && step.From == step.To {
		return nil
	}
	text := fmt.Sprintf("%s cannot be %s: max_freq ", Label("min_freq", step.Name), showFrequency(step.Object, step.To))
	if both {
		return errors.New(text + "is to be " + showFrequency(step.Object, limit) + ", which is below it")
	}
	return errors.New(text + "is " + showFrequency(step.Object, limit) +
		" now; set a max_freq of at least as much with it")
}

// above reports whether a limit is above another in any case: of two in kHz, or two that are shares of the
// highest, as they are while the processor is not known.
func above(lo, hi string) bool {
	a, aShare, aOK := limitOf(lo)
	b, bShare, bOK := limitOf(hi)
	return aOK && bOK && aShare == bShare && a > b
}

func limitOf(v string) (n float64, share, ok bool) {
	if w, found := map[string]string{"min": "0%", "max": "100%"}[v]; found {
		v = w
	}
	v, share = strings.CutSuffix(v, "%")
	n, err := strconv.ParseFloat(v, 64)
	return n, share, err == nil
}

// span is what a policy's processor can do, in kHz, and its steps, rising.
func span(sys *System, o Object) (lo, hi int64, steps []int64, err error) {
	lo, okLow := sys.number(beside(o, "cpuinfo_min_freq"))
	hi, okHigh := sys.number(beside(o, "cpuinfo_max_freq"))
	if t, err := sys.text(beside(o, "scaling_available_frequencies")); err == nil {
		for _, w := range strings.Fields(t) {
			if n, err := strconv.ParseInt(w, 10, 64); err == nil && n > 0 {
				steps = append(steps, n)
			}
		}
		slices.Sort(steps)
	}
	// Since Linux 5.11 acpi-cpufreq names a boosted cpuinfo_max_freq that no limit can
	// be set to; there the table decides.
	if len(steps) > 0 {
		return steps[0], steps[len(steps)-1], steps, nil
	}
	if !okLow || !okHigh || lo <= 0 || hi < lo {
		return 0, 0, nil, errors.New("the range of this policy cannot be read (cpuinfo_min_freq, cpuinfo_max_freq)")
	}
	return lo, hi, nil, nil
}

func (frequency) parse(sys *System, o Object, v string) (string, error) {
	lo, hi, steps, err := span(sys, o)
	if err != nil {
		return "", unsettable{err}
	}
	khz := int64(0)
	switch word := strings.ToLower(strings.ReplaceAll(v, " ", "")); {
	case word == "min":
		khz = lo
	case word == "max":
		khz = hi
	case strings.HasSuffix(word, "%"):
		exact, ok := shareOf(word, hi)
		if !ok {
			return "", fmt.Errorf("%q: expected a share of the highest frequency above 0%% and up to 100%%", screen.Short(v))
		}
		khz = nearest(exact, lo, hi, steps)
	default:
		n, ok := amount(word, "khz")
		if !ok || n > math.MaxInt64 {
			return "", fmt.Errorf("%q: expected %s", screen.Short(v), frequencyValues)
		}
		khz = int64(n)
	}
	// The kernel would clamp, with success.
	if khz < lo || khz > hi {
		return "", fmt.Errorf("%q: %s has %s to %s", screen.Short(v), o.Name, showFrequency(o, strconv.FormatInt(lo, 10)),
			showFrequency(o, strconv.FormatInt(hi, 10)))
	}
	return strconv.FormatInt(khz, 10), nil
}

// shareOf is a share of the highest frequency such as 60%, in kHz.
func shareOf(word string, hi int64) (khz int64, ok bool) {
	share, err := strconv.ParseFloat(strings.TrimSuffix(word, "%"), 64)
	if err != nil || !(share > 0 && share <= 100) {
		return 0, false
	}
	return int64(math.Round(share / 100 * float64(hi))), true
}

// rounded says that a share lies between steps, or a frequency that was typed does.
func (frequency) rounded(sys *System, o Object, want, to string) string {
	lo, hi, steps, err := span(sys, o)
	khz, bad := strconv.ParseInt(to, 10, 64)
	if err != nil || bad != nil {
		return ""
	}
	show := func(khz int64) string { return showFrequency(o, strconv.FormatInt(khz, 10)) }
	if word := strings.ReplaceAll(want, " ", ""); strings.HasSuffix(word, "%") {
		exact, ok := shareOf(word, hi)
		switch {
		case !ok || exact == khz:
			return ""
		case exact < lo:
			return fmt.Sprintf("the lowest: %s of %s is %s", word, show(hi), show(exact))
		}
		return fmt.Sprintf("rounded to a step: %s of %s is %s", word, show(hi), show(exact))
	}
	if i, found := slices.BinarySearch(steps, khz); !found && i > 0 && i < len(steps) {
		return fmt.Sprintf("no step here: the kernel rounds it to %s or %s", show(steps[i-1]), show(steps[i]))
	}
	return ""
}

func (frequency) spell(v string) (string, error) {
	word := strings.ToLower(strings.ReplaceAll(v, " ", ""))
	if share, ok := strings.CutSuffix(word, "%"); ok {
		if p, err := strconv.ParseFloat(share, 64); err == nil && p > 0 && p <= 100 {
			return word, nil
		}
	}
	if word == "min" || word == "max" {
		return word, nil
	}
	khz, ok := amount(word, "khz")
	if !ok || khz == 0 || khz > math.MaxInt64 {
		return "", fmt.Errorf("%q: expected %s", screen.Short(v), frequencyValues)
	}
	return strconv.FormatUint(khz, 10), nil
}

func (frequency) inFile(_, v string) (string, error) {
	if strings.Trim(v, "0123456789") != "" {
		return "", errors.New("it means another value on each processor; give a frequency, or leave it out for the " +
			"processor's own range")
	}
	return v, nil
}

// nearest is the step that a share means; a share below the range means its low end.
func nearest(khz, lo, hi int64, steps []int64) int64 {
	if len(steps) == 0 {
		return min(max(khz, lo), hi)
	}
	return slices.MinFunc(steps, func(a, b int64) int { return int(max(a-khz, khz-a) - max(b-khz, khz-b)) })
}

func (frequency) show(o Object, khz string) string { return showFrequency(o, khz) }

// showFrequency writes kHz in GHz or MHz, to the last digit.
func showFrequency(_ Object, khz string) string {
	n, err := strconv.ParseInt(khz, 10, 64)
	if err != nil {
		return khz
	}
	if n >= 1e6 {
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + " GHz"
	}
	return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) + " MHz"
}

func (frequency) note(sys *System, o Object) string {
	lo, hi, steps, err := span(sys, o)
	if err != nil {
		return ""
	}
	if len(steps) > 1 && len(steps) <= 8 {
		var names []string
		for _, s := range steps {
			names = append(names, showFrequency(o, strconv.FormatInt(s, 10)))
		}
		return strings.Join(names, ", ")
	}
	return showFrequency(o, strconv.FormatInt(lo, 10)) + " to " + showFrequency(o, strconv.FormatInt(hi, 10))
}

const noTurbo = cpuDir + "/intel_pstate/no_turbo"

// power holds the settings of a processor's power policy apart from governors and limits in Hz.
var power = []Setting{
	{
		Name: "platform_profile", Title: "ACPI platform profile", Order: rankProfile, Lasting: true,
		Effect: "fans and power limits may rise",
		Values: "a profile that the firmware offers",
		File:   "/sys/firmware/acpi/platform_profile", Absent: "the firmware has no platform profiles",
		// The kernel's words (drivers/acpi/platform_profile.c). It has custom as well, which is only read.
		Takes: words{from: "platform_profile_choices", known: []string{"low-power", "cool", "quiet", "balanced",
			"balanced-performance", "performance", "max-power"}},
		Moves:  []Move{{Setting: "epp"}},
		Advice: map[string]string{"PWR-009": "performance"},
	},
	{
		Name: "epb", Title: "Energy performance bias", Order: rankEPB,
		Effect: "the processor draws more power",
		File:   cpuFiles + "power/energy_perf_bias", Absent: "the processor offers no EPB",
		// The kernel's words (arch/x86/kernel/cpu/intel_epb.c); it reads back numbers.
		Takes: quantity{hi: 15, names: map[string]string{
			"performance": "0", "balance-performance": "4", "normal": "6", "normal-powersave": "7", "balance-power": "8",
			"power": "15"}},
		Advice: map[string]string{"PWR-004": "0"},
		Words: []Word{
			{Tool: "tuned", Option: "cpu/energy_perf_bias", Values: epbWords},
			{Tool: "saptune", Option: "cpu/energy_perf_bias", Values: epbWords,
				Only: "saptune has performance (0), normal (6) and " +
					"powersave (15) only"},
		},
	},
	{
		Name: "boost", Title: "Turbo (boost)", Order: rankBoost,
		Effect: "CPUs may draw more power, and get warmer",
		Files:  []string{noTurbo, freqDir + "/boost", policyFiles + "boost"}, Absent: "none of intel_pstate/no_turbo, " +
			"cpufreq/boost and policyN/boost is there",
		Takes: onOff{inverted: noTurbo},
		// Boost moves the range that limits are kept within.
		Moves: []Move{{Setting: "boost", File: policyFiles + "boost", Becomes: []string{"0", "1"}},
			{Setting: "max_freq"}, {Setting: "min_freq"}},
		refusals: []refusal{
			{syscall.EPERM, "if the firmware has switched turbo off, the kernel cannot switch it on"},
			{syscall.EACCES, "if the firmware has switched turbo off, the kernel cannot switch it on"},
			{syscall.EINVAL, "this processor refuses to switch boost here"},
		},
		Advice: map[string]string{"PWR-005": "on"},
		Words: []Word{
			{Tool: "tuned", Option: "cpu/no_turbo", Values: opposite},
			// 2 is aggressive, as in High performance
			{Tool: "windows", Option: "PERFBOOSTMODE", Values: map[string]string{"1": "2", "0": "0"}},
		},
		Named: "name a policy, such as boost@policy0, or leave the object out",
	},
	{
		Name: "max_perf_pct", Title: "intel_pstate's ceiling", Order: rankMaxPerf, Rounds: true,
		Effect: "CPUs draw more power while they are busy",
		File:   cpuDir + "/intel_pstate/max_perf_pct", Absent: noPstate, Takes: quantity{lo: 1, hi: 100, unit: "%"},
		Moves: []Move{{Setting: "min_perf_pct"}},
		Words: []Word{{Tool: "tuned", Option: "cpu/max_perf_pct"}, {Tool: "windows", Option: "PROCTHROTTLEMAX"}},
	},
	{
		Name: "min_perf_pct", Title: "intel_pstate's floor", Order: rankMinPerf, Rounds: true,
		File: cpuDir + "/intel_pstate/min_perf_pct", Absent: noPstate, Takes: quantity{lo: 1, hi: 100, unit: "%"},
		Words: []Word{{Tool: "tuned", Option: "cpu/min_perf_pct"}, {Tool: "windows", Option: "PROCTHROTTLEMIN"}},
	},
}

const noPstate = "intel_pstate is not in charge of this processor"

// epbWords are what tuned and saptune call EPB's numbers; tuned takes numbers, too.
var epbWords = map[string]string{"0": "performance", "6": "normal", "15": "powersave"}

// uncore holds the settings of what runs beside the cores.
var uncore = []Setting{
	{
		Name: "uncore_max_freq", Title: "Upper limit of the uncore's frequency (max_freq_khz)", Order: rankMax, Rounds: true,
		Effect: "less power is left for the cores",
		File:   "/sys/devices/system/cpu/intel_uncore_frequency/*/max_freq_khz",
		Absent: "the kernel controls no uncore frequency here",
		Takes: uncoreFrequency{quantity{lo: 100000, hi: 1e7, unit: "khz",
			text: "a frequency such as 2.4GHz, 2400MHz or kHz"}},
	},
}

// uncoreFrequency is a frequency in kHz of which no file lists what there is.
type uncoreFrequency struct{ quantity }

func (u uncoreFrequency) parse(_ *System, _ Object, v string) (string, error) { return u.spell(v) }

func (u uncoreFrequency) spell(v string) (string, error) { return u.quantity.spell(strings.ToLower(v)) }

func (uncoreFrequency) show(o Object, v string) string { return showFrequency(o, v) }
