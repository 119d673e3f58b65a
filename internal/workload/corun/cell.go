package corun

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"hostlab/internal/workload/hot"
	"hostlab/internal/workload/thread"
	"hostlab/internal/workload/worker"
)

// The antagonists: what the other thread does.
const (
	None  = "none"
	Scan  = "scan"  // overwrites memory
	Pause = "pause" // waits as spin loops do
	ALU   = "alu"   // fills the ports for integers
	FMA   = "fma"   // fills those for floating point
	Lock  = "lock"  // takes the same lock
)

var antagonists = []string{None, Scan, Pause, ALU, FMA, Lock}

// Cell is a thread on CPUs[0] that takes and releases a lock, and an antagonist on
// CPUs[1], if there.
type Cell struct {
	CPUs       []int
	Antagonist string
	Seconds    float64 // of the measured stretch
	WarmUp     float64 // before it
	Scan       int     // bytes that a scan overwrites
	Touch      bool    // the lock protects a counter, which is written
}

// maxSeconds bounds a cell: nothing but the end of the process stops it earlier.
const maxSeconds = 3600

// Run runs a cell in this process, which must be a worker, and has a Side for each
// CPU. It gives thread.ErrNoCPU, wrapped, when one cannot be used.
func (c Cell) Run(clock hot.Clock) ([]Side, error) {
	if !(c.Seconds > 0 && c.Seconds <= maxSeconds) || !(c.WarmUp > 0 && c.WarmUp <= 60) || len(c.CPUs) < 1 || len(c.CPUs) > 2 {
		return nil, fmt.Errorf("a cell of %g s, %g s of warm-up, on CPUs %v", c.Seconds, c.WarmUp, c.CPUs)
	}
	if c.Antagonist == Scan && (c.Scan < hot.LineSize || c.Scan > 1<<30) {
		return nil, fmt.Errorf("a scan of %d bytes", c.Scan)
	}
	lock := hot.New[hot.Lock]()
	take := func(stop *hot.Word, lane *hot.Lane) {
		t := hot.Taker{Lock: lock, Stop: stop, Counts: &lane.Counts, Touch: c.Touch}
		t.Run(hot.TTAS)
	}
	stops := hot.New[[2]hot.Word]() // of the warm-up, of the measured stretch
	sides := make([]Side, len(c.CPUs))
	after := func(s float64, stop *hot.Word) {
		time.AfterFunc(time.Duration(s*float64(time.Second)), func() { atomic.StoreUint32(&stop.V, 1) })
	}
	limit := time.Duration((c.Seconds+c.WarmUp)*float64(time.Second)) + 2*time.Second
	err := Together(c.CPUs, limit, func(side int, abort *hot.Word) error {
		s := &sides[side]
		if atomic.LoadUint32(&abort.V) != 0 {
			atomic.StoreUint32(&stops[1].V, 1)
			return nil // the other one says why
		}
		if side == 0 {
			lane := hot.New[hot.Lane]()
			after(c.WarmUp, &stops[0])
			take(&stops[0], lane)
			before := *lane
			after(c.Seconds, &stops[1])
			s.Time(clock, func() { take(&stops[1], lane) })
			s.Locked, s.Spins = lane.Locked-before.Locked, lane.Spins-before.Spins
			return nil
		}
		return c.disturb(clock, s, func() bool { return atomic.LoadUint32(&stops[1].V) != 0 || atomic.LoadUint32(&abort.V) != 0 },
			func(lane *hot.Lane) { take(&stops[1], lane) })
	})
	return sides, err
}

// disturb is the antagonist. It works from its start to the end of the cell, the
// warm-up included.
func (c Cell) disturb(clock hot.Clock, s *Side, stopped func() bool, contend func(*hot.Lane)) error {
	round := map[string]func(){
		Pause: func() { hot.Pause(1 << 10) },
		ALU:   func() { hot.ALU(1 << 12) },
		FMA:   func() { hot.FMA(1 << 11) },
	}[c.Antagonist]
	switch c.Antagonist {
	case Lock:
		lane := hot.New[hot.Lane]()
		s.Time(clock, func() { contend(lane) })
		s.Locked, s.Spins, s.Rounds = lane.Locked, lane.Spins, lane.Locked
		return nil
	case Scan:
		buf := hot.Buffer(c.Scan)
		round = func() { hot.Fill(&buf[0], uint64(len(buf)*8)/64*64, s.Rounds) }
	}
	if round == nil {
		return fmt.Errorf("antagonist %q is none of %v", c.Antagonist, slices.DeleteFunc(slices.Clone(antagonists), func(a string) bool { return a == None }))
	}
	s.Time(clock, func() {
		for !stopped() {
			round()
			s.Rounds++
		}
	})
	return nil
}

const job = "corun"

// Jobs lists what this package's worker processes do.
func Jobs() []worker.Job { return []worker.Job{{Name: job, New: newServer}} }

// reply has a side for each CPU, or Gone where one could not be used.
type reply struct {
	Gone  string `json:",omitempty"`
	Sides []Side
}

func newServer() worker.Func {
	clock := hot.StartClock()
	time.Sleep(50 * time.Millisecond) // ticks against time, before the first conversion
	return worker.Handle(func(c Cell) (reply, error) {
		sides, err := c.Run(clock)
		if errors.Is(err, thread.ErrNoCPU) {
			return reply{Gone: err.Error()}, nil
		}
		return reply{Sides: sides}, err
	})
}
