package model

// Kind is the shape of a workload.
type Kind string

// The kinds.
const (
	// Dialog: steps of Slices slices of CPU work with Wait between them. Closed
	// with Users > 0 (Think between a user's steps), else open Poisson arrivals at
	// Case.Load.
	Dialog Kind = "dialog"
	// Batch: Users jobs at once, each of Work CPU seconds in slices of Slice with
	// Wait between them. A step is a whole job.
	Batch Kind = "batch"
	// Query: one parallel query of Users workers; each worker has Work CPU seconds
	// and waits between slices. A step is the query, until its last worker ends;
	// its CPU seconds are those of all workers together.
	Query Kind = "query"
	// Commit: Users writers; each computes one Slice, then commits and waits for
	// the flush that covers it, then thinks. One flush at a time (group commit),
	// of length Device. A step is a transaction.
	Commit Kind = "commit"
)

// Placement says which idle CPU a slice runs on. When none is idle, slices wait
// in one queue, first come first served.
type Placement string

// The placements.
const (
	// Spread takes the next idle CPU, round robin, wholly idle cores first.
	Spread Placement = "spread"
	// Packed takes the lowest-numbered idle CPU, so that few CPUs are ever used.
	Packed Placement = "packed"
	// Sticky takes the CPU that the process ran on last when it is idle, else as Spread.
	Sticky Placement = "sticky"
)

// Workload is what the machine runs. Times are in seconds; CPU work is in seconds
// at nominal frequency on an otherwise idle core.
type Workload struct {
	Name   string `toml:"name" json:"name"`
	Source string `toml:"source" json:"source"`
	Kind   Kind   `toml:"kind" json:"kind"`

	Users  int     `toml:"users" json:"users"`         // closed: users, jobs, workers or writers. Dialog with 0 is open
	Slices int     `toml:"slices" json:"slices"`       // Dialog: slices of a step
	Slice  Dist    `toml:"slice" json:"slice"`         // length of one slice of CPU work, s
	Wait   Dist    `toml:"wait" json:"wait"`           // database wait between two slices, s; may be zero
	Think  Dist    `toml:"think" json:"think"`         // Dialog closed, Commit: between steps, s; may be zero
	Work   float64 `toml:"work" json:"work,omitempty"` // Batch, Query: CPU work of a job or worker, s
	// MemoryShare is the share of the work that does not scale with frequency, 0 to
	// 1: a second of work takes (1-MemoryShare)*nominal/f + MemoryShare.
	MemoryShare float64   `toml:"memory_share" json:"memory_share"`
	Placement   Placement `toml:"placement" json:"placement"`

	Device    Dist `toml:"device" json:"device"`         // Commit: latency of one flush, s
	FlushWork Dist `toml:"flush_work" json:"flush_work"` // Commit: CPU work of the log writer before each flush, s; may be zero
}

// Open reports whether steps arrive whatever the system does, so that the case
// needs a load.
func (w Workload) Open() bool { return w.Kind == Dialog && w.Users == 0 }
