// Package explain says where the time of a job or of a live database goes, and what
// each lever could give at most: a part of the time that a lever touches bounds its
// gain, whatever is bought. It is pure; how a server is asked is in the packages below.
package explain

import "time"

// Part is a share of the elapsed time. Parts add up to it; what no source explains is
// the part Unexplained.
type Part struct {
	Name    PartName `json:"name"`
	Seconds float64  `json:"seconds"`
	Share   float64  `json:"share"` // of Elapsed, 0 to 1
	// Low and High are Share's 95 % interval where it was sampled, Share itself where it
	// was counted.
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Source string  `json:"source"` // view, counter or sample that it comes from
}

// PartName is one of ours; vendors' words are in events.
type PartName string

// The parts, in the order in which they are shown.
const (
	Application PartName = "application"
	DatabaseCPU PartName = "database_cpu"
	LogWait     PartName = "log_wait"
	DataReads   PartName = "data_reads"
	Locks       PartName = "locks"
	OtherWaits  PartName = "other_waits"
	Idle        PartName = "idle"
	Unexplained PartName = "unexplained"
)

// Event is a wait event in the vendor's words.
type Event struct {
	Name    string   `json:"name"`    // IO:WALSync, log file sync, WRITELOG, ...
	Part    PartName `json:"part"`    // that it belongs to
	Count   int64    `json:"count"`   // waits; -1 unknown, as where it was only sampled
	Seconds float64  `json:"seconds"` // in all sessions together
	Average float64  `json:"average"` // s a wait; NaN, written as null, unknown
	Share   float64  `json:"share"`   // of database time
	Low     float64  `json:"low"`
	High    float64  `json:"high"`
	Source  string   `json:"source"`
}

// Bound is what a lever can give at most.
type Bound struct {
	Lever    string     `json:"lever"`
	Parts    []PartName `json:"parts"`    // that it touches
	Share    float64    `json:"share"`    // of the elapsed time
	AtMost   float64    `json:"at_most"`  // gain as a share of the elapsed time, if those parts took no time at all; upper end of its interval
	Measured *Gain      `json:"measured"` // by a probe or an experiment; nil: not
}

// Gain is a measured gain, as a share of the elapsed time.
type Gain struct {
	Value, Low, High float64
	N                int
	Source           string
}

// Log is the log device's own account.
type Log struct {
	Writes  int64   `json:"writes"`
	Syncs   int64   `json:"syncs"`
	Bytes   int64   `json:"bytes"`
	Seconds float64 `json:"seconds"` // of writing and syncing
	Average float64 `json:"average"` // s a log write; NaN unknown
	Source  string  `json:"source"`
}

// Report is the decomposition of one interval. Elapsed is wall time, times sessions for
// a live server (its database time).
type Report struct {
	Vendor   string    `json:"vendor"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Wall     float64   `json:"wall"`    // s
	Elapsed  float64   `json:"elapsed"` // s, that parts add up to
	Samples  int       `json:"samples"` // 0: nothing was sampled
	Parts    []Part    `json:"parts"`
	Events   []Event   `json:"events"`
	Log      Log       `json:"log"`
	Bounds   []Bound   `json:"bounds"`
	Missing  []string  `json:"missing"` // what could not be seen, and which grant would show it
	Warnings []string  `json:"warnings"`
}
