// Package experiment reads study files and turns them into designs: which cells
// run in which order. It is pure: what a study may name is given to it, and package
// runner does the running.
package experiment

import (
	"time"

	"hostlab/internal/result"
	"hostlab/internal/workload"
)

// Study is a checked study file: every name in it is known and every number in
// its range.
type Study struct {
	File        string // as named by the user, or "NAME.toml" of an embedded one
	Dir         string // absolute; where relative paths start
	Out         string // directory of the record; "": not known yet. It is no part of the study's identity
	BuiltIn     string // the name of one inside the binary; "" for a file
	Source      []byte // the file's bytes
	Foreign     error  // as root: who else may have written the file; nil: nobody. It is no part of the study's identity
	Name        string
	Title       string
	Description string
	Evidence    result.Evidence // measured unless the study says emulated
	Budget      time.Duration   // 0: none
	Design      result.Design
	Seeded      bool // the study or the command line has Design.Seed; else Draw does
	Factors     []Factor
	Workload    Workload
	Work        workload.Workload // by Workload.Name; nil: none
	Responses   []Response
	Contrasts   []result.Contrast // expanded: one level each
	Guard       Guard
	Harm        *Harm             // what ends a switchback before it hurts; nil: another design
	Section     string            // of the report: see result.Experiment
	Instead     string            // a built-in study for hosts that lack what this one varies
	Absent      []result.Absent   // levels that Drop took out
	Known       *result.Machine   // see result.Experiment
	Places      []result.Place    // see result.Experiment
	Machine     workload.Machine  // that Fit was given; without a Topology: not known
	Overrides   map[string]string // what the command line set: workload.KEY, level.NAME, seed, blocks
}

// Factor is a factor with the way to bring about its levels. Exactly one of
// Setting, Server, Parameter, Emulate, Apply and Manual is there, by Kind.
type Factor struct {
	result.Factor
	Settle    time.Duration // waited after every change
	Unsettled bool          // Settle is a guess: the first pairs of a switchback tell it (Washout)
	Setting   string        // kind setting: a setting's name
	Server    string        // kind server: a parameter of the service's database server
	Parameter string        // kind parameter: of the workload; for command also a {name} in its arguments
	// Directories are those that levels of a parameter stand for; nil: levels are values
	// of it. A level that is not in it has none.
	Directories map[string]Directory
	Emulate     *Emulation    // kind emulated
	Read        []string      // kind commands and manual: prints the level in force; may be nil
	Apply       []string      // kind commands; {level}, {original}
	Restore     []string      // kind commands; nil: Apply with what Read printed at the start
	Manual      string        // kind manual: what the person is to do, with {level}
	Timeout     time.Duration // of each command
}

// Directory is one that a level stands for.
type Directory struct {
	Dir   string        // "": none was named
	Delay time.Duration // of each sync; 0: none
	Given bool          // by the command line, so that it has to be there
}

// OwnDirectory is the Dir of the record's own directory.
const OwnDirectory = "{out}"

// Emulation is how power policies are imitated: see package emulate.
type Emulation struct {
	Floor float64 // lowest speed, share of full speed
}

// Workload is the workload of a study.
type Workload struct {
	Name   string
	Params workload.Params // checked, with defaults; nil: refused
	// runs before the first block and after each resume, in a split plot before each plot; not analysed
	WarmUp  int
	Settle  time.Duration // waited before every run
	Timeout time.Duration // of one run; a run that takes longer failed
	Expect  time.Duration // what one run is thought to take, for the plan; 0: not known
	Retries int           // how often one run may be void or fail before the experiment stops
}

// Response is a response with where its value comes from.
type Response struct {
	result.Response
	From  string  // of workload.Pick; the name of the workload's own response otherwise
	Over  string  // what From is divided by in each run, both names of what the workload gives; "": nothing
	Scale float64 // of workload.Pick, or of that ratio
}

// Guard is what voids a run. A limit that is nil guards nothing.
type Guard struct {
	MaxForeignCPU *float64 // share of all CPUs that other processes may take, 0 to 1
	MaxSteal      *float64 // share that the hypervisor may take
	Throttling    bool     // thermal throttling events void the run
	Ours          []string // names of processes that belong to the workload though we did not start them
	// exhausted = "mark": a run that was void Retries times counts after all, marked as contaminated; otherwise the
	// experiment stops
	Mark        bool
	Fingerprint []string // facts that must not change: see Fingerprints
}

// Harm is how much worse a live service may get. A period in which it gets worse ends at once with
// the baseline (a strike), and the experiment ends after Strikes of them; two periods of the level in a row
// without one clear those before.
type Harm struct {
	Responses []string // whose looks are judged, each where it is better lower
	Above     float64  // share by which the median of the last looks may exceed that of the baseline's: 0.4
	// of each of Responses, in its base unit, that no two looks in a row may exceed (an SLO); NaN: none
	Limits  []float64
	Strikes int
	Every   time.Duration // a look, as the workload says: 10 s
}
