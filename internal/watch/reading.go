// Package watch samples what the CPUs of a machine do: their use, their frequency,
// the sleep they are in, what waits for them, and what a commit to the log device
// costs meanwhile. It records that, and reads from a record whether load spread
// evenly over the CPUs after a quiet night.
//
// A Reading holds counters as the machine has them, a Sample what happened
// between two readings. Unknown numbers are NaN, never 0. Unless a name says
// otherwise, times are in seconds, frequencies in hertz, and shares are 0 to 1.
package watch

import (
	"math"
	"time"
)

// Times are the CPU times of one CPU since boot in s (proc(5), /proc/stat). User
// holds the time of guests, which the kernel counts there too.
type Times struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ, Steal float64
}

// Busy is the time in which the CPU worked for this machine: without steal.
func (t Times) Busy() float64 { return t.User + t.Nice + t.System + t.IRQ + t.SoftIRQ }

// CPUReading is one CPU that is online.
type CPUReading struct {
	ID        int
	Times     Times
	Frequency float64   // Hz, as scaling_cur_freq tells; NaN
	States    []float64 // s in each idle state since boot; nil where not to be had
	Effective float64   // Hz while busy, since the CPU was last read busy; NaN
}

// Pressures are the resources of /proc/pressure in the order of Reading.Pressure.
var Pressures = [...]string{"cpu", "io", "memory"}

// Stall is the time since boot in s in which some task waited, or all did; NaN.
type Stall struct{ Some, Full float64 }

// DiskReading are the counters of a disk under the log since boot (Documentation/admin-guide/iostats.rst).
type DiskReading struct {
	Name      string
	Writes    float64 // requests completed
	WriteTime float64 // s in them
	Flushes   float64 // requests completed; NaN before Linux 5.5
	FlushTime float64 // s in them
}

// Reading is one look at the machine's counters.
type Reading struct {
	At       time.Time
	CPUs     []CPUReading // ascending by ID
	Pressure [len(Pressures)]Stall
	Disks    []DiskReading
	Commits  []float64 // s of each commit that --probe-commits made for this reading
}

// IdleState is a sleep state as cpuidle lists it.
type IdleState struct {
	Name    string  `json:"name"`
	Latency float64 `json:"exit_latency"` // s to leave it
}

// DeepLatency is the exit latency in s from which a state counts as deep sleep: C6 of
// Intel's servers takes 82 to 290 us and C2 of AMD's 100 us and more to leave, C1 and
// C1E 1 to 10 us (tables of drivers/idle/intel_idle.c, Linux 6.12).
const DeepLatency = 50e-6

// Unknown says why a quantity is not to be had on this machine.
type Unknown struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Info is what does not change between readings.
type Info struct {
	Hostname  string
	Highest   map[int]float64     // Hz, cpuinfo_max_freq of each CPU that has one
	States    map[int][]IdleState // of each CPU that has some
	Effective string              // what the effective frequency is read from; "" unknown
	Disks     []string            // under the log directory
	Unknown   []Unknown
}

var unknown = math.NaN()

func known(v float64) bool { return !math.IsNaN(v) }
