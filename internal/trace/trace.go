// Package trace asks the kernel's scheduler what it does with a service: how long CPUs
// compute and idle, and which share of that is the service's; how long its threads
// wait for a CPU, behind others and on idle ones; how long they run beside a busy
// sibling.
//
// Programs in the kernel (folder kernel) count, in short windows at random moments.
// How much of the time windows cover follows from a budget: see budget.go.
// Where they cannot be loaded, [BoundsOf] gives what the kernel counts anyway.
package trace

import (
	"time"

	"hostlab/internal/chain"
	"hostlab/internal/model/burstlog"
	"hostlab/internal/proc"
	"hostlab/internal/result"
	"hostlab/internal/waits"
)

// Target is the service: processes with their children, or control groups with
// those below them.
type Target struct {
	Name    string   // as in "pid:4711", for messages
	PIDs    []int    // children that there are or that come belong to it too
	Cgroups []string // directories of one hierarchy, as /sys/fs/cgroup/system.slice/postgresql.service
}

// Processes are its members now, with their descendants.
func (t Target) Processes() (pids []int) {
	for _, s := range proc.Below(proc.All(), append(proc.InGroups(t.Cgroups...), t.PIDs...)...) {
		pids = append(pids, s.PID)
	}
	return pids
}

// Config says what is recorded.
type Config struct {
	Target Target
	For    time.Duration
	// Budget is how much of the CPU time in use recording may take; 0 is DefaultBudget.
	Budget float64
	// Root is where /proc and /sys are; "" for this host.
	Root string
	// Chains asks what ends the service's waits: of all its threads, or of those that serve sessions. Words are those of
	// PostgreSQL's processes; nil: it is none, or they cannot be read.
	Chains   bool
	Sessions bool
	Words    *waits.Words
	// Progress is called after each window, if it is not nil.
	Progress func(done time.Duration)

	detach bool //nolint:unused // on Linux: between windows, however few switches there are
}

// DefaultBudget leaves half of the promised 1 % to what no counter shows, as colder caches.
const DefaultBudget = 0.005

// Result is what was seen.
type Result struct {
	Target  string
	Started time.Time
	Length  float64 // s, from the first window to the last
	Seen    float64 // s of it that lay in windows
	Windows int
	// Ended is why the recording ended before its time; "" where it did not.
	Ended string

	CPUs []CPU
	// The service's, in seconds per second: Run on a CPU, Queue waiting for one. Busy is
	// that of all CPUs and all tasks. Intervals hold for the whole Length.
	Run, Queue, Busy result.Estimate
	// Overlap is Run beside a busy sibling; nil where NoOverlap says why there is none.
	Overlap   *result.Estimate
	NoOverlap string
	Alone     bool // no CPU shares its core with another that is online
	// Wake-ups of the service whose CPU was idle when they began, and those that found it busy.
	OnIdle, OnBusy Latency

	Series []Window         // for a picture of the time
	Bursts []burstlog.Burst // that began in a window, in full length; by CPU and time
	Lost   uint64           // bursts for which there was no room
	Missed uint64           // looks at a task that failed
	Unseen uint64           // switches that the kernel did not tell of
	Cost   Cost
	Ends   *chain.Account // nil: nobody asked
}

// Window is a stretch that was watched, in which the parts are s in each second.
type Window struct {
	At, Length       float64 // s from the start
	Run, Queue, Busy float64
}

// CPU is one processor's part.
type CPU struct {
	Number int     `json:"cpu"`
	Busy   float64 `json:"busy"`    // share of the time in windows
	Run    float64 `json:"service"` // that the service ran
	Bursts int     `json:"bursts"`
	Lost   int     `json:"-"`
}

// Cost is what the recording took.
type Cost struct {
	Switches     uint64  `json:"switches"`            // context switches while it was attached
	Watched      uint64  `json:"switches_in_windows"` // of those
	OnNS         float64 `json:"in_window_ns"`        // of the programs, for each switch in windows
	OffNS        float64 `json:"outside_ns"`
	Measured     bool    `json:"measured"` // else OnNS and OffNS are taken from other machines
	Programs     float64 `json:"programs"` // s of CPU time
	Reader       float64 `json:"reader"`   // s of CPU time of the thread that reads
	OfBusy       float64 `json:"of_cpu_time_in_use"`
	Budget       float64 `json:"budget"`
	SwitchesPerS float64 `json:"switches_per_s"`
}

// SeenShare is the share of the time that lay in windows.
func (r *Result) SeenShare() float64 { return min(1, r.Seen/r.Length) }

// LostShare is the share of bursts that are not in the record.
func (r *Result) LostShare() float64 {
	if r.Lost == 0 {
		return 0
	}
	return float64(r.Lost) / float64(r.Lost+uint64(len(r.Bursts)))
}

// Unavailable is why the kernel cannot be asked here.
type Unavailable struct{ Reason string }

func (u *Unavailable) Error() string { return u.Reason }
