package explain

import (
	"context"
	"time"

	"hostlab/internal/screen"
)

// Source is one server that is asked. Implementations do not change anything in it.
// Calls come one at a time. An error of Sample or Count ends a recording; its text is
// one line without a password.
type Source interface {
	// Server returns what is known before the recording.
	Server() Server
	// Sample returns who did what since the last call: one snapshot of now, or those
	// that the server has taken itself meanwhile.
	Sample(ctx context.Context) ([]Snapshot, error)
	// Count reads the server's counters.
	Count(ctx context.Context) (Counters, error)
	// Account makes of the counters' growth over the recording what they mean.
	Account(d Growth) Account
	// Meaning says an event in our words, or "".
	Meaning(event string) string
	// Close ends the session. It may be called again.
	Close() error
}

// Costed is a Source that knows what the server's side of its own session has used
// of a CPU, in s; ok is false where it does not.
type Costed interface {
	OwnCPU() (seconds float64, ok bool)
}

// Looker is a Source that may see what sessions do without a question, as in the memory of the server's processes.
type Looker interface {
	// Look looks for a while, at times that are so far apart in the mean, and returns what it saw; ok is false where it
	// cannot, so that samples are asked for.
	Look(ctx context.Context, until time.Time, mean time.Duration) (shots []Snapshot, ok bool)
	// Looks are how often it has asked the server so far, and what looks have taken of a CPU here, s; ok is false where
	// samples are asked for.
	Looks() (questions int, cpu float64, ok bool)
}

// Begins is a Source that keeps what it saw in a recording. Begin forgets that of an earlier one.
type Begins interface{ Begin() }

// Hosted is a Source that may know the processes of this host that its server is made of.
type Hosted interface {
	// Process is the server's first process, and the process or thread that serves this
	// session; ok is false where they are of another host, or hidden.
	Process() (server int, own int64, ok bool)
}

// Server is what is known of a server before it is recorded.
type Server struct {
	Vendor  string // PostgreSQL, MariaDB, ...
	Version string
	Target  string // host, port, database, user
	Missing []string
	// Hidden is set where sessions of others do not show to this user.
	Hidden bool
	// OwnRate is set where the server takes the samples itself, every so many seconds.
	OwnRate float64
	// Platform are the server's settings that meet the platform below it, as it says itself.
	Platform Settings
}

// Settings are values of a server's settings by its own names for them; without any where it was not asked, or did
// not answer.
type Settings struct {
	Source string            `json:"source"` // the view, or the command
	Values map[string]string `json:"values"`
}

// AskSettings asks a question that answers with names and values. A server that refuses is no error: files tell, too.
func AskSettings(ctx context.Context, a Asker, source string, q Query) Settings {
	s := Settings{Source: source, Values: map[string]string{}}
	rows, err := a.Ask(ctx, q)
	if err != nil {
		return s
	}
	for _, r := range rows {
		s.Values[screen.Cut(r.Text(0), longest)] = screen.Cut(r.Text(1), longest)
	}
	return s
}

// Snapshot is who did what at one moment.
type Snapshot struct {
	Sessions []Session
	Seconds  float64 // since the snapshot before; 0: as long as it was by our clock
	Masked   int     // sessions whose state this user may not see
}

// Session is one of them.
type Session struct {
	ID         int64
	Part       PartName
	Event      string // vendor's words
	Background bool   // of the server's own; never counted as time of a client
	Leader     int64  // of a parallel worker: whose work it does
	Times      int    // as so many of them; 0: one
}

// The events that are not waits. A session that shows no wait is Running until CPU time is counted. A vendor that
// cannot separate running from waits uses Executing.
const (
	OnCPU     = "on CPU"
	Running   = "on CPU or ready"
	CPUQueue  = "waiting for a CPU"
	Executing = "executing"
)

// Counters are a server's, since whenever.
type Counters struct {
	// Epoch changes when the counters begin anew: start time of the server, time of a
	// reset.
	Epoch string
	// Values are whole numbers, by names that only the source knows. One that falls has
	// begun anew, so a sum of floats must not be among them: its last digit may fall.
	Values map[string]int64
}

// Growth is by how much counters grew while they were watched.
type Growth struct {
	Seconds float64 // that are covered
	Values  map[string]int64
}

// Has reports whether a counter was there, and Get is its growth.
func (g Growth) Has(name string) bool { _, ok := g.Values[name]; return ok }

// Get is a counter's growth; 0 where there is none.
func (g Growth) Get(name string) float64 { return float64(g.Values[name]) }

// Account is what counters say of an interval.
type Account struct {
	Counted      []Counted
	CPU          *CPUTime // of client sessions; nil unknown
	Told         bool     // samples tell sessions that wait from those that are ready to run
	Log          Log
	Transactions int64 // -1 unknown
	// TransactionsLow and TransactionsHigh are between what they are, where they were not
	// counted; Transactions is then the likely number, or unknown.
	TransactionsLow, TransactionsHigh int64
	Handed                            bool // another process reads data for a session
	// Waits is how often clients waited in a part at most, of those parts for which the server counts
	// something that each wait takes.
	Waits map[PartName]float64
	// AtMost is what a part may have taken where a counter says that it took no time, or samples do not tell it from
	// another part, s.
	AtMost map[PartName]float64
	// Active is for how long sessions ran statements, their commits included, s; nil: not counted.
	Active *float64
	Late   float64 // transactions that may be missing, or too many, as sessions tell of theirs late
	// Unlooked is for how long looks saw nothing, s: the memory was not there, there was no room, or no CPU.
	Unlooked float64
	Missing  []string
	Warnings []string
}

// Counted is time that was counted, not sampled. It takes the place of what was
// sampled of its events.
type Counted struct {
	Part    PartName
	Events  []string // the first is its name where none was sampled
	Seconds float64
	Count   int64 // -1 unknown
	Source  string
	// All is set for a counter of all processes: clients are given the share of it that
	// they have among the samples of its events.
	All bool
	// Late is session time, in s, at the end of the recording that the counter lacks
	// yet, as a transaction was still open: what was sampled stands in. Early is
	// such time before the recording, which it may hold.
	Late, Early float64
	// Whole is set for a counter that grows with all that happens in Part: where it stands
	// still the part took no time, however few the samples.
	Whole bool
	// Blocked is set where the server tells these waits from running no more than their number:
	// what is then neither on a CPU nor ready for one is theirs, up to Seconds.
	Blocked bool
	// From is an event within which this time would be sampled, as the server does not
	// separate it there; "" none.
	From string
}

// CPUTime is what client sessions used, and how long they were ready to run and had
// no CPU.
type CPUTime struct {
	Run, Queue float64 // s; Queue is 0 where it is not known
	Source     string
	// Between QueueLow and QueueHigh is Queue, where sessions ended between two looks.
	QueueLow, QueueHigh float64
}
