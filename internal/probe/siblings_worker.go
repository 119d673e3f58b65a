package probe

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hostlab/internal/neighbours"
	"hostlab/internal/stats"
	"hostlab/internal/workload/hot"
	"hostlab/internal/workload/thread"
	"hostlab/internal/workload/worker"
)

const siblingsJob = "siblings"

// Kinds of cells that the siblings worker runs.
const (
	cellALU      = "alu"
	cellFMA      = "fma"
	cellControl  = "control"
	cellPingPong = "ping-pong"
	cellLock     = "lock" // CPUs[0] takes a lock; CPUs[1], if there, scans memory
)

// chunkKernels are the kernels that are timed in short chunks of a few tens of
// microseconds: long against reading the clock, short against a time slice, so
// that most chunks are not interrupted and their median holds under load.
var chunkKernels = map[string]func(){
	cellControl: func() { hot.Adds(1 << 16) },
	cellALU:     func() { hot.ALU(1 << 12) },
	cellFMA:     func() { hot.FMA(1 << 11) },
}

// pairRequest asks for one cell on one or two CPUs.
type pairRequest struct {
	Kind    string
	CPUs    []int
	Chunks  int     `json:",omitempty"` // of chunk cells
	Seconds float64 `json:",omitempty"` // of a lock cell
	Scan    int     `json:",omitempty"` // bytes that a lock cell's scanner overwrites
}

// pairReply has a side for each CPU, or Gone where one could not be used.
type pairReply struct {
	Gone     string `json:",omitempty"`
	Sides    []pairSide
	PingPong float64 // s one way; 0: too slow to tell
	Used     float64 // s of CPU time that the worker process has used so far
}

// pairSide is what one thread saw, in seconds.
type pairSide struct {
	Median    float64 // of the chunks
	Wall      float64
	CPU       float64
	Waited    float64 // of Wall, for other threads of this system
	HasCPU    bool
	HasWaited bool
	Locked    uint64 // acquisitions
	Scans     uint64
}

// seconds is the time on the CPU where that is known.
func (s pairSide) seconds() float64 {
	if s.HasCPU {
		return s.CPU
	}
	return s.Wall
}

func (s pairSide) disturbed() bool { return s.HasCPU && s.Wall-s.CPU > disturbedShare*s.Wall }

// limit ends a cell in which the two threads cannot run at the same time.
const cellLimit = 2 * time.Second

type pairWorker struct{ clock hot.Clock }

func newPairWorker() worker.Func {
	w := &pairWorker{hot.StartClock()}
	time.Sleep(50 * time.Millisecond) // ticks against time, before the first conversion
	return worker.Handle(func(req pairRequest) (pairReply, error) {
		if len(req.CPUs) < 1 || len(req.CPUs) > 2 {
			return pairReply{}, fmt.Errorf("%d CPUs in a cell", len(req.CPUs))
		}
		var reply pairReply
		var err error
		switch req.Kind {
		case cellPingPong:
			reply, err = w.pingPong(req)
		case cellLock:
			reply, err = w.lock(req)
		default:
			reply, err = w.chunks(req)
		}
		if errors.Is(err, thread.ErrNoCPU) {
			return pairReply{Gone: err.Error()}, nil
		}
		reply.Used = neighbours.Own()
		return reply, err
	})
}

// sides runs f once per CPU at the same time, each on its pinned thread, after all
// of them have arrived. The abort word becomes 1 when one cannot, or time is up.
func sides(cpus []int, f func(side int, abort *hot.Word) error) error {
	abort := hot.New[hot.Word]()
	var here atomic.Int32
	timer := time.AfterFunc(cellLimit, func() { atomic.StoreUint32(&abort.V, 1) })
	defer timer.Stop()
	var ends []<-chan error
	for i, cpu := range cpus {
		ended := make(chan error, 1)
		ends = append(ends, ended)
		on := thread.On(cpu, func() error {
			here.Add(1)
			for here.Load() < int32(len(cpus)) && atomic.LoadUint32(&abort.V) == 0 {
			}
			err := f(i, abort)
			if err == nil && !thread.Pinned(cpu) {
				err = fmt.Errorf("CPU %d went offline: %w", cpu, thread.ErrNoCPU)
			}
			return err
		})
		go func() {
			err := <-on
			if err != nil {
				atomic.StoreUint32(&abort.V, 1)
			}
			ended <- err
		}()
	}
	var all []error
	for _, end := range ends {
		all = append(all, <-end)
	}
	return errors.Join(all...)
}

// timed runs f between two readings of the thread's usage and fills s.
func (w *pairWorker) timed(s *pairSide, f func()) {
	before, start := thread.Read(), hot.Ticks()
	f()
	ticks := hot.Ticks() - start
	u := thread.Read().Sub(before)
	s.Wall = float64(ticks) / w.clock.Rate()
	s.CPU, s.HasCPU = u.CPU.Seconds(), u.HasCPU
	s.Waited, s.HasWaited = u.Waited.Seconds(), u.HasWaited
}

// warmChunks go before those that are timed.
const warmChunks = 10

func (w *pairWorker) chunks(req pairRequest) (pairReply, error) {
	run := chunkKernels[req.Kind]
	if run == nil || req.Chunks < 1 || req.Chunks > 1<<20 {
		return pairReply{}, fmt.Errorf("cell %q with %d chunks", req.Kind, req.Chunks)
	}
	reply := pairReply{Sides: make([]pairSide, len(req.CPUs))}
	var done atomic.Int32
	err := sides(req.CPUs, func(side int, abort *hot.Word) error {
		times := make([]float64, req.Chunks)
		for range warmChunks {
			run()
		}
		s := &reply.Sides[side]
		w.timed(s, func() {
			for i := range times {
				start := hot.Ticks()
				run()
				times[i] = float64(hot.Ticks() - start)
			}
		})
		s.Median = stats.Median(times) / w.clock.Rate()
		// Whoever is first keeps the other company to its end.
		for done.Add(1); done.Load() < int32(len(req.CPUs)) && atomic.LoadUint32(&abort.V) == 0; {
			run()
		}
		return nil
	})
	return reply, err
}

func (w *pairWorker) pingPong(req pairRequest) (pairReply, error) {
	const throws, batches, wanted = 500, 12, 4
	if len(req.CPUs) != 2 {
		return pairReply{}, errors.New("a ping-pong takes two CPUs")
	}
	line, stop := hot.New[hot.Line](), hot.New[hot.Word]()
	timer := time.AfterFunc(60*time.Millisecond, func() { atomic.StoreUint32(&stop.V, 1) })
	defer timer.Stop()
	var times []float64
	err := sides(req.CPUs, func(side int, abort *hot.Word) error {
		for b := range uint64(batches) {
			start := hot.Ticks()
			if hot.PingPong(line, 2*throws*b+uint64(side), throws, stop) < throws {
				break
			}
			if side == 0 && b > 0 { // the first batch waits for the other to come
				times = append(times, float64(hot.Ticks()-start)/(2*throws))
			}
		}
		return nil
	})
	var reply pairReply
	if len(times) >= wanted {
		reply.PingPong = stats.Median(times) / w.clock.Rate()
	}
	return reply, err
}

// lock counts how often a thread alone on its lock takes and releases it, while
// another CPU scans memory or nothing runs.
func (w *pairWorker) lock(req pairRequest) (pairReply, error) {
	const warmUp = 30 * time.Millisecond
	if !(req.Seconds > 0 && req.Seconds <= 10) || req.Scan < hot.LineSize || req.Scan > 1<<30 {
		return pairReply{}, fmt.Errorf("lock cell of %g s with a scan of %d bytes", req.Seconds, req.Scan)
	}
	lock, lane := hot.New[hot.Lock](), hot.New[hot.Lane]()
	stops := hot.New[[2]hot.Word]() // of the warm-up, of the measured stretch
	reply := pairReply{Sides: make([]pairSide, len(req.CPUs))}
	after := func(d time.Duration, stop *hot.Word) { time.AfterFunc(d, func() { atomic.StoreUint32(&stop.V, 1) }) }
	err := sides(req.CPUs, func(side int, abort *hot.Word) error {
		s := &reply.Sides[side]
		if side == 0 {
			after(warmUp, &stops[0])
			hot.TTAS(lock, &stops[0], lane)
			before := lane.Locked
			after(time.Duration(req.Seconds*float64(time.Second)), &stops[1])
			w.timed(s, func() { hot.TTAS(lock, &stops[1], lane) })
			s.Locked = lane.Locked - before
			return nil
		}
		buf := hot.Buffer(req.Scan)
		w.timed(s, func() {
			for atomic.LoadUint32(&stops[1].V) == 0 && atomic.LoadUint32(&abort.V) == 0 {
				hot.Fill(&buf[0], uint64(len(buf)*8)/64*64, s.Scans)
				s.Scans++
			}
		})
		return nil
	})
	return reply, err
}
