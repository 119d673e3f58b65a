package experiment

import (
	"reflect"

	"hostlab/internal/lazyre"
	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// File is a hostlab study: what is varied, which workload runs, which responses decide.
//
// The comments here are the descriptions of the JSON schema that editors use; a test writes it. The tags
// "jsonschema" and "limits" (of times, in seconds) are the limits that decode holds a file to.
type File struct {
	// Version of this form: 1.
	Schema int `toml:"schema" jsonschema:"enum=1,default=1"`
	// What the study is and how sure its verdicts are.
	Study StudyTable `toml:"study"`
	// How runs are arranged.
	Design DesignTable `toml:"design"`
	// What is varied. One of setting, parameter, server, emulate, apply or manual says how.
	Factor []FactorTable `toml:"factor" jsonschema:"required"`
	// What is timed: its name and its parameters.
	Workload map[string]any `toml:"workload" jsonschema:"required"`
	// What is measured in every run. Without any: all that the workload has, the first one primary.
	Response []ResponseTable `toml:"response"`
	// What is compared. Without any: every level with its baseline, and interactions of two factors as secondary.
	Contrast []ContrastTable `toml:"contrast"`
	// What makes a run void, so that it is run again in its block.
	Guard GuardTable `toml:"guard"`
	// How much worse a service that others use may get: what ends a period of a switchback with the baseline, and the
	// experiment after some such strikes. In force without this table too.
	Harm *HarmTable `toml:"harm"`
}

// StudyTable is [study].
type StudyTable struct {
	// Short name, as in directories; the file's name unless given.
	Name name `toml:"name"`
	// One line for people.
	Title string `toml:"title"`
	// What the study asks and why.
	Description string `toml:"description"`
	// Of the random order and of the workload's data. Without it, one is drawn when an experiment begins, and recorded.
	Seed *int64 `toml:"seed" jsonschema:"minimum=0,maximum=9007199254740992"`
	// First run so many pairs of the baseline with itself (A/A), to learn the noise floor and which effect the plan can
	// find. Not in a switchback.
	AA *int `toml:"aa" jsonschema:"minimum=0,maximum=1000,default=0"`
	// Chance of any false verdict in the whole study, above 0 and up to 0.5.
	Alpha *float64 `toml:"alpha" jsonschema:"minimum=0,maximum=0.5,default=0.05"`
	// Time after which no further block starts, such as "6h".
	Budget workload.Span `toml:"budget" limits:"0.001,31622400"`
	// measured on this host's own knobs, or emulated by something that stands for them.
	Evidence result.Evidence `toml:"evidence" jsonschema:"enum=measured,enum=emulated,default=measured"`
	// What the report has beside its effects: log is what a faster log device gave and what it could give at most, smt the
	// verdict on hyper-threading, table every combination of levels with its change against each baseline.
	Section string `toml:"section" jsonschema:"enum=log,enum=smt,enum=table"`
	// The built-in study to name where a host lacks what this one varies.
	Instead name `toml:"instead"`
}

// DesignTable is [design].
type DesignTable struct {
	// rcbd: randomised complete blocks. split-plot: for factors that need a reboot or a person, which force it.
	// switchback: pairs of periods on a service that others use, one at the baseline and one at the level, in random
	// order; a workload that watches a service forces it.
	Kind result.DesignKind `toml:"kind" jsonschema:"enum=rcbd,enum=split-plot,enum=switchback"`
	// Of the runs in a block. Any other than random mistakes drift for an effect.
	Order string `toml:"order" jsonschema:"enum=random,default=random"`
	// Numbers of blocks after which the experiment may stop, rising. The last is the most it takes.
	Looks []int `toml:"looks" jsonschema:"minimum=1,maximum=10000"`
	// Runs of every cell within one boot of a split plot.
	Repeats *int `toml:"repeats" jsonschema:"minimum=1,maximum=1000"`
	// Take out what the CPU time that others took (steal, foreign processes) explains. Only where no level can change
	// that time: a level that makes the workload ask for more CPU may.
	Adjust bool `toml:"adjust" jsonschema:"default=false"`
	// Of a switchback: the response that says how much was asked of the service, such as transactions_per_s. What its
	// drift from pair to pair explains is taken out; it cannot be what decides.
	Load string `toml:"load"`
}

// FactorTable is one of [[factor]].
type FactorTable struct {
	// Unique; a command's arguments may hold it as {name}.
	Name name `toml:"name" jsonschema:"required"`
	// Two or more, different.
	Levels []level `toml:"levels" jsonschema:"required"`
	// The level that others are compared with; the first unless given.
	Baseline level `toml:"baseline"`
	// What a change of level takes.
	Change result.Change `toml:"change" jsonschema:"enum=online,enum=restart-workload,enum=reboot,enum=manual"`
	// Waited after every change, such as "20s". With a service that others use: 2m, until its first pairs have shown how
	// long it takes to settle.
	Settle *workload.Span `toml:"settle" limits:"0,31622400"`
	// Of each command of the factor; 1m unless given.
	Timeout workload.Span `toml:"timeout" limits:"0.001,31622400"`
	// A setting that hostlab reads, applies, verifies and restores, by its name in 'hostlab settings' or its sysctl's.
	Setting string `toml:"setting"`
	// A parameter of the workload. For command: the factor's own name, held by its arguments as {name}.
	Parameter string `toml:"parameter"`
	// A parameter of the watched service's PostgreSQL or MariaDB that can be changed while it runs. The level current is
	// what it is when the experiment begins; a setting has that level too.
	Server string `toml:"server"`
	// policy: the levels are power policies as 'hostlab predict' knows them, such as balanced-rs1 or fixed:60, whose clock
	// is imitated by keeping the workload's processes from their CPUs.
	Emulate string `toml:"emulate" jsonschema:"enum=policy"`
	// With emulate: the lowest speed; there are states every 5 %. 0.5 unless given.
	Floor *workload.Share `toml:"floor" limits:"0.05,1"`
	// With parameter: the directory that each level stands for: a path, {out} for the record's own, or delay:TIME or
	// delay:TIME:PATH for one whose syncs take so much longer (emulated). A level without one is absent unless --set
	// level.NAME=DIRECTORY names it.
	Directories map[string]workload.Word `toml:"directories"`
	// Command that brings about a level: program and arguments, with {level} or {original}. No shell.
	Apply []argument `toml:"apply"`
	// Command that prints the level in force; read before and after every run.
	Read []argument `toml:"read"`
	// Command that puts back what was; apply with what read printed at the start unless given.
	Restore []argument `toml:"restore"`
	// What a person is asked to do, with {level}.
	Manual string `toml:"manual"`

	from  string  // what on the command line says what is varied; "": the file
	fixed *string // what it gives the parameter, which is not varied then; nil: nothing
}

// WorkloadTable is [workload]: what every workload takes beside its parameters.
type WorkloadTable struct {
	// Which workload.
	Name string `toml:"name"`
	// Runs before the first block and after each resume, not analysed; 1 unless given.
	Warmup *int `toml:"warmup" jsonschema:"minimum=0,maximum=1000"`
	// Waited before every run.
	Settle workload.Span `toml:"settle" limits:"0,31622400"`
	// Of one run; one that takes longer failed. 10m unless given.
	Timeout workload.Span `toml:"timeout" limits:"0.001,31622400"`
	// What one run is thought to take, for the plan.
	Expect workload.Span `toml:"expect" limits:"0.000001,31622400"`
	// How often one run may be void or fail before the experiment stops, or guard.exhausted marks it; 5 unless given.
	Retries *int `toml:"retries" jsonschema:"minimum=0,maximum=1000"`
}

// ResponseTable is one of [[response]].
type ResponseTable struct {
	// One of the workload's own; energy_j or energy_op_j, what the CPU packages use in a run or for an operation; or any
	// with from.
	Name name `toml:"name" jsonschema:"required"`
	// One line for people.
	Title string `toml:"title"`
	// A base unit.
	Unit *unit `toml:"unit"`
	// Where a command's output has it: json:PATH, regex:EXPR with one group, or wall, user, system, cpu, max_rss. For
	// any workload, "A / B": one response divided by another in each run, of the workload's own or picked above.
	From string `toml:"from"`
	// The number found times this is in unit: 0.001 for milliseconds.
	Scale *float64 `toml:"scale" jsonschema:"default=1"`
	// Which way is good.
	Better string `toml:"better" jsonschema:"enum=lower,enum=higher"`
	// The smallest effect that matters: "2%" of the baseline, or a difference such as "0.5ms".
	Equiv workload.Word `toml:"equiv"`
	// ratio takes logarithms and needs positive values; difference does not.
	Compare result.Comparison `toml:"compare" jsonschema:"enum=ratio,enum=difference"`
	// Decides: shares in alpha and in the decision to stop. The first response unless any says so.
	Primary *bool `toml:"primary"`
}

// ContrastTable is one of [[contrast]].
type ContrastTable struct {
	// Whose effect.
	Factor string `toml:"factor"`
	// Compared with the baseline; all that no table above names unless given.
	Level level `toml:"level"`
	// Two factors: does the effect of one depend on the other?
	Interaction []string `toml:"interaction"`
	// Other factors held at a level, such as {cache = "cold"}; averaged over otherwise.
	At map[string]workload.Word `toml:"at"`
	// Shares in alpha and in the decision to stop.
	Primary *bool `toml:"primary" jsonschema:"default=true"`
}

// GuardTable is [guard].
type GuardTable struct {
	// Share of all CPUs that other processes may take: "3%".
	MaxForeignCPU *workload.Share `toml:"max_foreign_cpu" limits:"0,1"`
	// Share of all CPUs that the hypervisor may take.
	MaxSteal *workload.Share `toml:"max_steal" limits:"0,1"`
	// Thermal throttling voids the run.
	Throttling bool `toml:"throttling" jsonschema:"default=false"`
	// Names of processes that belong to the workload though hostlab did not start them.
	Ours []string `toml:"ours"`
	// What becomes of a run that was void as often as retries allows. stop: the experiment stops. mark: it counts, marked
	// as contaminated.
	Exhausted string `toml:"exhausted" jsonschema:"enum=stop,enum=mark,default=stop"`
	// Facts of the host that must not change.
	Fingerprint []fact `toml:"fingerprint"`
}

// HarmTable is [harm].
type HarmTable struct {
	// What is judged, each better where it is lower. Unless given: those of latency_p99, latency, elapsed_per_transaction
	// and cpu_per_transaction that the study has.
	Responses []string `toml:"responses"`
	// How far the median of the last looks at the level may be above the baseline's; fewer than 12 looks may be further.
	// 0.4 unless given.
	Above workload.Share `toml:"above" limits:"0.01,10"`
	// What no two looks running at the level may exceed, such as {latency_p99 = "20ms"}.
	Limit map[string]workload.Word `toml:"limit"`
	// After how many periods of the level that were ended so the experiment stops; 2 unless given. Two periods in a row
	// that were not clear those before.
	Strikes *int `toml:"strikes" jsonschema:"minimum=1,maximum=100"`
	// How long a look is; 10s unless the workload says otherwise.
	Every workload.Span `toml:"every" limits:"1,600"`
}

// Texts, which a file may also have as numbers.
type (
	name     string // short, as in directories
	level    string
	argument string
	unit     string
	fact     string
)

func (w *name) UnmarshalText(b []byte) error     { *w = name(b); return nil }
func (w *level) UnmarshalText(b []byte) error    { *w = level(b); return nil }
func (w *argument) UnmarshalText(b []byte) error { *w = argument(b); return nil }

// The forms of texts, with the words for them.
var (
	nameForm = lazyre.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	line     = lazyre.New(`^[^\x00-\x1f\x7f]{1,200}$`)
	noZero   = lazyre.New(`^[^\x00]*$`)
)

var texts = map[reflect.Type]workload.Param{
	reflect.TypeFor[name](): {Form: nameForm,
		Wants: "a name has letters, digits, _ and -, begins with a letter and is at most 64 long"},
	reflect.TypeFor[level]():    {Form: line, Wants: "a level is one line of at most 200 characters"},
	reflect.TypeFor[argument](): {Form: noZero, Wants: "an argument cannot hold a zero byte"},
	reflect.TypeFor[unit]():     {Choices: Units},
	reflect.TypeFor[fact]():     {Choices: Fingerprints},
}
