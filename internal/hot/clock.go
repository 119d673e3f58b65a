package hot

import "time"

// Clock turns ticks of the time stamp counter into seconds. It compares the two
// over the whole life of the process, since Windows' clock moves in steps of half
// a millisecond and more.
type Clock struct {
	ticks uint64
	at    time.Time
}

// StartClock starts comparing.
func StartClock() Clock { return Clock{Ticks(), time.Now()} }

// Rate returns ticks per second; call it some 100 ms after StartClock at the earliest.
func (c Clock) Rate() float64 {
	return float64(Ticks()-c.ticks) / time.Since(c.at).Seconds()
}
