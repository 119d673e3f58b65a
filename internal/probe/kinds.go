package probe

import "hostlab/internal/result"

// The kinds of measurements; a kind with what tells its measurements apart is their name in
// JSON, as in wakeup.alu.10ms.cpu0. Labels.CPU, Slice or Degree hold the same as values.
const (
	WakeALU     result.Kind = "wakeup.alu"   // ratio: arithmetic after a pause over awake
	WakeMixed   result.Kind = "wakeup.mixed" // ratio: the same with loads from the L2 cache
	WakeCold    result.Kind = "wakeup.cold"  // ratio: what mixed loses beyond arithmetic
	ClockBusy   result.Kind = "wakeup.frequency.busy"
	ClockSlept  result.Kind = "wakeup.frequency.after-sleep"
	LateMedian  result.Kind = "wakeup.latency.p50"
	LateTail    result.Kind = "wakeup.latency.p99"
	LateControl result.Kind = "wakeup.latency.floor" // of a thread that watches the clock instead

	SlowDown     result.Kind = "siblings.slowdown"
	PingPong     result.Kind = "siblings.pingpong"
	HarmSibling  result.Kind = "siblings.harm.sibling" // ratio: locks beside a scan on the sibling over alone
	HarmOther    result.Kind = "siblings.harm.other"
	LocksAlone   result.Kind = "siblings.acquisitions.alone"   // 1/s
	LocksSibling result.Kind = "siblings.acquisitions.sibling" // 1/s
	LocksOther   result.Kind = "siblings.acquisitions.other"
	ScansSibling result.Kind = "siblings.scans.sibling" // 1/s
	ScansOther   result.Kind = "siblings.scans.other"

	CommitDrift result.Kind = "commit.drift" // ratio: the last third of the time over the first
	CommitGain  result.Kind = "commit.gain"  // ratio: memory over a recycled log

	Throughput result.Kind = "degree.throughput"
	SpeedUp    result.Kind = "degree.speedup"
	Efficiency result.Kind = "degree.efficiency"
)

// CommitFile is one of the files that the commit probe writes. Its distribution has its name.
type CommitFile string

// The files of the commit probe.
const (
	NewBlocks CommitFile = "commit"
	Recycled  CommitFile = "commit.overwritten"
	InMemory  CommitFile = "commit.memory"
)

// Stat is what is said of the commits into one file.
type Stat string

// The statistics of commits.
const (
	Mean    Stat = "mean"
	Median  Stat = "p50"
	Tail    Stat = "p99"
	Longest Stat = "max"
	Rate    Stat = "rate"
	Twice   Stat = "aa" // the A/A ratio
)

// Of is the kind of a statistic of one file.
func (f CommitFile) Of(s Stat) result.Kind { return result.Kind(string(f) + "." + string(s)) }
