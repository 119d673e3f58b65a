package probe

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"hostlab/internal/hot"
	"hostlab/internal/proc"
	"hostlab/internal/stats"
	"hostlab/internal/thread"
	"hostlab/internal/worker"
	"hostlab/internal/workload/scanlock"
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

type pairReply struct {
	Sides    []side
	Locks    []scanlock.Count // of a lock cell in place of Sides
	Seconds  float64          // that they count
	PingPong float64          // s one way; 0: too slow to tell
	Used     float64          // s of CPU time that the worker process has used so far
}

// side is what one thread of a chunk cell saw, in seconds.
type side struct {
	Median    float64 // of chunks
	Wall      float64
	Waited    float64 // of Wall, for other threads of this system
	HasWaited bool
}

// cellLimit ends a cell in which the two threads cannot run at the same time.
const cellLimit = 2 * time.Second

type pairWorker struct {
	clock   hot.Clock
	thrower *scanlock.Thrower
}

func newPairWorker() worker.Func {
	w := &pairWorker{clock: hot.StartClock()}
	w.thrower = scanlock.NewThrower(w.clock)
	time.Sleep(50 * time.Millisecond) // ticks against time, before the first conversion
	return worker.Handle(func(req pairRequest) (pairReply, error) {
		if len(req.CPUs) < 1 || len(req.CPUs) > 2 {
			return pairReply{}, fmt.Errorf("%d CPUs in a cell", len(req.CPUs))
		}
		var reply pairReply
		var err error
		switch req.Kind {
		case cellPingPong:
			if len(req.CPUs) != 2 {
				return reply, errors.New("a ping-pong takes two CPUs")
			}
			reply.PingPong, err = w.thrower.Throw(req.CPUs[0], req.CPUs[1], 1)
		case cellLock:
			reply, err = w.lock(req)
		default:
			reply, err = w.chunks(req)
		}
		reply.Used = proc.Own()
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
	reply := pairReply{Sides: make([]side, len(req.CPUs))}
	var done atomic.Int32
	err := thread.Together(req.CPUs, cellLimit, func(i int, abort *atomic.Bool) error {
		times := make([]float64, req.Chunks)
		for range warmChunks {
			run()
		}
		before, begin := thread.Read(), hot.Ticks()
		for k := range times {
			start := hot.Ticks()
			run()
			times[k] = float64(hot.Ticks() - start)
		}
		ticks := float64(hot.Ticks() - begin)
		u, rate := thread.Read().Sub(before), w.clock.Rate()
		reply.Sides[i] = side{stats.Median(times) / rate, ticks / rate, u.Waited.Seconds(), u.HasWaited}
		// The first keeps the other company to its end.
		for done.Add(1); done.Load() < int32(len(req.CPUs)) && !abort.Load(); {
			run()
		}
		return nil
	})
	return reply, err
}

// lock counts how often a thread alone on its lock takes and releases it, while
// another CPU scans memory or nothing runs.
func (w *pairWorker) lock(req pairRequest) (reply pairReply, err error) {
	debug.FreeOSMemory() // of the scan before; the collector is off in workers
	c := scanlock.Cell{Threads: []scanlock.Thread{{CPU: req.CPUs[0], Role: scanlock.Lock}}, ScanSize: req.Scan}
	for _, cpu := range req.CPUs[1:] {
		c.Threads = append(c.Threads, scanlock.Thread{CPU: cpu, Role: scanlock.Scan})
	}
	reply.Locks, reply.Seconds, err = c.Run(30*time.Millisecond, time.Duration(req.Seconds*1e9))
	return reply, err
}
