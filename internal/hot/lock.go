package hot

// Counts is what one thread counts. It alone writes; others may read with
// atomic loads while it runs, and must subtract snapshots, never reset.
type Counts struct {
	Locked uint64 // acquisitions
	Spins  uint64 // polls that found the lock held
}

// Lane is Counts alone in its lines.
type Lane struct {
	Counts
	_ [LineSize - 16]byte
}

// Take takes and releases a lock until *stop is not 0: it looks before it swaps, and waits with
// PAUSE, or on arm64 ISB, while another has it. The lock is 0 when nobody has it. Nothing is done
// under it.
func Take(lock, stop *Word, counts *Counts) { take(lock, stop, counts, lse) }

// take is Take; lse is 1 where arm64's atomic instructions of ARMv8.1 are there.
//
//go:noescape
func take(lock, stop *Word, counts *Counts, lse uint64)
