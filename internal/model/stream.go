package model

import "math/rand/v2"

// Purpose names what random numbers are for. Each purpose and each process has a
// stream of its own, and none belongs to a policy: two policies that are simulated
// with the same seed see the same arrivals, work and waits (common random numbers).
type Purpose uint64

// Stream returns the stream of a purpose and an index (a process, a CPU) in one
// replication. Equal arguments give equal numbers. PCG streams that differ in a bit of their
// seeds start correlated, so the seeds go through SplitMix64's mixer
// (Steele, Lea and Flood 2014).
func Stream(seed uint64, replication int, p Purpose, index int) *rand.Rand {
	a := mix(seed + 0x9e3779b97f4a7c15*uint64(replication+1))
	b := mix(a ^ uint64(p)<<48 ^ uint64(index))
	return rand.New(rand.NewPCG(b, mix(b+0x9e3779b97f4a7c15)))
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
