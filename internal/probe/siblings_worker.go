package probe

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"hostlab/internal/neighbours"
	"hostlab/internal/stats"
	"hostlab/internal/workload/corun"
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
	Sides    []corun.Side
	PingPong float64 // s one way; 0: too slow to tell
	Used     float64 // s of CPU time that the worker process has used so far
}

// sideDisturbed reports whether a thread was off its CPU for more than it may be.
func sideDisturbed(s corun.Side) bool { return s.HasCPU && s.Wall-s.CPU > disturbedShare*s.Wall }

// cellLimit ends a cell in which the two threads cannot run at the same time.
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

// warmChunks go before those that are timed.
const warmChunks = 10

func (w *pairWorker) chunks(req pairRequest) (pairReply, error) {
	run := chunkKernels[req.Kind]
	if run == nil || req.Chunks < 1 || req.Chunks > 1<<20 {
		return pairReply{}, fmt.Errorf("cell %q with %d chunks", req.Kind, req.Chunks)
	}
	reply := pairReply{Sides: make([]corun.Side, len(req.CPUs))}
	var done atomic.Int32
	err := corun.Together(req.CPUs, cellLimit, func(side int, abort *hot.Word) error {
		times := make([]float64, req.Chunks)
		for range warmChunks {
			run()
		}
		s := &reply.Sides[side]
		s.Time(w.clock, func() {
			for i := range times {
				start := hot.Ticks()
				run()
				times[i] = float64(hot.Ticks() - start)
			}
		})
		s.Median = stats.Median(times) / w.clock.Rate()
		// The first keeps the other company to its end.
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
	err := corun.Together(req.CPUs, cellLimit, func(side int, abort *hot.Word) error {
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
func (w *pairWorker) lock(req pairRequest) (reply pairReply, err error) {
	const warmUp = 0.030 // s
	if req.Seconds > 10 {
		return reply, fmt.Errorf("a lock cell of %g s", req.Seconds)
	}
	reply.Sides, err = corun.Cell{CPUs: req.CPUs, Antagonist: corun.Scan, Seconds: req.Seconds, WarmUp: warmUp, Scan: req.Scan}.Run(w.clock)
	return reply, err
}
