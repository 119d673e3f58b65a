package oltp

import (
	"slices"
	"sync/atomic"
	"time"

	"hostlab/internal/cpus"
	"hostlab/internal/hot"
	"hostlab/internal/thread"
	"hostlab/internal/workload"
)

// Where the background scanner runs.
const (
	none     = "none"
	sibling  = "sibling"  // of a core whose other thread has workers
	apart    = "core"     // a core without workers, with the same last-level cache
	floating = "floating" // where the operating system puts it
)

var scanners = []string{none, sibling, apart, floating}

// room is which CPUs the threads may use; nil: all.
type room struct{ Workers, Scanner []int }

// places are the CPUs of the levels of scanner on a host, for workers on some CPUs.
// -1 and nil are those that it has not; why says why there is no lone core. That is of
// the class of the core that has the sibling, or else the first worker, and shares its
// last-level cache: otherwise the levels would differ in more than in the core.
func places(h *cpus.Machine, workers []int) (beside int, lone []int, why string) {
	beside, from := -1, workers[0]
	for _, core := range h.Cores() {
		if len(core) < 2 || !slices.ContainsFunc(core, func(c int) bool { return slices.Contains(workers, c) }) {
			continue
		}
		beside, from = core[len(core)-1], core[0]
		for _, c := range core {
			if !slices.Contains(workers, c) {
				beside = c // workers leave it alone anyway
			}
		}
		break
	}
	if len(h.Cores()) < 2 {
		return beside, nil, oneCore
	}
	near, why := h.All(from, cpus.Core)
	if len(near) == 0 {
		return beside, nil, why
	}
	i := slices.IndexFunc(h.Cores(), func(core []int) bool { return slices.Contains(core, near[len(near)-1]) })
	return beside, h.Cores()[i], ""
}

// roomOf decides which CPUs the workers have and which the scanner. Workers keep off
// a pinned scanner's CPU, as sharing one CPU would be another question; and with
// leave off the CPUs of all its levels, so that they have as many at each.
func roomOf(h *cpus.Machine, p workload.Values) (r room, err error) {
	text, scanner, leave := p.String("cpus"), p.String("scanner"), p.Bool("leave_room")
	workers, err := h.Choose("cpus", text)
	if err != nil {
		return r, err
	}
	if text == cpus.All && !leave && (scanner == none || scanner == floating) {
		return r, nil
	}
	beside, lone, noCore := places(h, workers)
	wrong := func(why string) error {
		return workload.Wrong("scanner", scanner+": "+why, "take none, floating, or another")
	}
	switch {
	case scanner == sibling && beside < 0:
		why := h.NoSMT()
		if why == "" {
			why = "no worker is on a core that has two threads"
		}
		return r, wrong(why)
	case scanner == apart && lone == nil:
		return r, wrong(noCore)
	case scanner == sibling:
		r.Scanner = []int{beside}
	case scanner == apart:
		r.Scanner = lone[:1]
	}
	r.Workers = slices.DeleteFunc(workers, func(c int) bool {
		return c == beside && (leave || scanner == sibling) || slices.Contains(lone, c) && (leave || scanner == apart)
	})
	return r, nil
}

const oneCore = "all CPUs that can be used are of one core"

// scan is what the scanner did.
type scan struct {
	Bytes, Wall float64
	thread.Usage
}

// scanner is a thread that overwrites memory over and over, as a database's lazy
// writer looks through its buffers.
type scanner struct {
	ready chan struct{} // closed once its memory is there
	start chan struct{} // to be closed
	stop  *hot.Word
	end   <-chan error
	did   scan
}

// scanPart is written without looking whether to stop: some microseconds, since the
// garbage collector waits for it.
const scanPart = 64 << 10

func newScanner(cpus []int, size int) *scanner {
	s := &scanner{ready: make(chan struct{}), start: make(chan struct{}), stop: hot.New[hot.Word]()}
	s.end = thread.Within(cpus, func() error {
		buf := hot.Buffer(size)
		close(s.ready)
		<-s.start
		before, begin := thread.Read(), time.Now()
		parts := 0
		for at := 0; atomic.LoadUint32(&s.stop.V) == 0; parts++ {
			n := min(len(buf)-at, scanPart/8)
			hot.Fill(&buf[at], uint64(n)*8/64*64, uint64(parts))
			s.did.Bytes += float64(n * 8)
			if at += n; at >= len(buf) {
				at = 0
			}
		}
		s.did.Usage, s.did.Wall = thread.Read().Sub(before), time.Since(begin).Seconds()
		return nil
	})
	return s
}

// wait waits for its memory, or for its failure.
func (s *scanner) wait() error {
	select {
	case <-s.ready:
		return nil
	case err := <-s.end:
		return err
	}
}

// finish ends it, whether or not it was started.
func (s *scanner) finish() (scan, error) {
	atomic.StoreUint32(&s.stop.V, 1)
	select {
	case <-s.start:
	default:
		close(s.start)
	}
	err := <-s.end
	return s.did, err
}
