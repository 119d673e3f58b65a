package probe

// cpuLoad is what a CPU has done, in seconds.
type cpuLoad struct {
	Busy  float64 // for anybody, without what the hypervisor took
	Steal float64 // taken by the hypervisor, where it says so
}

// disturbedShare is the share of a measurement's time that others may take, by
// pre-emption, by running on the CPU while it should be idle, or by steal,
// before the measurement counts as disturbed.
const disturbedShare = 0.02

// foreignShare returns which part of wall seconds on one CPU went to others than
// us, who used own seconds of it.
func foreignShare(before, after cpuLoad, own, wall float64) float64 {
	const tick = 0.010 // resolution of /proc/stat, of each reading
	others := after.Busy - before.Busy - own + after.Steal - before.Steal
	return max(0, others-tick) / wall
}
