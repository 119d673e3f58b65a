// Package workload is what an experiment times. Each workload is a folder beside
// this file and a line in package workload/all.
package workload

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"hostlab/internal/host"
	"hostlab/internal/result"
)

// Workload is one kind of work, by name. Implementations hold no state, and embed Usual.
type Workload interface {
	Describe() Description
	// Validate tells more about a Config than Check does, such as a pick that does not parse, without touching the
	// system. Work may be empty. The error joins *ParamErrors; for a pick, Name is the response's.
	Validate(cfg Config) error
	// Needs looks for programs that runs with these parameters take and that not every host has. It starts none but to
	// ask for its version. The error is a *ParamError.
	Needs(ctx context.Context, p Params) error
	// Outside says what the workload would do on something of the user's that is neither this host's nor its own, such as
	// a database server, where nobody works unasked: a phrase that goes on after its name and holds nothing secret, or
	// nothing where it stays with its own.
	Outside(p Params) string
	// Takes returns how long a run of a block takes, from 0 on; 0: not known.
	Takes(p Params, block int) time.Duration
	// Open prepares what all runs share, such as a table or a directory. It leaves
	// nothing behind when it fails or ctx is cancelled.
	Open(ctx context.Context, cfg Config) (Session, error)
}

// Usual is what most workloads say: there is nothing more to check and to look for, and how long runs take is not
// known.
type Usual struct{}

func (Usual) Validate(Config) error               { return nil }
func (Usual) Needs(context.Context, Params) error { return nil }
func (Usual) Outside(Params) string               { return "" }
func (Usual) Takes(Params, int) time.Duration     { return 0 }

// Session is a workload that is ready to run. One Run at a time.
type Session interface {
	// Run does the work once. It returns soon (well under a second; a commit or a
	// child process that has to be killed included) after ctx is cancelled, with
	// ctx's error, and may then be called again. An error is a run that failed; it
	// says what, where and what to do in one line.
	Run(ctx context.Context, r Request) (Sample, error)
	// Close removes everything that Open and Run made. It may be called again.
	Close() error
}

// Preparer is a Session that has to make something before a run which is none of the
// run's work, such as the rows of a block's seed. The runner calls it before it begins
// to count CPU time, energy and neighbours; a Run without it prepares by itself.
type Preparer interface {
	Prepare(ctx context.Context, r Request) error
}

// Description is what people and study files may know of a workload.
type Description struct {
	Name      string
	Title     string     // one line
	About     string     // a paragraph: what it does, what it stands for, what it does not show
	Params    Params     // its own struct, with the defaults; each call has another
	Responses []Response // those it always has
	Picks     bool       // responses of the user's own can be picked from its output
	Doubts    []string   // what has to hold lest it puts a run in doubt (Sample.Doubt), each as a phrase with its limit
	Live      bool       // it does no work of its own: it watches a service that others use
}

// Response is one that a workload offers; the study may change its margin.
type Response struct {
	Name   string
	Title  string
	Unit   string // base unit
	Better string // lower or higher
}

// Config is what all runs of a session share.
type Config struct {
	Params Params // the workload's own struct
	Picks  []Pick // for workloads that have Picks
	Dir    string // where relative paths start: the study file's directory; absolute
	Work   string // an existing directory for the workload's own files; absolute
	// Factors names the factors of the study, which Request.Levels will have. nil: not
	// known, as when a workload runs by itself.
	Factors []string
	// Evidence is what the study says that its runs are. Empty: there is no study.
	Evidence result.Evidence
	// Machine is where a study runs, as Offering was given it. Without a Topology it is not
	// known, and an Offering workload looks for itself.
	Machine Machine
}

// Under makes a path absolute: relative ones start at dir.
func Under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Offering is a workload of whose levels a host may not have all, such as the
// placements of two threads on CPUs that share no core.
type Offering interface {
	// Offers says of each of the texts of a parameter that cannot be had on a machine
	// why, in a phrase. What is not in the map can be had. It touches nothing.
	Offers(cfg Config, param string, levels []string, m Machine) map[string]string
	// Machine is what a report has to know of the machine to explain the levels.
	Machine(cfg Config, m Machine) result.Machine
}

// Demanding is a workload whose levels may take what a host does not have, such as reserved pages.
type Demanding interface {
	// Lacks says what is missing on the machine of a tree for a run with such parameters, and what mends it, in a
	// phrase; "": nothing, or it is not known. It touches nothing.
	Lacks(p Params, t host.Tree) string
}

// Machine is where a workload is to run.
type Machine struct {
	Topology *host.Topology
	Allowed  []int    // CPUs that this process may use, ascending
	Measured [][2]int // pairs that were measured to share a core, whatever the system reports; nil: not measured
}

// Failure is a run that failed after it printed something that helps to find out
// why. Output of several megabytes has its middle left out.
type Failure struct {
	Err            error // one line: what, where and what to do
	Stdout, Stderr []byte
}

func (f *Failure) Error() string { return f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }

// Lasting is the error of a run that fails alike when it is made again: its program is not there, or ended well without
// what was asked for.
type Lasting struct {
	Err   error
	First bool // so only where no run of these levels has counted, as of an option that a program does not know
}

func (l *Lasting) Error() string { return l.Err.Error() }

func (l *Lasting) Unwrap() error { return l.Err }

// CannotStart is a program's error at its start: a *Lasting where there is no such program, or none that can be run.
func CannotStart(err error) error {
	for _, gone := range []error{fs.ErrNotExist, fs.ErrPermission, exec.ErrNotFound, syscall.ENOEXEC, syscall.ENOTDIR} {
		if errors.Is(err, gone) {
			return &Lasting{Err: err}
		}
	}
	return err
}

// Pick is a response to be had from the output of a command.
type Pick struct {
	Name string
	// json:PATH (RFC 9535), regex:EXPR with one group, or a measured one: wall, user, system, cpu, max_rss
	From  string
	Unit  string  // base unit of the response, AnyUnit where nobody has said
	Scale float64 // the number found times Scale is in Unit; 1 unless the output has another unit
}

// AnyUnit is the Unit of a Pick whose number is shown as it comes.
const AnyUnit = "?"

// Request is what one run gets.
type Request struct {
	Params Params            // those of Config with this run's levels of parameter factors
	Levels map[string]string // factor -> level, for {name} in a command's arguments
	Seed   uint64            // the same for all runs of a block, so that they do the same work
	// the run's number in its experiment, over all sessions, from 0; warm-up runs are counted by themselves
	Run   uint64
	Block int // from 0
	// Look is called by a Live workload every few seconds of its run, in order and from one
	// goroutine. An error ends the run early with what was seen so far, without an error of
	// the run: the service is being harmed. nil: nobody wants to know.
	Look func(Bin) error
}

// Bin is what a Live workload saw in a few seconds of its run.
type Bin struct {
	At     time.Duration      `json:"at"`     // of its end, since the run began
	Lasted time.Duration      `json:"lasted"` // not always the same: the last of a run is shorter
	Values map[string]float64 `json:"values"` // by names of responses; one that is unknown there is absent
}

// Sample is what one run gave.
type Sample struct {
	Values  map[string]float64 // response -> value in its base unit
	Missing map[string]string  // response -> why there is none; a name is in one of the two
	// response -> why its value may be 0, and what to take where no 0 can be used, as in a ratio
	Zero       map[string]string
	Operations int64
	// operations with those that are not counted, as in a warm-up, for what is measured over the whole run; 0: Operations
	Done     int64
	Latency  *result.Distribution // of single operations, each from its intended start; nil where there is none
	Waits    *result.Waits        // of the session that did the work, in its server's words; nil where none was looked at
	Warnings []string
	// Doubt says why the run should not count although it went well, as where the
	// hypervisor moved the CPUs meanwhile. It is then void, and made again.
	Doubt string
	// Contaminated says why the run counts, but marked: what it did besides may have changed
	// it or the next, and making it again would not help.
	Contaminated string
}

// Set gives a response its value.
func (s *Sample) Set(name string, v float64) { s.Give(name, v, "") }

// Lack says why responses have no value.
func (s *Sample) Lack(why string, names ...string) {
	for _, name := range names {
		s.Give(name, 0, why)
	}
}

// Give is Set, or Lack where there is a reason why not.
func (s *Sample) Give(name string, v float64, why string) {
	if s.Values == nil {
		s.Values = map[string]float64{}
	}
	if s.Missing == nil {
		s.Missing = map[string]string{}
	}
	if why == "" {
		s.Values[name] = v
	} else {
		s.Missing[name] = why
	}
}

// markVariable is set in the environment of all programs that workloads start.
const markVariable = "HOSTLAB_WORK"

// Mark is an environment variable for programs that a workload starts, by which
// what they leave running is found after hostlab was killed. It has the workload's
// directory.
func Mark(work string) string { return markVariable + "=" + work }
