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
	"slices"
	"time"

	"hostlab/internal/proc"
	"hostlab/internal/stats"
)

// CPU is what one CPU did between two readings: shares of the time, which together
// are 1. All are NaN where its counters did not move, as in a recorded machine.
type CPU struct {
	ID        int       `json:"cpu"`
	User      float64   `json:"user"`
	System    float64   `json:"system"`
	IOWait    float64   `json:"iowait"`
	Steal     float64   `json:"steal"`
	Idle      float64   `json:"idle"`
	Frequency float64   `json:"frequency_hertz"`
	Ratio     float64   `json:"frequency_ratio"` // Frequency of the highest; above 1 where a driver counts turbo out
	Effective float64   `json:"effective_hertz"` // while busy
	Deep      float64   `json:"deep"`            // share of the time in states of DeepLatency or more
	States    []float64 `json:"-"`               // share of the time in each idle state
}

// Busy is the share in which the CPU worked.
func (c CPU) Busy() float64 { return c.User + c.System }

// Disk is what the disks under the log did: requests completed, and s of each.
type Disk struct {
	Name     string  `json:"device"`
	Writes   float64 `json:"writes"`
	PerWrite float64 `json:"write_seconds"`
	Flushes  float64 `json:"flushes"`       // NaN before Linux 5.5
	PerFlush float64 `json:"flush_seconds"` // NaN where there was none
}

// Sample is what happened between two readings.
type Sample struct {
	At       time.Time // its end
	Seconds  float64   // its length
	CPUs     []CPU     // those online at both ends
	Pressure [len(Pressures)]proc.Pressure
	Disks    []Disk
	Commits  []float64 // s
	System   *System   // nil on Linux
}

// System is what Windows tells of all CPUs together.
type System struct {
	Queue    float64 `json:"processor_queue"`             // threads that wait for a CPU, at the sample's end
	Switches float64 `json:"context_switches_per_second"` // mean over the sample
}

// Between tells what happened between two readings of one machine.
func Between(info Info, a, b Reading) Sample {
	s := Sample{At: b.At, Seconds: b.At.Sub(a.At).Seconds(), Commits: b.Commits, System: b.System}
	s.CPUs = make([]CPU, 0, len(b.CPUs))
	j := 0
	for _, now := range b.CPUs {
		for j < len(a.CPUs) && a.CPUs[j].ID < now.ID {
			j++
		}
		if j < len(a.CPUs) && a.CPUs[j].ID == now.ID {
			s.CPUs = append(s.CPUs, s.cpu(info, a.CPUs[j], now))
		}
	}
	for i := range s.Pressure {
		s.Pressure[i] = proc.Pressure{Some: share(a.Pressure[i].Some, b.Pressure[i].Some, s.Seconds),
			Full: share(a.Pressure[i].Full, b.Pressure[i].Full, s.Seconds)}
	}
	for i, d := range b.Disks {
		if i < len(a.Disks) && a.Disks[i].Name == d.Name {
			was := a.Disks[i]
			s.Disks = append(s.Disks, Disk{d.Name, d.Writes - was.Writes, each(d.WriteTime-was.WriteTime, d.Writes-was.Writes),
				d.Flushes - was.Flushes, each(d.FlushTime-was.FlushTime, d.Flushes-was.Flushes)})
		}
	}
	return s
}

// cpu compares two readings of one CPU. Idle and iowait can run backwards by a tick
// (proc(5)), and the sum of all, not the clock, is the whole: so no share is above 1.
func (s Sample) cpu(info Info, a, b CPUReading) CPU {
	up := func(from, to float64) float64 { return max(0, to-from) } // NaN where one is unknown
	c := CPU{ID: b.ID, Frequency: b.Frequency, Effective: b.Effective, Ratio: unknown, Deep: unknown,
		User: knownSum(up(a.Times.User, b.Times.User), up(a.Times.Nice, b.Times.Nice)),
		System: knownSum(up(a.Times.System, b.Times.System), up(a.Times.IRQ, b.Times.IRQ),
			up(a.Times.SoftIRQ, b.Times.SoftIRQ)),
		IOWait: up(a.Times.IOWait, b.Times.IOWait), Steal: up(a.Times.Steal, b.Times.Steal),
		Idle: up(a.Times.Idle, b.Times.Idle)}
	whole := knownSum(c.User, c.System, c.IOWait, c.Steal, c.Idle)
	for _, v := range []*float64{&c.User, &c.System, &c.IOWait, &c.Steal, &c.Idle} {
		*v /= whole // 0/0 is NaN: unknown
	}
	if highest := info.Highest[c.ID]; highest > 0 && known(c.Frequency) {
		c.Ratio = c.Frequency / highest
	}
	states := info.States[c.ID]
	if len(a.States) == len(b.States) && len(b.States) == len(states) && len(states) > 0 {
		c.States = make([]float64, len(states))
		c.Deep = 0
		for i := range states {
			c.States[i] = share(a.States[i], b.States[i], s.Seconds)
			if states[i].Latency >= DeepLatency {
				c.Deep += c.States[i]
			}
		}
	}
	return c
}

// knownSum adds up what is known; NaN where nothing is. Windows has no iowait, steal or nice.
func knownSum(list ...float64) float64 {
	sum, some := 0.0, false
	for _, v := range list {
		if known(v) {
			sum, some = sum+v, true
		}
	}
	if !some {
		return unknown
	}
	return sum
}

// share of the time that a counter of seconds went on. The kernel adds the time in a
// state when it is left (cpuidle_enter_state), so that a sleep of 3 s is 0, 0 and 3 in
// samples of 1 s: what shows one limits it to 1, what sums up does not.
func share(from, to, seconds float64) float64 {
	if !(seconds > 0) || !known(from) || !known(to) {
		return unknown
	}
	return max(0, to-from) / seconds
}

func each(seconds, n float64) float64 {
	if !(n > 0) {
		return unknown
	}
	return max(0, seconds) / n
}

// Total is a sample over all CPUs.
type Total struct {
	CPUs                              int
	User, System, IOWait, Steal, Idle float64
	Ratio, LeastRatio, MostRatio      float64 // frequency of the highest: mean, lowest, highest CPU
	Effective                         float64 // Hz, mean over the CPUs that were busy
	Deep                              float64
	Quarter                           float64 // share of all work that the busiest quarter of the CPUs did; 0.25 is even
}

// Busy is the share in which the CPUs worked.
func (t Total) Busy() float64 { return t.User + t.System }

// Total sums a sample up. What is known of no CPU is NaN.
func (s Sample) Total() Total {
	t := Total{CPUs: len(s.CPUs), LeastRatio: unknown, MostRatio: unknown}
	mean := func(of func(CPU) float64) float64 {
		all := make([]float64, len(s.CPUs))
		for i, c := range s.CPUs {
			all[i] = of(c)
		}
		return average(all)
	}
	t.User = mean(func(c CPU) float64 { return c.User })
	t.System = mean(func(c CPU) float64 { return c.System })
	t.IOWait = mean(func(c CPU) float64 { return c.IOWait })
	t.Steal = mean(func(c CPU) float64 { return c.Steal })
	t.Idle = mean(func(c CPU) float64 { return c.Idle })
	t.Ratio = mean(func(c CPU) float64 { return c.Ratio })
	t.Effective = mean(func(c CPU) float64 { return c.Effective })
	t.Deep = mean(func(c CPU) float64 { return c.Deep })
	busy := make([]float64, 0, len(s.CPUs))
	for _, c := range s.CPUs {
		if known(c.Ratio) {
			if !(c.Ratio >= t.LeastRatio) {
				t.LeastRatio = c.Ratio
			}
			if !(c.Ratio <= t.MostRatio) {
				t.MostRatio = c.Ratio
			}
		}
		if b := c.Busy(); known(b) {
			busy = append(busy, b)
		}
	}
	t.Quarter = busiestQuarter(busy)
	return t
}

// Commit is the median of the commits of a sample in s, and how many they were.
func (s Sample) Commit() (median float64, n int) {
	if len(s.Commits) == 0 {
		return unknown, 0
	}
	return stats.Median(s.Commits), len(s.Commits)
}

// busiestQuarter is the share of all work that the busiest quarter of the CPUs did,
// NaN without work. A number of CPUs that four does not divide takes a part of one.
func busiestQuarter(busy []float64) float64 {
	sorted := slices.Sorted(slices.Values(busy))
	slices.Reverse(sorted)
	return quarterOf(sorted)
}

// quarterOf takes them in descending order.
func quarterOf(sorted []float64) float64 {
	top, all := 0.0, 0.0
	quarter := float64(len(sorted)) / 4
	for i, b := range sorted {
		all += b
		top += b * min(1, max(0, quarter-float64(i)))
	}
	if !(all > 0) {
		return unknown
	}
	return top / all
}

// CPUReading is one CPU that is online.
type CPUReading struct {
	ID        int
	Times     proc.Times
	Frequency float64   // Hz, as scaling_cur_freq tells; NaN
	States    []float64 // s in each idle state since boot; nil where not to be had
	Effective float64   // Hz while busy, since the CPU was last read busy; NaN
}

// Pressures are the resources of /proc/pressure in the order of Reading.Pressure.
var Pressures = [...]string{"cpu", "io", "memory"}

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
	Pressure [len(Pressures)]proc.Pressure
	Disks    []DiskReading
	Commits  []float64 // s of each commit that --probe-commits made for this reading
	System   *System   // nil on Linux
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
