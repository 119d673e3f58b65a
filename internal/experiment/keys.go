package experiment

import (
	"fmt"

	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// The kinds of keys by the names that the tables below use.
const (
	text     = workload.String
	integer  = workload.Int
	number   = workload.Float
	boolean  = workload.Bool
	duration = workload.Duration
	share    = workload.Share
	integers = workload.Ints
	words    = workload.List
	pairs    = workload.Table
)

// What texts must look like, with the words for it.
var (
	nameForm = lazyre.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	line     = lazyre.New(`^[^\x00-\x1f\x7f]{1,200}$`)
	argument = lazyre.New(`^[^\x00]*$`)
	anything = lazyre.New(`(?s).`)
)

const (
	aName    = "a name has letters, digits, _ and -, begins with a letter and is at most 64 long"
	aLevel   = "a level is one line of at most 200 characters"
	aWord    = "an argument cannot hold a zero byte"
	someText = "an empty text says nothing"
)

// section is a table of the file.
type section struct {
	name string
	many bool // [[name]]
	help string
	keys []workload.Param
	open bool // takes further keys: the workload's parameters
}

// Limits that no sensible study reaches; they keep a slip of the keyboard from
// becoming a plan of gigabytes.
const (
	maxBlocks = 10_000
	maxAA     = 1000
	maxCells  = 256
	maxRuns   = 1_000_000
	maxTables = 100             // of one name
	maxList   = 1000            // elements of a list
	forever   = 366 * 24 * 3600 // seconds
)

// Units are the base units that a response may have, the plain number last.
var Units = []string{"s", "Hz", "B", "1/s", "B/s", "J", "W", "ratio", "%", ""}

// Fingerprints are the names that guard.fingerprint may list.
var Fingerprints = []string{"kernel", "microcode", "smt", "mounts", "cpu", "cpus", "governor", "clocksource", "virtualization",
	"memory", "boot"}

// Sections are the names that study.section may have: those that package
// report/effects shows.
var Sections = []string{"log", "smt", "table"}

// What becomes of a run that was void as often as it may be.
const (
	stops = "stop"
	marks = "mark"
)

// Looks of blocks, of split plots, and of pairs of periods.
var (
	defaultLooks     = []int{9, 10, 11, 12, 14, 17, 20, 25, 30, 37, 45}
	defaultPlotLooks = []int{5, 8, 12}
	defaultPairLooks = []int{10, 14, 20, 30, 43, 60, 86, 120}
)

// dwell is how many runs a level is held before its effect is called none: of a host that takes 3 runs to follow it, the
// last 7 of 10 show nine tenths of what it costs (bench/verdicts, laws).
const dwell = 10

// Repeats of a cell within a boot unless the study says otherwise.
const defaultRepeats = 3

var root = section{help: "A hostlab study: what is varied, which workload runs, which responses decide.", keys: []workload.Param{
	{Name: "schema", Kind: integer, Help: "Version of this form: 1.", Min: 1, Max: 1, Default: 1},
}}

var sections = []section{
	{name: "study", help: "What the study is and how sure its verdicts are.", keys: []workload.Param{
		{Name: "name", Kind: text, Form: nameForm, Wants: aName,
			Help: "Short name, as in directories; the file's name unless given."},
		{Name: "title", Kind: text, Help: "One line for people."},
		{Name: "description", Kind: text, Help: "What the study asks and why."},
		{Name: "seed", Kind: integer, Help: "Of the random order and of the workload's data. Without it, one is drawn when an " +
			"experiment begins, and recorded.", Min: 0, Max: 1 << 53},
		{Name: "aa", Kind: integer, Help: "First run so many pairs of the baseline with itself (A/A), to learn the noise floor and " +
			"which effect the plan can find. Not in a switchback.", Min: 0, Max: maxAA, Default: 0},
		{Name: "alpha", Kind: number, Help: "Chance of any false verdict in the whole study, above 0 and up to 0.5.", Max: 0.5,
			Default: 0.05},
		{Name: "budget", Kind: duration, Help: "Time after which no further block starts, such as \"6h\".", Min: 1e-3,
			Max: forever},
		{Name: "evidence", Kind: text, Help: "measured on this host's own knobs, or emulated by something that stands for them.",
			Choices: []string{string(result.Measured), string(result.Emulated)}, Default: string(result.Measured)},
		{Name: "section", Kind: text, Help: "What the report has beside its effects: log is what a faster log device gave and what " +
			"it could give at most, smt the verdict on hyper-threading, table every combination of levels with its change against each " +
			"baseline.", Choices: Sections},
		{Name: "instead", Kind: text, Form: nameForm, Wants: aName,
			Help: "The built-in study to name where a host lacks what this one varies."},
	}},
	{name: "design", help: "How runs are arranged.", keys: []workload.Param{
		{Name: "kind", Kind: text, Help: "rcbd: randomised complete blocks. split-plot: for factors that need a reboot or a person, " +
			"which force it. switchback: pairs of periods on a service that others use, one at the baseline and one at the level, in " +
			"random order; a workload that watches a service forces it.", Choices: []string{RCBD, SplitPlot, Switchback}},
		{Name: "order", Kind: text, Help: "Of the runs in a block. Any other than random mistakes drift for an effect.",
			Choices: []string{"random"}, Default: "random"},
		{Name: "looks", Kind: integers,
			Help: "Numbers of blocks after which the experiment may stop, rising. The last is the most it takes.", Min: 1,
			Max: maxBlocks},
		{Name: "repeats", Kind: integer, Help: "Runs of every cell within one boot of a split plot.", Min: 1, Max: 1000},
		{Name: "adjust", Kind: boolean,
			Help: "Take out what the CPU time that others took (steal, foreign processes) explains. Only where no level can change that " +
				"time: a level that makes the workload ask for more CPU may.", Default: false},
		{Name: "load", Kind: text, Help: "Of a switchback: the response that says how much was asked of the service, such as " +
			"transactions_per_s. What its drift from pair to pair explains is taken out; it cannot be what decides."},
	}},
	{name: "factor", many: true, help: "What is varied. One of setting, parameter, server, emulate, apply or manual says how.",
		keys: []workload.Param{
			{Name: "name", Kind: text, Form: nameForm, Wants: aName, Help: "Unique; a command's arguments may hold it as {name}.",
				Required: true},
			{Name: "levels", Kind: words, Form: line, Wants: aLevel, Help: "Two or more, different.", Required: true},
			{Name: "baseline", Kind: text, Form: line, Wants: aLevel, Numbers: true,
				Help: "The level that others are compared with; the first unless given."},
			{Name: "change", Kind: text, Help: "What a change of level takes.",
				Choices: []string{string(result.Online), string(result.RestartWorkload), string(result.Reboot),
					string(result.Manual)}},
			{Name: "settle", Kind: duration,
				Help: "Waited after every change, such as \"20s\". With a service that others use: 2m, until its first pairs have shown " +
					"how long it takes to settle.", Max: forever, Default: "0s"},
			{Name: "timeout", Kind: duration, Help: "Of each command of the factor.", Min: 1e-3, Max: forever, Default: "1m"},
			{Name: "setting", Kind: text, Help: "A setting that hostlab reads, applies, verifies and restores, by its name in 'hostlab " +
				"settings' or its sysctl's."},
			{Name: "parameter", Kind: text,
				Help: "A parameter of the workload. For command: the factor's own name, held by its arguments as {name}."},
			{Name: "server", Kind: text, Help: "A parameter of the watched service's PostgreSQL or MariaDB that can be changed while it " +
				"runs. The level current is what it is when the experiment begins; a setting has that level too."},
			{Name: "emulate", Kind: text, Help: "policy: the levels are power policies as 'hostlab predict' knows them, such as " +
				"balanced-rs1 or fixed:60, whose clock is imitated by keeping the workload's processes from their CPUs.",
				Choices: []string{"policy"}},
			{Name: "floor", Kind: share, Help: "With emulate: the lowest speed; there are states every 5 %.", Min: 0.05, Max: 1,
				Default: 0.5},
			{Name: "slice", Kind: duration,
				Help: "With emulate: how long the workload computes at a stretch, which decides the method.", Min: 1e-6,
				Max: forever},
			{Name: "method", Kind: text, Help: "With emulate: stop sends signals every 2 ms, cgroup sets a quota every 8 ms and needs " +
				"root; auto takes a quota for slices of 50 ms and more where it may.", Choices: []string{"auto", "stop", "cgroup"},
				Default: "auto"},
			{Name: "directories", Kind: pairs,
				Help: "With parameter: the directory that each level stands for: a path, {out} for the record's own, or delay:TIME or " +
					"delay:TIME:PATH for one whose syncs take so much longer (emulated). A level without one is absent unless --set " +
					"level.NAME=DIRECTORY names it."},
			{Name: "apply", Kind: words, Form: argument, Wants: aWord,
				Help: "Command that brings about a level: program and arguments, with {level} or {original}. No shell."},
			{Name: "read", Kind: words, Form: argument, Wants: aWord,
				Help: "Command that prints the level in force; read before and after every run."},
			{Name: "restore", Kind: words, Form: argument, Wants: aWord,
				Help: "Command that puts back what was; apply with what read printed at the start unless given."},
			{Name: "manual", Kind: text, Help: "What a person is asked to do, with {level}."},
		}},
	{name: "workload", help: "What is timed: its name and its parameters.", open: true, keys: []workload.Param{
		{Name: "name", Kind: text, Help: "Which workload.", Required: true},
		{Name: "warmup", Kind: integer, Help: "Runs before the first block and after each resume, not analysed.", Max: 1000,
			Default: 1},
		{Name: "settle", Kind: duration, Help: "Waited before every run.", Max: forever, Default: "0s"},
		{Name: "timeout", Kind: duration, Help: "Of one run; one that takes longer failed.", Min: 1e-3, Max: forever,
			Default: "10m"},
		{Name: "expect", Kind: duration, Help: "What one run is thought to take, for the plan.", Min: 1e-6, Max: forever},
		{Name: "retries", Kind: integer,
			Help: "How often one run may be void or fail before the experiment stops, or guard.exhausted marks it.", Max: 1000,
			Default: 5},
	}},
	{name: "response", many: true,
		help: "What is measured in every run. Without any: all that the workload has, the first one primary.",
		keys: []workload.Param{
			{Name: "name", Kind: text, Form: nameForm, Wants: aName,
				Help: "One of the workload's own; energy_j or energy_op_j, what the CPU packages use in a run or for an operation; or any " +
					"with from.", Required: true},
			{Name: "title", Kind: text, Help: "One line for people."},
			{Name: "unit", Kind: text, Help: "A base unit.", Choices: Units},
			{Name: "from", Kind: text, Help: "Where a command's output has it: json:PATH, regex:EXPR with one group, gobench:NAME UNIT, " +
				"or wall, user, system, cpu, max_rss. gobench converts by itself: ns/op to s, MB/s to B/s, B/op to B, x/s to 1/s. For any " +
				"workload, \"A / B\": one response divided by another in each run, of the workload's own or picked above."},
			{Name: "scale", Kind: number, Help: "The number found times this is in unit: 0.001 for milliseconds. Not with gobench, " +
				"which converts by itself.", Default: 1},
			{Name: "better", Kind: text, Help: "Which way is good.", Choices: []string{"lower", "higher"}},
			{Name: "equiv", Kind: text, Numbers: true,
				Help: "The smallest effect that matters: \"2%\" of the baseline, or a difference such as \"0.5ms\".", Default: "2%"},
			{Name: "compare", Kind: text, Help: "ratio takes logarithms and needs positive values; difference does not.",
				Choices: []string{string(result.Ratio), string(result.Difference)}},
			{Name: "primary", Kind: boolean,
				Help: "Decides: shares in alpha and in the decision to stop. The first response unless any says so."},
		}},
	{name: "contrast", many: true,
		help: "What is compared. Without any: every level with its baseline, and interactions of two factors as secondary.",
		keys: []workload.Param{
			{Name: "factor", Kind: text, Help: "Whose effect."},
			{Name: "level", Kind: text, Form: line, Wants: aLevel, Numbers: true,
				Help: "Compared with the baseline; all that no table above names unless given."},
			{Name: "interaction", Kind: words, Help: "Two factors: does the effect of one depend on the other?"},
			{Name: "at", Kind: pairs, Help: "Other factors held at a level, such as {cache = \"cold\"}; averaged over otherwise."},
			{Name: "primary", Kind: boolean, Help: "Shares in alpha and in the decision to stop.", Default: true},
		}},
	{name: "guard", help: "What makes a run void, so that it is run again in its block.", keys: []workload.Param{
		{Name: "max_foreign_cpu", Kind: share, Help: "Share of all CPUs that other processes may take: \"3%\".", Max: 1},
		{Name: "max_steal", Kind: share, Help: "Share of all CPUs that the hypervisor may take.", Max: 1},
		{Name: "throttling", Kind: boolean, Help: "Thermal throttling voids the run.", Default: false},
		{Name: "ours", Kind: words, Help: "Names of processes that belong to the workload though hostlab did not start them."},
		{Name: "exhausted", Kind: text,
			Help: "What becomes of a run that was void as often as retries allows. stop: the experiment stops. mark: it counts, " +
				"marked as contaminated.",
			Choices: []string{stops, marks}, Default: stops},
		{Name: "fingerprint", Kind: words, Help: "Facts of the host that must not change.", Choices: Fingerprints},
	}},
	{name: "harm", help: "How much worse a service that others use may get: what ends a period of a switchback with the baseline, " +
		"and the experiment after some such strikes. In force without this table too.", keys: []workload.Param{
		{Name: "responses", Kind: words,
			Help: "What is judged, each better where it is lower. Unless given: those of latency_p99, latency, elapsed_per_transaction " +
				"and cpu_per_transaction that the study has."},
		{Name: "above", Kind: share, Help: "How far the median of the last looks at the level may be above the baseline's; fewer " +
			"than 12 looks may be further.", Min: 0.01, Max: 10, Default: 0.4},
		{Name: "limit", Kind: pairs, Help: "What no two looks running at the level may exceed, such as {latency_p99 = \"20ms\"}."},
		{Name: "strikes", Kind: integer,
			Help: "After how many periods of the level that were ended so the experiment stops. Two periods in a row that were not " +
				"clear those before.", Min: 1, Max: 100, Default: 2},
		{Name: "every", Kind: duration, Help: "How long a look is; 10s unless the workload says otherwise.", Min: 1, Max: 600},
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

func (s section) key(name string) (workload.Param, bool) {
	return workload.Description{Params: s.keys}.Param(name)
}

func (s section) names() (list []string) {
	for _, k := range s.keys {
		list = append(list, k.Name)
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
