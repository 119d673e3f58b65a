// Package scanlock runs threads that take a lock beside threads that scan memory,
// each pinned to a CPU, as the program of Slava Oks' "Be aware: To Hyper or not to
// hyper" (2005) does: command scanlock and study smt are made of it.
package scanlock

import (
	"context"
	"time"
)

// Role is what a thread does.
type Role string

// The roles. Scan stores to every line of a block of its own; the others of the
// second line stand in its place, to tell caches from issue slots.
const (
	Lock  Role = "lock"
	Scan  Role = "scan"
	Pause Role = "pause"
	ALU   Role = "alu"
	FMA   Role = "fma"
	Own   Role = "own" // takes a lock that nobody else wants
)

// LockKind is how the lock is taken.
type LockKind string

// The locks. Mutex is the operating system's: a futex on Linux, an SRW lock on Windows.
const (
	TAS    LockKind = "tas"
	TTAS   LockKind = "ttas"
	Ticket LockKind = "ticket"
	MCS    LockKind = "mcs"
	Mutex  LockKind = "mutex"
)

// Layout is where the threads' counters lie.
type Layout string

// The layouts: each alone in its cache lines, or the seed's array of 16-byte
// elements, where four threads share a line.
const (
	Padded Layout = "padded"
	Seed   Layout = "seed"
)

// Thread is one thread of a cell.
type Thread struct {
	CPU  int  `json:"cpu"`
	Role Role `json:"role"`
}

// Cell is what runs together.
type Cell struct {
	Threads  []Thread `json:"threads"`
	Lock     LockKind `json:"lock"`
	Critical int      `json:"critical"`  // dependent additions while the lock is held; 0: none, as the seed
	Touch    bool     `json:"touch"`     // the critical section adds to data that the lock protects
	Parallel int      `json:"parallel"`  // dependent additions between release and the next try
	NoPause  bool     `json:"no_pause"`  // spin without PAUSE
	ScanSize int      `json:"scan_size"` // bytes of each scanner's block; the seed has 1 MiB
	Layout   Layout   `json:"layout"`
	Timed    bool     `json:"timed"` // measure how long each acquisition takes; costs more than the lock itself
}

// Count is what one thread has done since it started. Counters only rise.
type Count struct {
	Thread
	Acquisitions uint64        `json:"acquisitions"`
	Spins        uint64        `json:"spins"`
	Rounds       uint64        `json:"rounds"`   // scans of the whole block; blocks of instructions of pause, alu and fma
	CPUTime      time.Duration `json:"cpu_time"` // that the thread has had; HasCPU
	Waited       time.Duration `json:"waited"`   // ready, but others had the CPU; HasWaited
	HasCPU       bool          `json:"has_cpu"`
	HasWaited    bool          `json:"has_waited"`
}

// Snapshot is all threads' counts at one moment.
type Snapshot struct {
	At     time.Duration `json:"at"`     // since all threads ran
	Counts []Count       `json:"counts"` // in the order of Cell.Threads
	// Waits is how many acquisitions took how long, of Timed cells: Edges of
	// workload/latency, in seconds.
	Waits []uint64 `json:"waits,omitempty"`
}

// Session is threads that run in a worker process. Close must be called.
type Session struct{}

// Start starts a worker process and the threads of a cell in it. Errors name the
// CPU that cannot be used. Cancelling ctx kills the worker.
func Start(ctx context.Context, c Cell) (*Session, error) { panic("not written") }

// Snapshot reads the counters while the threads run. A worker that does not answer
// within two seconds is killed, and one that died is told with its reason.
func (s *Session) Snapshot() (Snapshot, error) { panic("not written") }

// Check returns why the worker is of no more use, within two seconds of its death or
// of its hanging; nil while it runs. It may be called at any time.
func (s *Session) Check() error { panic("not written") }

// Close stops the threads and the worker. It may be called again.
func (s *Session) Close() error { panic("not written") }
