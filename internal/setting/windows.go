package setting

import (
	"strconv"
	"syscall"
)

// Win32 codes, as powrprof.dll returns them.
const (
	codeMissing = syscall.Errno(2)    // ERROR_FILE_NOT_FOUND
	codeDenied  = syscall.Errno(5)    // ERROR_ACCESS_DENIED
	codePolicy  = syscall.Errno(1260) // ERROR_ACCESS_DISABLED_BY_POLICY
)

const fixedByPolicy = "a group policy fixes it, and wins over what is set here"

var powerRefusals = []refusal{
	{codePolicy, fixedByPolicy},
	{codeDenied, "permission denied: run hostlab as an administrator"},
	{codeMissing, "the scheme no longer exists; activate another, for example with 'powercfg /setactive " +
		"SCHEME_BALANCED', then run 'hostlab revert' and 'hostlab revert --forget'"},
}

// Ranks of Windows' settings: a value is written to hostlab's copy of the scheme, once that is in force.
const (
	rankCopy = iota + 1
	rankScheme
	rankValue
)

// copyInForce is what each value of a scheme needs: hostlab's copy of it, in force.
var copyInForce = []Assignment{{Name: "power_scheme_copy", Value: "on"}, {Name: "power_scheme", Value: ownScheme}}

// windowsSettings are those of Windows, as powercfg calls them. To add one, add its value.
var windowsSettings = completed([]Setting{
	{
		Name: "power_scheme_copy", Title: "hostlab's copy of the power scheme", Order: rankCopy, Lasting: true,
		About: "Values are written to a copy of the scheme in force, which 'hostlab set' makes and activates by itself. " +
			"'hostlab revert' activates the scheme that was in force, and deletes the copy. So no value of that scheme is " +
			"ever written, and those that follow a default go on to do so.",
		Source: "Microsoft, PowerDuplicateScheme", File: copyPath, Absent: "there are no power schemes here", Takes: onOff{},
		refusals: powerRefusals,
	},
	{
		Name: "power_scheme", Title: "Power scheme in force", Order: rankScheme, Lasting: true,
		Effect: "idle processors take more power under High performance",
		About: "The scheme holds all settings below. Under Balanced, Windows' default, the clock climbs only after load " +
			"was seen for a while. High performance asks for the full clock at all times and parks no core.",
		Source: "Microsoft, PowerSetActiveScheme; Microsoft support article 2207548", File: schemePath,
		Absent: "there are no power schemes here", Takes: scheme{}, refusals: powerRefusals, against: oldCopy,
	},
	powerSetting("PROCTHROTTLEMIN", "893dee8e-2bef-41e0-89c6-b55d0929964c", "Lowest processor state",
		quantity{hi: 100, unit: "%"},
		"The lowest share of the nominal frequency that Windows asks for. At 100 % the clock does not fall, whatever the "+
			"load."),
	powerSetting("PROCTHROTTLEMAX", "bc5038f7-23e0-4960-96da-33abaf5935ec", "Highest processor state",
		quantity{lo: 1, hi: 100, unit: "%"},
		"The highest share of the nominal frequency that Windows asks for. Below 100 % there is no turbo either."),
	powerSetting("PERFBOOSTMODE", "be337238-0d82-4146-a960-4f3749d470c7", "Turbo",
		modes("disabled", "enabled", "aggressive", "efficient_enabled", "efficient_aggressive",
			"aggressive_at_guaranteed", "efficient_aggressive_at_guaranteed"),
		"Whether, and how eagerly, processors run above their nominal frequency."),
	powerSetting("PERFEPP", "36687f9e-e3a5-4dbf-b1dc-15eb381c6863", "Energy performance preference",
		quantity{hi: 100, unit: "%"},
		"How much response time a processor that picks its own frequency may give up for energy: at 0 % none, at 100 % all."),
	powerSetting("PERFINCPOL", "465e1f50-b610-473a-ab58-00d1077dc418", "How the frequency rises",
		modes("ideal", "single", "rocket", "responsive"),
		"Ideal goes to the state that the load needs, single one step up, rocket to the highest."),
	powerSetting("PERFDECPOL", "40fbefc7-2e9d-4d25-a185-0cfd8574bac6", "How the frequency falls",
		modes("ideal", "single", "rocket"),
		"Ideal goes to the state that the load needs, single one step down, rocket to the lowest."),
	powerSetting("PERFCHECK", "4d2b0152-7d5c-498b-88e2-34345392a2c5", "Time between looks at the load",
		quantity{lo: 1, hi: 5000, unit: "ms"},
		"How often Windows looks at the load to pick a processor's frequency."),
	powerSetting("CPMINCORES", "0cc5b647-c1df-4637-891a-dec35c318583", "Least cores that are not parked",
		quantity{hi: 100, unit: "%"},
		"Windows gives no work to parked cores while others do. At 100 % none is ever parked."),
	powerSetting("CPMAXCORES", "ea062031-0e34-4ff1-9b6d-eb1059334028", "Most cores that are not parked",
		quantity{hi: 100, unit: "%"},
		"Below 100 %, some cores stay parked under any load."),
	powerSetting("IDLEDISABLE", "5d76a2ca-e8c0-402f-a133-2158492d58ad", "Idle states off", onOff{},
		"With on, idle processors spin at full power in place of an idle state. That leaves no power for the turbo of busy "+
			"cores."),
})

// powerGUIDs are the settings in the subgroup of processors, by their alias.
var powerGUIDs = map[string]string{}

// powerSetting is a value of the scheme in force, on mains power (ac) and on battery (dc).
func powerSetting(alias, guid, title string, takes kind, about string) Setting {
	powerGUIDs[alias] = guid
	return Setting{
		Name: alias, Title: title, About: about, Takes: takes, Order: rankValue, Lasting: true, Rounds: true,
		Source: "Microsoft, processor power management options; powercfg /aliases",
		Files:  []string{powerDir + "ac/" + alias, powerDir + "dc/" + alias},
		Absent: "the power scheme in force has no " + alias, Needs: copyInForce, refusals: powerRefusals,
	}
}

// modes are words for 0, 1, 2, ...
func modes(words ...string) quantity {
	q := quantity{hi: uint64(len(words) - 1), names: map[string]string{}, shown: map[string]string{}}
	for i, w := range words {
		n := strconv.Itoa(i)
		q.names[w], q.shown[n] = n, w
	}
	return q
}

// Windows reports a setting of Windows.
func (s Setting) Windows() bool { return len(s.Files) > 0 && settablePower(s.Files[0]) }

// Keeper is who keeps the setting's values, and may round them.
func (s Setting) Keeper() string {
	if s.Windows() {
		return "Windows"
	}
	return "the kernel"
}
