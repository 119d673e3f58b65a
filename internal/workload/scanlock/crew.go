package scanlock

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/thread"
)

// crew is the threads of a cell, in the process that runs them. Nothing may collect
// garbage in it while they run.
type crew struct {
	cell   Cell
	lock   *hot.Word
	stop   *hot.Word
	start  *hot.Word // waiting, steady, running
	lanes  []*hot.Lane
	ids    []thread.ID
	ready  []atomic.Bool
	begun  time.Time
	ended  sync.WaitGroup
	mu     sync.Mutex
	failed error
}

// What the start word says: threads that have arrived sleep, are awake and look at
// nothing but the word, so that all begin within a cache miss, and run.
const (
	waiting = iota
	steady
	running
)

// muster starts the threads of a checked cell. Each waits on its CPU until all are
// there and run is called.
func muster(c Cell) *crew {
	n := len(c.Threads)
	w := &crew{cell: c, lock: hot.New[hot.Word](), stop: hot.New[hot.Word](), start: hot.New[hot.Word](),
		lanes: make([]*hot.Lane, n), ids: make([]thread.ID, n), ready: make([]atomic.Bool, n)}
	for i, t := range c.Threads {
		w.lanes[i] = hot.New[hot.Lane]()
		w.ended.Go(func() {
			if err := <-thread.On(t.CPU, func() error { return w.serve(i) }); err != nil {
				w.fail(err)
			}
		})
	}
	return w
}

// serve is one thread's life.
func (w *crew) serve(i int) error {
	work := w.work(i)
	w.ids[i] = thread.Self()
	w.ready[i].Store(true)
	for atomic.LoadUint32(&w.start.V) == waiting {
		thread.Sleep(100 * time.Microsecond) // so that threads that share a CPU arrive, too
	}
	for atomic.LoadUint32(&w.start.V) == steady {
	}
	work()
	return nil
}

// work is what a thread does until the stop word is set. A scanner's block is made here,
// on its own CPU, so that its memory is near.
func (w *crew) work(i int) func() {
	lane := &w.lanes[i].Counts
	if w.cell.Threads[i].Role == Lock {
		return func() { hot.Take(w.lock, w.stop, lane) }
	}
	block := hot.Buffer(w.cell.ScanSize)
	return func() { hot.Scan(block, w.stop, &lane.Spins) }
}

func (w *crew) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failed = cmp.Or(w.failed, err)
}

// failure is why a thread cannot run.
func (w *crew) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// missing is the CPU of a thread that has not arrived.
func (w *crew) missing() (cpu int, some bool) {
	for i := range w.ready {
		if !w.ready[i].Load() {
			return w.cell.Threads[i].CPU, true
		}
	}
	return 0, false
}

// run lets the threads go, which must all have arrived.
func (w *crew) run() {
	atomic.StoreUint32(&w.start.V, steady)
	time.Sleep(time.Millisecond)
	w.begun = time.Now()
	atomic.StoreUint32(&w.start.V, running)
}

// end stops the threads and waits for them.
func (w *crew) end() {
	atomic.StoreUint32(&w.stop.V, 1)
	atomic.StoreUint32(&w.start.V, running)
	w.ended.Wait()
}

// Run runs a cell in this process, which must be a worker, and returns what its threads
// did in a stretch after a warm-up, and how long that was: longer where a thread waits for
// its CPU. It gives thread.ErrNoCPU, wrapped, when a CPU cannot be used.
func (c Cell) Run(warmUp, stretch time.Duration) (did []Count, seconds float64, err error) {
	if c, err = c.checked(); err != nil {
		return nil, 0, err
	}
	w := muster(c)
	defer w.end()
	for begin := time.Now(); w.failure() == nil; time.Sleep(settle) {
		cpu, some := w.missing()
		if !some {
			break
		}
		if time.Since(begin) > arrival {
			return nil, 0, late(cpu)
		}
	}
	w.run()
	time.Sleep(warmUp)
	before, _ := w.snapshot()
	starved := func(n Count) bool { return n.HasCPU && n.CPUTime == 0 }
	// On a busy host a thread may not have had its CPU once in the stretch.
	for end := time.Now().Add(10 * stretch); ; {
		time.Sleep(stretch)
		after, failed := w.snapshot()
		if failed != nil {
			return nil, 0, failed
		}
		did = did[:0]
		for i := range c.Threads {
			did = append(did, after.Counts[i].since(before.Counts[i]))
		}
		if !slices.ContainsFunc(did, starved) || time.Now().After(end) {
			return did, (after.At - before.At).Seconds(), nil
		}
	}
}

// snapshot reads the counters while the threads run: all of them first, then what
// takes longer.
func (w *crew) snapshot() (Snapshot, error) {
	s := Snapshot{Counts: make([]Count, len(w.lanes))}
	before := time.Since(w.begun)
	for i, lane := range w.lanes {
		c := &s.Counts[i]
		c.Acquisitions, c.Spins = atomic.LoadUint64(&lane.Locked), atomic.LoadUint64(&lane.Spins)
	}
	s.At = (before + time.Since(w.begun)) / 2
	for i, t := range w.cell.Threads {
		c := &s.Counts[i]
		c.Thread = t
		if t.Role == Scan {
			c.Rounds, c.Bytes = hot.Scanned(w.cell.ScanSize, c.Spins)
			c.Spins = 0
		}
		u := w.ids[i].Read()
		c.CPUTime, c.HasCPU, c.Waited, c.HasWaited = u.CPU, u.HasCPU, u.Waited, u.HasWaited
		if !w.ids[i].Pinned(t.CPU) {
			w.fail(fmt.Errorf("CPU %d went offline or was taken from this process: %w", t.CPU, thread.ErrNoCPU))
		}
	}
	return s, w.failure()
}
