// Package scanlock runs threads that take a lock beside threads that scan memory,
// each pinned to a CPU, as the program of Slava Oks' "Be aware: To Hyper or not to
// hyper" (2005) does. The workloads scanlock and corun, the command scanlock and the
// probe of siblings are made of it.
package scanlock

import (
	"fmt"
	"slices"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/workload"
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

// The layouts: each alone in its cache lines, or the published program's array of 16-byte
// elements, where four threads share a line.
const (
	Padded Layout = "padded"
	Packed Layout = "packed"
)

// Thread is one thread of a cell.
type Thread struct {
	CPU  int  `json:"cpu"`
	Role Role `json:"role"`
}

// Cell is what runs together. Without a Lock it is TTAS, without a Layout Padded, and
// without a ScanSize the published program's.
type Cell struct {
	Threads  []Thread `json:"threads"`
	Lock     LockKind `json:"lock"`
	Critical int      `json:"critical"`  // dependent additions while the lock is held; 0: none, as published
	Touch    bool     `json:"touch"`     // the critical section adds to data that the lock protects
	Parallel int      `json:"parallel"`  // dependent additions between release and the next try
	NoPause  bool     `json:"no_pause"`  // spin without PAUSE
	ScanSize int      `json:"scan_size"` // bytes of each scanner's block; as published 1 MiB
	Layout   Layout   `json:"layout"`
	Timed    bool     `json:"timed"` // measure how long each acquisition takes; costs more than the lock itself
}

// Count is what one thread has done since it started. Counters only rise.
type Count struct {
	Thread
	Acquisitions uint64        `json:"acquisitions"`
	Spins        uint64        `json:"spins"`
	Rounds       uint64        `json:"rounds"`   // scans of the whole block; blocks of instructions of pause, alu and fma
	Bytes        uint64        `json:"bytes"`    // that a scan overwrote, parts of a round included
	CPUTime      time.Duration `json:"cpu_time"` // that the thread has had; HasCPU
	Waited       time.Duration `json:"waited"`   // ready, but others had the CPU; HasWaited
	HasCPU       bool          `json:"has_cpu"`
	HasWaited    bool          `json:"has_waited"`
}

// Snapshot is all threads' counts at one moment.
type Snapshot struct {
	At     time.Duration `json:"at"`     // since all threads ran
	Counts []Count       `json:"counts"` // in the order of Cell.Threads
	// Waits is how many acquisitions took how long, of Timed cells, in the classes whose
	// upper edges WaitEdges gives.
	Waits []uint64 `json:"waits,omitempty"`
}

// PublishedScan is how many bytes the published program's scanner overwrites.
const PublishedScan = 1 << 20

// maxScan bounds a scanner's block.
const maxScan = 64 << 30

// WaitEdges are the upper edges of the classes of Snapshot.Waits in seconds, ten a
// decade from 1 ns to 100 s; the last class has what is longer, too.
func WaitEdges() []float64 { return workload.Edges([]float64{1e-9, 100}, 10) }

// The lock kinds, roles and layouts there are.
var (
	Locks   = []LockKind{TAS, TTAS, Ticket, MCS, Mutex}
	Roles   = []Role{Lock, Scan, Pause, ALU, FMA, Own}
	Layouts = []Layout{Padded, Packed}
)

// Takes reports whether threads of this role take locks.
func (r Role) Takes() bool { return r == Lock || r == Own }

// checked is the cell with what it left out, or an error that says what is wrong.
func (c Cell) checked() (Cell, error) {
	if c.Lock == "" {
		c.Lock = TTAS
	}
	if c.Layout == "" {
		c.Layout = Padded
	}
	if c.ScanSize == 0 {
		c.ScanSize = PublishedScan
	}
	switch {
	case len(c.Threads) == 0:
		return c, fmt.Errorf("no threads to run")
	case !slices.Contains(Locks, c.Lock):
		return c, fmt.Errorf("lock %q is none of %v", c.Lock, Locks)
	case !slices.Contains(Layouts, c.Layout):
		return c, fmt.Errorf("layout %q is none of %v", c.Layout, Layouts)
	case c.ScanSize < hot.LineSize || c.ScanSize > maxScan:
		return c, fmt.Errorf("a scan of %d bytes: it takes %d to %d", c.ScanSize, hot.LineSize, maxScan)
	case c.Critical < 0 || c.Parallel < 0:
		return c, fmt.Errorf("a negative number of additions: %d while the lock is held, %d between", c.Critical, c.Parallel)
	}
	for _, t := range c.Threads {
		if !slices.Contains(Roles, t.Role) {
			return c, fmt.Errorf("CPU %d: role %q is none of %v", t.CPU, t.Role, Roles)
		}
	}
	return c, nil
}
