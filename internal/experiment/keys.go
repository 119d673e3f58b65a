package experiment

import (
	"fmt"

	"hostlab/internal/result"
)

// kind is the form of a key's value in a study file.
type kind int

// The forms, with the Go type that read gives.
const (
	text     kind = iota // string
	name                 // string: letters, digits, _ and -, from a letter on
	integer              // int64
	number               // float64
	boolean              // bool
	duration             // time.Duration: "20s"
	share                // float64 in 0 to 1: "3%" or 0.03
	integers             // []placed[int64]
	words                // []placed[string]
	levels               // []placed[string]: strings, numbers or booleans, kept as text
	level                // string: one of them
	margin               // string: "2%", "0.5ms" or a number
	pairs                // []pair: a table of strings
	command              // []string: a program and its arguments
	anything             // a workload's own parameter
)

// key is a key that a study file may have. The parser and the JSON Schema are both
// made from these tables, so that neither knows a key that the other does not.
type key struct {
	name     string
	kind     kind
	help     string
	choices  []string
	min, max float64 // of integer, number and share, of the seconds of a duration and of each of integers; both 0: any
	required bool
	standard any // the default, where it is a plain value
}

// section is a table of the file.
type section struct {
	name string
	many bool // [[name]]
	help string
	keys []key
	open bool // takes further keys: the workload's parameters
}

// Limits that no sensible study reaches; they keep a slip of the keyboard from
// becoming a plan of gigabytes.
const (
	maxBlocks = 10_000
	maxCells  = 256
	maxRuns   = 1_000_000
	maxTables = 100             // of one name
	maxList   = 1000            // elements of a list
	forever   = 366 * 24 * 3600 // seconds
)

// Units are the base units that a response may have, the plain number last.
var Units = []string{"s", "Hz", "B", "1/s", "B/s", "J", "W", "ratio", "%", ""}

// Fingerprints are the names that guard.fingerprint may list.
var Fingerprints = []string{"kernel", "microcode", "smt", "mounts", "cpu", "cpus", "governor", "clocksource", "virtualization", "memory", "boot"}

// Sections are the names that study.section may have: those that package
// report/effects shows.
var Sections = []string{"log", "smt", "table"}

// What becomes of a run that was void as often as it may be.
const (
	stops = "stop"
	marks = "mark"
)

var defaultLooks, defaultPlotLooks = []int{10, 14, 20, 30}, []int{5, 8, 12}

// Repeats of a cell within a boot unless the study says otherwise.
const defaultRepeats = 3

var root = section{help: "A hostlab study: what is varied, which workload runs, which responses decide.", keys: []key{
	{name: "schema", kind: integer, help: "Version of this form: 1.", min: 1, max: 1, standard: 1},
}}

var sections = []section{
	{name: "study", help: "What the study is and how sure its verdicts are.", keys: []key{
		{name: "name", kind: name, help: "Short name, as in directories; the file's name unless given."},
		{name: "title", kind: text, help: "One line for people."},
		{name: "description", kind: text, help: "What the study asks and why."},
		{name: "seed", kind: integer, help: "Of the random order and of the workload's data. Without it, one is drawn when an experiment begins, and recorded.", min: 0, max: 1 << 53},
		{name: "aa", kind: boolean, help: "Run the baseline twice in every block, unseen (A/A), to learn the noise floor.", standard: true},
		{name: "alpha", kind: number, help: "Chance of any false verdict in the whole study, above 0 and up to 0.5.", max: 0.5, standard: 0.05},
		{name: "budget", kind: duration, help: "Time after which no further block starts, such as \"6h\".", min: 1e-3, max: forever},
		{name: "evidence", kind: text, help: "measured on this host's own knobs, or emulated by something that stands for them.",
			choices: []string{string(result.Measured), string(result.Emulated)}, standard: string(result.Measured)},
		{name: "section", kind: text, help: "What the report has beside its effects: log is what a faster log device gave and what it could give at most, smt the verdict on hyper-threading, table every combination of levels with its change against each baseline.", choices: Sections},
		{name: "instead", kind: name, help: "The built-in study to name where a host lacks what this one varies."},
	}},
	{name: "design", help: "How runs are arranged.", keys: []key{
		{name: "kind", kind: text, help: "rcbd: randomised complete blocks. split-plot: for factors that need a reboot or a person, which force it.", choices: []string{"rcbd", "split-plot"}},
		{name: "order", kind: text, help: "Of the runs in a block. Any other than random mistakes drift for an effect.", choices: []string{"random"}, standard: "random"},
		{name: "looks", kind: integers, help: "Numbers of blocks after which the experiment may stop, rising. The last is the most it takes.", min: 1, max: maxBlocks},
		{name: "repeats", kind: integer, help: "Runs of every cell within one boot of a split plot.", min: 1, max: 1000},
	}},
	{name: "factor", many: true, help: "What is varied. One of setting, parameter, emulate, apply or manual says how.", keys: []key{
		{name: "name", kind: name, help: "Unique; a command's arguments may hold it as {name}.", required: true},
		{name: "levels", kind: levels, help: "Two or more, different.", required: true},
		{name: "baseline", kind: level, help: "The level that others are compared with; the first unless given."},
		{name: "change", kind: text, help: "What a change of level takes.",
			choices: []string{string(result.Online), string(result.RestartWorkload), string(result.Reboot), string(result.Manual)}},
		{name: "settle", kind: duration, help: "Waited after every change, such as \"20s\".", max: forever, standard: "0s"},
		{name: "timeout", kind: duration, help: "Of each command of the factor.", min: 1e-3, max: forever, standard: "1m"},
		{name: "setting", kind: text, help: "A setting that hostlab reads, applies, verifies and restores, by its name in 'hostlab settings' or its sysctl's."},
		{name: "parameter", kind: text, help: "A parameter of the workload. For command: the factor's own name, held by its arguments as {name}."},
		{name: "emulate", kind: text, help: "policy: the levels are power policies as 'hostlab predict' knows them, such as balanced-rs1 or fixed:60, whose clock is imitated by keeping the workload's processes from their CPUs.", choices: []string{"policy"}},
		{name: "floor", kind: share, help: "With emulate: the lowest speed; there are states every 5 %.", min: 0.05, max: 1, standard: 0.5},
		{name: "slice", kind: duration, help: "With emulate: how long the workload computes at a stretch, which decides the method.", min: 1e-6, max: forever},
		{name: "method", kind: text, help: "With emulate: stop sends signals every 2 ms, cgroup sets a quota every 8 ms and needs root; auto takes a quota for slices of 50 ms and more where it may.", choices: []string{"auto", "stop", "cgroup"}, standard: "auto"},
		{name: "directories", kind: pairs, help: "With parameter: the directory that each level stands for: a path, {out} for the record's own, or delay:TIME or delay:TIME:PATH for one whose syncs take so much longer (emulated). A level without one is absent unless --set level.NAME=DIRECTORY names it."},
		{name: "apply", kind: command, help: "Command that brings about a level: program and arguments, with {level} or {original}. No shell."},
		{name: "read", kind: command, help: "Command that prints the level in force; read before and after every run."},
		{name: "restore", kind: command, help: "Command that puts back what was; apply with what read printed at the start unless given."},
		{name: "manual", kind: text, help: "What a person is asked to do, with {level}."},
	}},
	{name: "workload", help: "What is timed: its name and its parameters.", open: true, keys: []key{
		{name: "name", kind: text, help: "Which workload.", required: true},
		{name: "warmup", kind: integer, help: "Runs before the first block and after each resume, not analysed.", max: 1000, standard: 1},
		{name: "settle", kind: duration, help: "Waited before every run.", max: forever, standard: "0s"},
		{name: "timeout", kind: duration, help: "Of one run; one that takes longer failed.", min: 1e-3, max: forever, standard: "10m"},
		{name: "expect", kind: duration, help: "What one run is thought to take, for the plan.", min: 1e-6, max: forever},
		{name: "retries", kind: integer, help: "How often one run may be void or fail before the experiment stops, or guard.exhausted marks it.", max: 1000, standard: 5},
	}},
	{name: "response", many: true, help: "What is measured in every run. Without any: all that the workload has, the first one primary.", keys: []key{
		{name: "name", kind: name, help: "One of the workload's own; energy_j or energy_op_j, what the CPU packages use in a run or for an operation; or any with from.", required: true},
		{name: "title", kind: text, help: "One line for people."},
		{name: "unit", kind: text, help: "A base unit.", choices: Units},
		{name: "from", kind: text, help: "Where a command's output has it: json:PATH, regex:EXPR with one group, gobench:NAME UNIT, or wall, user, system, cpu, max_rss. gobench converts by itself: ns/op to s, MB/s to B/s, B/op to B, x/s to 1/s."},
		{name: "scale", kind: number, help: "The number found times this is in unit: 0.001 for milliseconds. Not with gobench, which converts by itself.", standard: 1},
		{name: "better", kind: text, help: "Which way is good.", choices: []string{"lower", "higher"}},
		{name: "equiv", kind: margin, help: "The smallest effect that matters: \"2%\" of the baseline, or a difference such as \"0.5ms\".", standard: "2%"},
		{name: "compare", kind: text, help: "ratio takes logarithms and needs positive values; difference does not.",
			choices: []string{string(result.Ratio), string(result.Difference)}},
		{name: "primary", kind: boolean, help: "Decides: shares in alpha and in the decision to stop. The first response unless any says so."},
	}},
	{name: "contrast", many: true, help: "What is compared. Without any: every level with its baseline, and interactions of two factors as secondary.", keys: []key{
		{name: "factor", kind: text, help: "Whose effect."},
		{name: "level", kind: level, help: "Compared with the baseline; all that no table above names unless given."},
		{name: "interaction", kind: words, help: "Two factors: does the effect of one depend on the other?"},
		{name: "at", kind: pairs, help: "Other factors held at a level, such as {cache = \"cold\"}; averaged over otherwise."},
		{name: "primary", kind: boolean, help: "Shares in alpha and in the decision to stop.", standard: true},
	}},
	{name: "guard", help: "What makes a run void, so that it is run again in its block.", keys: []key{
		{name: "max_foreign_cpu", kind: share, help: "Share of all CPUs that other processes may take: \"3%\".", max: 1},
		{name: "max_steal", kind: share, help: "Share of all CPUs that the hypervisor may take.", max: 1},
		{name: "throttling", kind: boolean, help: "Thermal throttling voids the run.", standard: false},
		{name: "ours", kind: words, help: "Names of processes that belong to the workload though hostlab did not start them."},
		{name: "exhausted", kind: text, help: "What becomes of a run that was void as often as retries allows. stop: the experiment stops. mark: it counts, marked as contaminated.",
			choices: []string{stops, marks}, standard: stops},
		{name: "fingerprint", kind: words, help: "Facts of the host that must not change.", choices: Fingerprints},
	}},
}

// section returns a table's keys; it panics for a name that is not in the list.
func sectionNamed(name string) section {
	for _, s := range sections {
		if s.name == name {
			return s
		}
	}
	panic(fmt.Sprintf("no section %q", name))
}

func (s section) key(name string) (key, bool) {
	for _, k := range s.keys {
		if k.name == name {
			return k, true
		}
	}
	return key{}, false
}

func (s section) names() (list []string) {
	for _, k := range s.keys {
		list = append(list, k.name)
	}
	return list
}

// title is the header of the table in a file.
func (s section) title() string {
	if s.many {
		return "[[" + s.name + "]]"
	}
	return "[" + s.name + "]"
}
