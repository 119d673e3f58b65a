// Package explain says where the time of a live database goes, and what each lever
// could give at most: the part of the time that a lever touches bounds its gain,
// whatever is bought. It knows no vendor: how a server is asked is in the packages
// below, behind Source.
package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"hostlab/internal/result"
)

// Part is a share of the elapsed time. Parts add up to it; what no source explains is
// the part Unexplained.
type Part struct {
	Name    PartName `json:"name"`
	Seconds float64  `json:"seconds"`
	// Within is the time on CPUs, and ready for one, that this part's calls and waits bring
	// along, s: it is in those parts, and goes away with this one.
	Within float64 `json:"within"`
	// Share is of Elapsed, 0 to 1: N snapshots gave its 95 % interval. Where it was counted
	// alone N is 0, and the interval is how it differs between stretches.
	Share  result.Estimate `json:"share"`
	Source string          `json:"source"` // view, counter or sample that it comes from
}

// UnmarshalJSON reads a part. One that takes no time, counted, has no estimate in JSON.
func (p *Part) UnmarshalJSON(data []byte) error {
	type plain Part
	err := json.Unmarshal(data, (*plain)(p))
	if !p.Share.Known() {
		p.Share = result.Estimate{}
	}
	return err
}

// PartName is one of ours; vendors' words are in events. Its titles are in titles.
type PartName string

// The parts. Their names are in JSON.
const (
	Application PartName = "application"
	DatabaseCPU PartName = "cpu"
	RunQueue    PartName = "run_queue"
	LogWait     PartName = "log"
	DataReads   PartName = "data_read"
	Locks       PartName = "lock"
	Peers       PartName = "peer" // for answers of servers that it asks
	OtherWaits  PartName = "other"
	Idle        PartName = "idle"
	Unexplained PartName = "unexplained"
)

// PartNames are all parts, in the order in which they are shown.
var PartNames = []PartName{DatabaseCPU, RunQueue, LogWait, DataReads, Locks, Peers, OtherWaits, Application, Idle,
	Unexplained}

// OfSessions are the parts of a database's sessions; the others show of threads alone.
var OfSessions = slices.DeleteFunc(slices.Clone(PartNames), func(p PartName) bool { return p == Peers })

var titles = map[PartName]string{
	DatabaseCPU: "on CPU", RunQueue: "wait for a CPU", LogWait: "log wait", DataReads: "data reads", Locks: "locks",
	Peers: "other servers", OtherWaits: "other waits", Application: "wait for clients",
}

// Class is the part as a class of a page's style sheet.
func (p PartName) Class() string { return "part " + string(p) }

// Title is a part's name for people.
func (p PartName) Title() string { return cmp.Or(titles[p], string(p)) }

// Untold is the event of a session in a state that does not show, which waits for its client: within a transaction
// or not.
const Untold = "Client:ClientRead in an unknown state"

// Event is a wait event in the vendor's words.
type Event struct {
	Name    string          `json:"name"`    // IO:WALSync, log file sync, WRITELOG, ...
	Meaning string          `json:"meaning"` // in ours; "" where we have no words for it
	Part    PartName        `json:"part"`    // that it belongs to
	Count   int64           `json:"count"`   // waits; -1 unknown, as where it was only sampled
	Seconds float64         `json:"seconds"` // in all client sessions together
	Average *float64        `json:"average"` // s a wait; nil: not known
	Share   result.Estimate `json:"share"`   // of Elapsed, as a Part's
	Source  string          `json:"source"`
}

// Log is the log device's own account: all that the server wrote, for all sessions.
type Log struct {
	Writes  int64    `json:"writes"`  // -1 unknown
	Syncs   int64    `json:"syncs"`   // -1 unknown
	Bytes   int64    `json:"bytes"`   // -1 unknown
	Seconds *float64 `json:"seconds"` // of writing and syncing; nil: not known
	Average *float64 `json:"average"` // s a log write; nil: not known, with its sync
	Source  string   `json:"source"`
	// Stretches are means of Average over stretches of the recording, in order, as far as
	// something was written in them: two modes of a device, or a drift, show there.
	Stretches []float64 `json:"stretches"`
	// Untimed is why Average is not known though there were log writes.
	Untimed string `json:"untimed,omitempty"`
}

// NoLog is an account of which nothing is known.
func NoLog() Log {
	return Log{Writes: -1, Syncs: -1, Bytes: -1}
}

// Stretch is a part of the interval: a second, or more of a long one.
type Stretch struct {
	Seconds      float64              `json:"seconds"`      // that it took
	Parts        map[PartName]float64 `json:"parts"`        // s, of all sessions together
	Transactions int64                `json:"transactions"` // -1 unknown
	Active       *float64             `json:"-"`            // s, as Account has it
	// the server's counters began anew in it: what they counted is not all here
	Reset bool `json:"-"`
}

// Report is the decomposition of one interval. It is also what is saved and compared.
type Report struct {
	Tool    string    `json:"hostlab"` // version of the program
	Vendor  string    `json:"vendor"`
	Version string    `json:"version"`
	Target  string    `json:"target"` // host, port, database and user; never a password
	Started time.Time `json:"started"`
	Wall    float64   `json:"wall"` // s that were recorded
	// Elapsed is the time of all client sessions together, s: what parts add up to. Ten
	// sessions that stay for a minute have 600 s.
	Elapsed float64 `json:"elapsed"`
	// Busy is Elapsed without Idle: the time that jobs take. Bounds are shares of it.
	Busy float64 `json:"busy"`
	// Untold is what of Busy may not be: sessions that tell no state waited for their clients, s.
	Untold   float64 `json:"untold,omitempty"`
	Peak     int     `json:"sessions_at_once"`         // most client sessions that were seen busy together; 0 unknown
	Samples  int     `json:"samples"`                  // 0: nothing was sampled
	Seen     *int    `json:"active_samples,omitempty"` // of those, with a session at work; nil: not known
	Interval float64 `json:"sample_interval"`          // s, mean
	// Looks are how many samples were taken of the server's memory, without a question, and Questions how often it was
	// asked then.
	Looks     int     `json:"looks,omitempty"`
	Questions int     `json:"questions,omitempty"`
	Cost      float64 `json:"sampling_share"` // of one CPU that asking took, in the server and here
	// Cost is an upper limit, the share of Wall until answers came: the server's side cannot be seen
	CostAtMost   bool   `json:"sampling_share_at_most,omitempty"`
	Method       string `json:"method"`       // how intervals come about
	Transactions int64  `json:"transactions"` // -1 unknown
	// TransactionsLow and TransactionsHigh are what they are between where they were not
	// counted; 0: they were, or that is not known either.
	TransactionsLow  int64 `json:"transactions_low,omitempty"`
	TransactionsHigh int64 `json:"transactions_high,omitempty"`
	// s in which looks at its memory saw nothing
	Unlooked float64 `json:"unlooked,omitempty"`
	// that may be missing or too many, as sessions tell of theirs late
	Late   float64   `json:"transactions_late,omitempty"`
	Active *float64  `json:"-"` // s, as Account has it
	Parts  []Part    `json:"parts"`
	Course []Stretch `json:"course"` // the same time in stretches, in order
	Events []Event   `json:"events"`
	Log    Log       `json:"log"`
	Totals *Totals   `json:"totals,omitempty"` // of the server as a whole; nil: nothing
	// reads of data that were none of a device; nil: that does not show
	Copies *Copies `json:"copies,omitempty"`
	// Sampled are the seconds of client sessions' events as they were sampled, before counters took the place of any.
	Sampled map[string]float64 `json:"sampled,omitempty"`
	// Statements are the most frequent ones of each part that matters, and Blockers those for whom sessions waited.
	Statements []Statement `json:"statements,omitempty"`
	Blockers   []Blocker   `json:"blockers,omitempty"`
	Vacuum     *Vacuum     `json:"vacuum,omitempty"` // nil: no worker was seen
	Queue      *Queue      `json:"queue,omitempty"`  // nil: each session has a thread, or that does not show
	Missing    []string    `json:"missing"`          // what could not be seen, and which grant would show it
	Warnings   []string    `json:"warnings"`
	Hidden     bool        `json:"sessions_hidden"` // sessions of others do not show to this user
	Ended      string      `json:"ended"`           // why it ended early; "" where it did not
}

// lateMost is the share of the transactions that may be missing without a word.
const lateMost = 0.02

// late says how far the count of transactions may be off, where that matters.
func (r *Report) late() {
	if off := r.Late / float64(max(1, r.Transactions)); r.Transactions >= 0 && off > lateMost {
		r.Missing = append(r.Missing,
			fmt.Sprintf("transactions of the last second: sessions tell of theirs up to 1 s late, so that "+
				"the count may be off by up to %.0f %%; of a longer time, by less", min(100, 100*off)))
	}
}

// unlooked says for which share of the time looks saw nothing, where that is more than a word needs.
func (r *Report) unlooked() {
	if r.Unlooked > 0.01*r.Wall {
		r.Missing = append(r.Missing, fmt.Sprintf("what sessions waited for in %s of the time: looks at the server's memory saw nothing then",
			result.Share(min(1, r.Unlooked/r.Wall))))
	}
}

// Part finds a part; zero where there is none.
func (r *Report) Part(name PartName) Part {
	for _, p := range r.Parts {
		if p.Name == name {
			return p
		}
	}
	return Part{Name: name}
}

// Timed sets what n log writes took in all, s.
func (l *Log) Timed(seconds, n float64) {
	l.Seconds = result.Finite(seconds)
	if n > 0 {
		l.Average = result.Finite(seconds / n)
	}
}
