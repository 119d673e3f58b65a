package probe

import "time"

// cpuLoad is what a CPU has done, in seconds.
type cpuLoad struct {
	Busy  float64 // for anybody, without what the hypervisor took
	Steal float64 // taken by the hypervisor, where it says so
}

// disturbedShare is the share of a measurement's time that others may take, by
// pre-emption, by running on the CPU while it should be idle, or by steal,
// before the measurement counts as disturbed.
const disturbedShare = 0.02

// foreignShare returns which part of wall seconds on some CPUs went to others than
// us, who used own seconds of it in all.
func foreignShare(before, after map[int]cpuLoad, own, wall float64) float64 {
	others, n := -own-statTick, 0
	for cpu, a := range after {
		if b, ok := before[cpu]; ok {
			others += a.Busy - b.Busy + a.Steal - b.Steal
			n++
		}
	}
	if n == 0 || wall <= 0 {
		return 0
	}
	return min(1, max(0, others)/(wall*float64(n)))
}

// statTick is the resolution of /proc/stat, of each reading, in seconds.
const statTick = 0.010

// loadOf reads the load of one CPU.
func loadOf(cpu int) (cpuLoad, bool) {
	loads, ok := readLoad([]int{cpu})
	l, there := loads[cpu]
	return l, ok && there
}

// Neighbours watches how much of some CPUs others take while we measure: other
// processes, and the hypervisor where it tells.
type Neighbours struct {
	cpus   []int
	before map[int]cpuLoad
	own    float64
	began  time.Time
	ok     bool
}

// WatchNeighbours starts watching.
func WatchNeighbours(cpus []int) *Neighbours {
	n := &Neighbours{cpus: cpus, own: ownCPU(), began: time.Now()}
	n.before, n.ok = readLoad(cpus)
	return n
}

// Share returns which part of the CPUs' time others have taken since, from 0 to
// 1, and whether that can be told here. Workers count as ours once they have
// ended.
func (n *Neighbours) Share() (share float64, ok bool) {
	after, ok := readLoad(n.cpus)
	if !ok || !n.ok {
		return 0, false
	}
	return foreignShare(n.before, after, ownCPU()-n.own, time.Since(n.began).Seconds()), true
}
