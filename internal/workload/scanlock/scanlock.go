// Package scanlock runs threads that take a lock beside threads that scan memory,
// each pinned to a CPU, as the program of Slava Oks' "Be aware: To Hyper or not to
// hyper" (2005) does. The workload and the command scanlock, and the probe of siblings
// are made of it.
package scanlock

import (
	"cmp"
	"fmt"
	"time"

	"hostlab/internal/hot"
)

// Role is what a thread does.
type Role string

// The roles. All lock threads of a cell want the same lock, a TTAS lock as published;
// each scanner stores to every line of a block of its own.
const (
	Lock Role = "lock"
	Scan Role = "scan"
)

// Thread is one thread of a cell.
type Thread struct {
	CPU  int  `json:"cpu"`
	Role Role `json:"role"`
}

// Cell is what runs together. Without a ScanSize it is the published program's.
type Cell struct {
	Threads  []Thread `json:"threads"`
	ScanSize int      `json:"scan_size"` // bytes of each scanner's block
}

// Count is what one thread has done since it started. Counters only rise.
type Count struct {
	Thread
	Acquisitions uint64        `json:"acquisitions"`
	Spins        uint64        `json:"spins"`
	Rounds       uint64        `json:"rounds"`   // scans of the whole block
	Bytes        uint64        `json:"bytes"`    // that a scan overwrote, parts of a round included
	CPUTime      time.Duration `json:"cpu_time"` // that the thread has had; HasCPU
	Waited       time.Duration `json:"waited"`   // ready, but others had the CPU; HasWaited
	HasCPU       bool          `json:"has_cpu"`
	HasWaited    bool          `json:"has_waited"`
}

// since subtracts an earlier reading.
func (c Count) since(b Count) Count {
	c.Acquisitions -= b.Acquisitions
	c.Spins -= b.Spins
	c.Rounds -= b.Rounds
	c.Bytes -= b.Bytes
	c.CPUTime -= b.CPUTime
	c.Waited -= b.Waited
	c.HasCPU = c.HasCPU && b.HasCPU
	c.HasWaited = c.HasWaited && b.HasWaited
	return c
}

// Snapshot is all threads' counts at one moment.
type Snapshot struct {
	At     time.Duration `json:"at"`     // since all threads ran
	Counts []Count       `json:"counts"` // in the order of Cell.Threads
}

// The bounds of a scanner's block, in bytes, and what the published program's overwrites.
const (
	LeastScan     = hot.LineSize
	MostScan      = 1 << 30
	PublishedScan = 1 << 20
)

// checked is the cell with what it left out, or an error that says what is wrong.
func (c Cell) checked() (Cell, error) {
	c.ScanSize = cmp.Or(c.ScanSize, PublishedScan)
	switch {
	case len(c.Threads) == 0:
		return c, fmt.Errorf("no threads to run")
	case c.ScanSize < LeastScan || c.ScanSize > MostScan:
		return c, fmt.Errorf("a scan of %d bytes: it takes %d to %d", c.ScanSize, LeastScan, MostScan)
	}
	for _, t := range c.Threads {
		if t.Role != Lock && t.Role != Scan {
			return c, fmt.Errorf("CPU %d: role %q is neither lock nor scan", t.CPU, t.Role)
		}
	}
	return c, nil
}
